"""The door of Arrow Flight: pyarrow's server, whose threads carry out what is asked."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from pyarrow import ArrowException, flight

from ivm.catalog.errors import InterfaceError
from ivm.serve.flight.calls import Calls
from ivm.serve.flight.who import MIDDLEWARE, Handshake, Headers
from ivm.serve.inside import Inside


class FlightDoor:
    """Listens for Arrow Flight and Flight SQL, over TLS where the settings say so."""

    def __init__(self, inside: Inside, port: int) -> None:
        self._inside = inside
        self._port = port
        self._calls: Calls | None = None
        self._server: Any = None
        self._lock = threading.Lock()
        self.address = ""

    def start(self) -> None:
        """See `Door.start`."""
        settings = self._inside.settings
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        scheme = "grpc" if settings.certificate is None else "grpc+tls"
        self._calls = Calls(self._inside)
        try:
            self._server = self._calls.server(
                f"{scheme}://{host}:{self._port}", auth_handler=Handshake(), middleware={MIDDLEWARE: Headers()},
                tls_certificates=_certificates(settings.certificate, settings.key),
            )  # fmt: skip
        except (ArrowException, OSError) as error:
            raise InterfaceError(
                f"cannot listen at {settings.host}, port {self._port}: {error}; give an address of this machine and a "
                "port that is free, or port 0 for any"
            ) from error
        self.address = f"{scheme}://{host}:{self._server.port}"

    def stop(self) -> None:
        """See `Door.stop`."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None and self._calls is not None:
            server.shutdown()  # waits for calls; streams look whether the server ends
            self._calls.held.clear()


def _certificates(certificate: Path | None, key: Path | None) -> list[Any] | None:
    if certificate is None or key is None:
        return None
    return [flight.CertKeyPair(certificate.read_bytes(), key.read_bytes())]
