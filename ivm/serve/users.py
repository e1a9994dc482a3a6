"""Who may come in by the doors of a server, and what for."""

from __future__ import annotations

import hashlib
import secrets
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from ivm.arguments import one_of
from ivm.catalog.errors import AccessError, InterfaceError
from ivm.serve.scram import Verifier, read_verifier, verifier

Role = Literal["read", "write"]
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who may come in, with a password, a token, or either. Neither is kept, only what tells it again.

    `role`: "read" sees everything and changes nothing; "write" may do all that SQL can.
    """

    name: str
    role: Role
    password: Verifier | None = field(default=None, repr=False)
    token: str = field(default="", repr=False)
    """The SHA-256 of the token, in hexadecimal digits."""

    def __post_init__(self) -> None:
        one_of(self.role, ROLES, "role")

    @property
    def refusal(self) -> str:
        """Why this user changes nothing; empty for one who may."""
        if self.role == "write":
            return ""
        return f"cannot change anything as user {self.name}, whose role is read; come in as a user with the role write"


ANYBODY = User("", "write")
"""Who comes in where no users are named, which a server allows on the loopback alone."""


def user_with_password(name: str, password: str, role: Role = "read") -> User:
    """A user who says a password. Cost: some milliseconds."""
    return User(name, role, verifier(password))


def user_with_token(name: str, token: str, role: Role = "read") -> User:
    """A user who shows a token; make one with `secrets.token_urlsafe()`, as nobody can guess it then."""
    return User(name, role, token=hash_of(token))


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(32)


def hash_of(token: str) -> str:
    """What is kept of a token. It is long and random, so that hashing it once is enough."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


def as_toml(user: User) -> str:
    """A user as in a file of users."""
    lines = [f"[{_quoted(user.name)}]", f'role = "{user.role}"']
    lines += [f'password = "{user.password}"'] if user.password is not None else []
    lines += [f'token = "{user.token}"'] if user.token else []
    return "\n".join(lines) + "\n"


def read_users(path: Path) -> tuple[User, ...]:
    """The users of a file of TOML: a table for each, with `role`, and `password` or `token` as `ivm user` prints them.

    InterfaceError for a file that cannot be read, or says something else.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InterfaceError(
            f"cannot read users from {path}: {error}; `ivm user NAME` prints what stands there"
        ) from error
    return tuple(_user(path, name, said) for name, said in found.items())


def _user(path: Path, name: str, said: Any) -> User:
    what = f"cannot read user {name} from {path}"
    if not isinstance(said, dict) or not said.keys() <= {"role", "password", "token"}:
        raise InterfaceError(f"{what}: a user has role, password and token and nothing else; see `ivm user NAME`")
    if not all(isinstance(value, str) for value in said.values()) or said.keys().isdisjoint({"password", "token"}):
        raise InterfaceError(f"{what}: a password or a token is needed, as a text that `ivm user NAME` prints")
    token = said.get("token", "")
    if token and (len(token) != 64 or not set(token) <= set("0123456789abcdef")):
        raise InterfaceError(f"{what}: a token is kept as its SHA-256, which `ivm user NAME --token` prints")
    password = read_verifier(said["password"]) if "password" in said else None
    return User(name, said.get("role", "read"), password, token)


def _quoted(name: str) -> str:
    """A name as a key of TOML."""
    if any(ord(character) < 32 or character == "\x7f" for character in name):
        raise AccessError(f"cannot name a user {name!r}: names are written on one line")
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
