"""Passwords as they are kept: by what SCRAM-SHA-256 needs of them (RFC 5802, RFC 7677), in PostgreSQL's text form."""

from __future__ import annotations

import hashlib
import hmac
import os
from base64 import b64decode, b64encode
from dataclasses import dataclass

from ivm.catalog.errors import TypeMismatchError

ITERATIONS = 4096
"""How often a password is hashed; what PostgreSQL and its clients take for usual."""
_NAME = "SCRAM-SHA-256"


@dataclass(frozen=True, slots=True)
class Verifier:
    """What tells whether somebody knows a password, and from which nobody can learn it but by trying."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def __str__(self) -> str:
        """As it stands in a file of users, and in PostgreSQL's pg_authid."""
        salt, stored, server = (b64encode(each).decode() for each in (self.salt, self.stored_key, self.server_key))
        return f"{_NAME}${self.iterations}:{salt}${stored}:{server}"

    def fits(self, password: str) -> bool:
        """Whether this is the password; in a time that does not tell how near it is. Cost: some milliseconds."""
        return hmac.compare_digest(verifier(password, self.salt, self.iterations).stored_key, self.stored_key)


def verifier(password: str, salt: bytes | None = None, iterations: int = ITERATIONS) -> Verifier:
    """That of a password, with a new salt unless one is given."""
    salt = os.urandom(16) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    client = hmac.digest(salted, b"Client Key", "sha256")
    return Verifier(iterations, salt, hashlib.sha256(client).digest(), hmac.digest(salted, b"Server Key", "sha256"))


def read_verifier(text: str) -> Verifier:
    """One as it is written in a text. TypeMismatchError for anything else."""
    try:
        name, numbers, keys = text.split("$")
        iterations, salt = numbers.split(":")
        stored, server = (b64decode(each, validate=True) for each in keys.split(":"))
        found = Verifier(int(iterations), b64decode(salt, validate=True), stored, server)
    except ValueError as error:
        raise TypeMismatchError(_wrong()) from error
    if name != _NAME or found.iterations < 1 or not len(stored) == len(server) == hashlib.sha256().digest_size:
        raise TypeMismatchError(_wrong())
    return found


def _wrong() -> str:
    return f"a password is kept as {_NAME}$iterations:salt$key:key, as `ivm user` prints it; this is not of that form"
