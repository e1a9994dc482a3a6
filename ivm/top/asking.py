"""Whom `ivm top` asks: a server, by HTTP, or a directory, which it opens to read and follows."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import Request, urlopen

from rich.console import Console

import ivm
from ivm.catalog.errors import Error, InterfaceError
from ivm.progress import opening, progress

Row = dict[str, Any]
Ask = Callable[[str], list[Row]]
"""The rows of a SELECT, each by the names of its columns. Error."""
_SECONDS = 30.0
"""So long an answer may take."""


@contextmanager
def asking(target: str, token: str) -> Iterator[Ask]:
    """What asks `target`: an address such as http://127.0.0.1:8080, or a database's directory.

    `token` is for servers that want one; an address may have a name and a password instead, as http://ada:secret@host.
    A bar on stderr shows how a directory is read, all of which it takes. StorageError for what is no directory of a
    database, InterfaceError for what is no address; whether a server is there is seen when it is asked.
    """
    if target.startswith(("http://", "https://")):
        yield _Server(target, token).ask
        return
    with progress(Console(stderr=True), "") as tell:
        db = ivm.connect(target, read_only=True, follow=True, progress=opening(tell))
    with db:
        yield lambda text: db.sql(text).arrow().to_pylist()


class _Server:
    """A server, by the address of its door of HTTP."""

    def __init__(self, address: str, token: str) -> None:
        try:
            parts = urlsplit(address)
        except ValueError as error:
            raise InterfaceError(
                f"cannot ask {address}: {error}; give an address such as http://127.0.0.1:8080"
            ) from error
        _, _, place = parts.netloc.rpartition("@")
        self._address = urlunsplit((parts.scheme, place, parts.path.rstrip("/"), "", ""))
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if parts.username is not None:
            said = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            self._headers["Authorization"] = f"Basic {b64encode(said).decode()}"
        elif token:
            self._headers["Authorization"] = f"Bearer {token}"

    def ask(self, text: str) -> list[Row]:
        """See `Ask`. InterfaceError where nobody answers."""
        request = Request(f"{self._address}/sql", json.dumps({"sql": text}).encode(), self._headers)
        try:
            with urlopen(request, timeout=_SECONDS) as answer:
                found: list[Row] = json.load(answer)
                return found
        except HTTPError as error:
            with error:
                raise self._refused(error) from error
        except (OSError, HTTPException, ValueError) as error:  # ValueError: what is no JSON, or no address
            raise InterfaceError(
                f"cannot ask {self._address}: {getattr(error, 'reason', None) or error}; give the address of a server, "
                "as `ivm serve` says it, or a database's directory"
            ) from error

    def _refused(self, error: HTTPError) -> Error:
        """What a server says that does not answer."""
        try:
            said = str(json.load(error)["error"])
        except (OSError, HTTPException, ValueError, LookupError, TypeError):
            said = f"it answers {error.code} {error.reason}, and may be no server of ivm's"
        hint = "; give the token in IVM_TOKEN or with --token" if error.code == 401 else ""
        return InterfaceError(f"cannot ask {self._address}: {said}{hint}")
