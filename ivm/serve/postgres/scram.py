"""SCRAM-SHA-256 (RFC 5802, 7677) as a server goes through it, which knows whether a password fits, and none."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode

from ivm.serve.scram import Verifier, verifier

MECHANISM = "SCRAM-SHA-256"


class RefusedError(Exception):
    """Who was to prove that he knows a password has not."""


class Exchange:
    """One proof: `first` answers what a client says first, `last` what it says then. RefusedError ends it.

    Where there is no `kept`, because nobody is called so or he has no password, all goes on as if there were one.
    """

    def __init__(self, kept: Verifier | None) -> None:
        self._kept = verifier(secrets.token_hex(16)) if kept is None else kept
        self._nonce = self._said = self._header = ""

    def first(self, data: bytes) -> bytes:
        """The challenge."""
        header, _, bare = data.decode(errors="replace").partition(",,")
        said = _parts(bare)
        if header not in ("n", "y") or not said.get("r"):
            raise RefusedError("SCRAM-SHA-256 is spoken here, without a bound channel")
        self._nonce = said["r"] + secrets.token_urlsafe(18)
        self._header = b64encode(f"{header},,".encode()).decode()
        salt = b64encode(self._kept.salt).decode()
        challenge = f"r={self._nonce},s={salt},i={self._kept.iterations}"
        self._said = f"{bare},{challenge}"
        return challenge.encode()

    def last(self, data: bytes) -> bytes:
        """The proof that the server knows of the password too, if that of the client holds."""
        bare, _, proof = data.decode(errors="replace").rpartition(",p=")
        said, signed = _parts(bare), f"{self._said},{bare}".encode()
        if said.get("r") != self._nonce or said.get("c") != self._header:
            raise RefusedError("the answer does not belong to the challenge")
        try:
            mask = hmac.digest(self._kept.stored_key, signed, "sha256")
            key = bytes(a ^ b for a, b in zip(b64decode(proof, validate=True), mask, strict=True))
        except ValueError as error:
            raise RefusedError("the proof is none") from error
        if not hmac.compare_digest(hashlib.sha256(key).digest(), self._kept.stored_key):
            raise RefusedError("the proof does not hold")
        return b"v=" + b64encode(hmac.digest(self._kept.server_key, signed, "sha256"))


def _parts(text: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in text.split(",") if "=" in part)
