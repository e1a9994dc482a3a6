"""Who calls by Flight: as its headers say, in each call anew."""

from __future__ import annotations

import time
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any

from pyarrow import flight

from ivm.serve.errors import DeniedError
from ivm.serve.gate import Gate
from ivm.serve.users import ANYBODY, User

MIDDLEWARE = "headers"
_BASIC = "basic."


class Handshake(flight.ServerAuthHandler):  # type: ignore[misc]
    """Lets the handshake pass: what a client says of itself is in its headers."""

    def authenticate(self, outgoing: Any, incoming: Any) -> None:
        """Nothing."""

    def is_valid(self, token: bytes) -> bytes:
        """Nobody, as far as this goes."""
        return b""


class Said(flight.ServerMiddleware):  # type: ignore[misc]
    """What a call's header says. Who says a name and password is told to say the same as a token from then on."""

    def __init__(self, authorization: str) -> None:
        self.authorization = authorization

    def sending_headers(self) -> dict[str, str]:
        """What clients that shake hands take for their token."""
        kind, _, said = self.authorization.partition(" ")
        return {"authorization": f"Bearer {_BASIC}{said}"} if kind.lower() == "basic" else {}


class Headers(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Keeps the header for whoever carries the call out."""

    def start_call(self, info: Any, headers: Mapping[str, Sequence[str]]) -> Said:
        """What it says."""
        found = next((values for name, values in headers.items() if name.lower() == "authorization"), [""])
        return Said(str(found[0]))


def caller(gate: Gate, context: Any) -> User:
    """Who calls. DeniedError, after a while if that was not the first time."""
    if gate.is_open:
        return ANYBODY
    kind, _, said = context.get_middleware(MIDDLEWARE).authorization.partition(" ")
    address, said = context.peer().rpartition(":")[0], said.strip()
    if kind.lower() == "bearer" and said.startswith(_BASIC):
        kind, said = "basic", said.removeprefix(_BASIC)
    if kind.lower() not in ("bearer", "basic"):
        raise DeniedError(
            "cannot come in: say who you are, with a name and password, or a header authorization: Bearer TOKEN"
        )
    if kind.lower() == "bearer":
        time.sleep(gate.pause(address))
        return gate.by_token(address, said)
    try:
        padded = said + "=" * (-len(said) % 4)  # which Go's client leaves out
        name, _, password = b64decode(padded, validate=True).decode().partition(":")
    except ValueError as error:
        raise gate.denied() from error
    time.sleep(gate.pause(address, name))
    return gate.by_password(address, name, password)
