"""The door of HTTP: uvicorn in a thread of its own, around the application."""

from __future__ import annotations

import asyncio
import socket
import threading

import uvicorn

from ivm.catalog.errors import InterfaceError
from ivm.serve.http.app import application
from ivm.serve.http.desk import Desk
from ivm.serve.http.patience import Patience
from ivm.serve.inside import Inside

_GRACE_SECONDS = 10
"""So long what is at work may take to end, once the server does; then it is cut off."""


class HttpDoor:
    """Listens for HTTP and WebSockets, over TLS where the settings say so."""

    def __init__(self, inside: Inside, port: int) -> None:
        self._inside = inside
        self._port = port
        self._desk = Desk(inside, asyncio.Event())
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self.address = ""

    def start(self) -> None:
        """See `Door.start`."""
        settings = self._inside.settings
        listening = _listening(settings.host, self._port)
        tls = settings.tls()
        config = uvicorn.Config(
            application(self._desk), lifespan="off", log_config=None, access_log=False,
            server_header=False, http=Patience, ws="websockets-sansio", ws_max_size=settings.limits.request_bytes,
            limit_concurrency=settings.limits.connections, timeout_graceful_shutdown=_GRACE_SECONDS,
            ssl_context_factory=None if tls is None else lambda *_: tls,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, args=(listening,), name="ivm-serve-http", daemon=True)
        host, port = listening.getsockname()[:2]
        scheme = "http" if tls is None else "https"
        self.address = f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
        self._thread.start()

    def stop(self) -> None:
        """See `Door.stop`."""
        if self._server is None or self._thread is None:
            return
        self._server.should_exit = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._desk.ending.set)
        self._thread.join()
        self._desk.threads.shutdown(wait=True, cancel_futures=True)

    def _run(self, listening: socket.socket) -> None:
        assert self._server is not None, "it was started"
        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            runner.run(self._server.serve([listening]))


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens. InterfaceError."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return socket.create_server((host.strip("[]"), port), family=family, backlog=1024)
    except OSError as error:
        raise InterfaceError(
            f"cannot listen at {host}, port {port}: {error.strerror}; give an address of this machine and a port that "
            "is free, or port 0 for any"
        ) from error
