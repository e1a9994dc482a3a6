"""Clients that say nothing, or the head of a request too slowly, are let go, as each holds a connection; and those that
say what is no HTTP.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 30.0
"""So long a client may take from its coming, or from the answer before, until the head of its request is there."""


class Patience(H11Protocol):
    """A connection of uvicorn's, which ends where no head of a request has come in time."""

    head_seconds = HEAD_SECONDS
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Somebody has come."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """He has gone."""
        self._wait_no_more()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Something has come."""
        super().handle_events()
        if self.conn.their_state is not h11.IDLE:
            self._wait_no_more()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """From here on another protocol is spoken."""
        self._wait_no_more()
        super().handle_websocket_upgrade(event)

    def send_400_response(self, msg: str) -> None:
        """Say that what came is no HTTP, if nothing has been said yet; what is at work for it may say nothing more."""
        begun: Any = self.cycle  # None before the first request
        if begun is not None and not begun.response_complete:
            begun.disconnected = True
            begun.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def on_response_complete(self) -> None:
        """The answer has been given: another request may come."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE:
            self._wait()

    def _wait(self) -> None:
        self._wait_no_more()
        self._late = asyncio.get_running_loop().call_later(self.head_seconds, self._end)

    def _wait_no_more(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _end(self) -> None:
        if not self.transport.is_closing():
            self.send_400_response(f"no request has come in {self.head_seconds:g} s")
