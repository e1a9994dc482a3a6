"""Who asks by HTTP: a token, a name and password, or nothing where there are no users; and from which pages."""

from __future__ import annotations

import asyncio
import binascii
from base64 import b64decode
from functools import partial
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from ivm.serve.errors import DeniedError
from ivm.serve.inside import Inside
from ivm.serve.settings import is_loopback
from ivm.serve.users import ANYBODY, User


async def admitted(inside: Inside, asked: HTTPConnection) -> User:
    """Who asks. DeniedError for who is not known, after a while if that was not the first time.

    By `Authorization: Bearer TOKEN` or `Basic NAME:PASSWORD`; a browser's EventSource and WebSocket, which cannot say
    that, may write `?access_token=TOKEN`.
    """
    gate, address = inside.gate, asked.client.host if asked.client else ""
    _check_page(inside, asked)
    if gate.is_open:
        return ANYBODY
    kind, _, said = asked.headers.get("authorization", "").partition(" ")
    if not said and "access_token" in asked.query_params:
        kind, said = "bearer", asked.query_params["access_token"]
    match kind.lower():
        case "bearer":
            name, look = "", partial(gate.by_token, address, said.strip())
        case "basic":
            name, password = _basic(said)
            look = partial(gate.by_password, address, name, password)
        case _:
            raise DeniedError(
                "cannot come in: say who you are, by `Authorization: Bearer TOKEN` or Basic NAME:PASSWORD"
            )
    pause = gate.pause(address, name)
    if pause:
        await asyncio.sleep(pause)
    return await asyncio.to_thread(look)


def _basic(said: str) -> tuple[str, str]:
    try:
        name, colon, password = b64decode(said, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        colon = ""
    if not colon:
        raise DeniedError("cannot come in: what stands behind Basic is not NAME:PASSWORD in base64")
    return name, password


def _check_page(inside: Inside, asked: HTTPConnection) -> None:
    """DeniedError for a page of somebody else's that has a browser ask, by this name of the server or another one."""
    host, origin = asked.headers.get("host", ""), asked.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host and origin not in inside.settings.origins:
        raise DeniedError(
            f"cannot let in the page {origin[:200]}: serve with --origin, or Settings(origins=..), if it may"
        )
    if inside.gate.is_open and not is_loopback(urlsplit(f"//{host}").hostname or ""):
        raise DeniedError(f"cannot be asked by the name {host[:200]} without users; ask by {inside.settings.host}")
