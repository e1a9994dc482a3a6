"""How a database is served: where, for whom, and how much of it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, fields
from ipaddress import ip_address
from pathlib import Path

from ivm.arguments import at_least_one, duration, whole_number
from ivm.catalog.errors import AccessError, InterfaceError, TypeMismatchError
from ivm.serve.users import User

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one client may ask for; more is refused, and disturbs nobody else."""

    request_bytes: int = 64 << 20
    """Bytes of one request, or one message, that comes in."""
    result_rows: int = 1_000_000
    """Rows of the answer to one statement; a view that is read as it is may have any number."""
    seconds: float = 30.0
    """How long a statement may take."""
    connections: int = 1000
    """Connections of clients at one time, for each door; one more is turned away."""

    def __post_init__(self) -> None:
        for each in fields(self):
            check = duration if each.name == "seconds" else at_least_one
            check(getattr(self, each.name), each.name)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server is told. A port is None for a door that stays closed, and 0 for whatever port is free.

    Without `users` whoever reaches the port may do all, so `host` must be the loopback then. `certificate` and `key`
    are files in PEM form; with them all doors speak TLS. `origins` are those of web pages that a browser may let in by
    HTTP, such as "https://shop.example", beside those that the server gives out itself.
    """

    host: str = LOOPBACK
    http: int | None = 8080
    flight: int | None = None
    postgres: int | None = None
    users: tuple[User, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    origins: tuple[str, ...] = ()
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        for door, port in self.ports.items():
            if whole_number(port, f"the port of {door}") >= 1 << 16:
                raise TypeMismatchError(
                    f"the port of {door} is {port!r}, and must be a number from 0 to 65535, or None"
                )
        if (self.certificate is None) != (self.key is None):
            raise InterfaceError(
                "cannot serve by TLS with a certificate or a key alone; give both, as files in PEM form"
            )
        for file in (self.certificate, self.key):
            if file is not None and not file.is_file():
                raise InterfaceError(f"cannot serve by TLS: there is no file {file}; give a certificate and its key")
        names = [user.name for user in self.users]
        if len(names) != len(set(names)):
            raise InterfaceError("cannot serve users of whom two have one name; name each once")
        if not self.users and not is_loopback(self.host):
            raise AccessError(
                f"cannot serve on {self.host} without users: whoever reaches it could read and change everything; name "
                f"users, with passwords or tokens (`ivm user NAME` makes them), or serve on {LOOPBACK}"
            )

    def tls(self) -> ssl.SSLContext | None:
        """What a door speaks TLS by; None where it speaks in the clear. InterfaceError if the files are of no use."""
        if self.certificate is None or self.key is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ValueError) as error:
            raise InterfaceError(
                f"cannot serve by TLS with {self.certificate} and {self.key}: {error}; give files in PEM form that "
                "belong together, and no password"
            ) from error
        return context

    @property
    def ports(self) -> dict[str, int]:
        """The ports of the doors that are to be open, by the names of these."""
        found = {"http": self.http, "flight": self.flight, "postgres": self.postgres}
        return {door: port for door, port in found.items() if port is not None}


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"
