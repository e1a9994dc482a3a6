"""Transactions that create, alter or drop something, one after the other: two at once would be in each other's way, and
the later to commit would fail.
"""

from __future__ import annotations

import asyncio
from collections import deque

DEFINES = frozenset(["CREATE", "DROP", "ALTER", "COMMENT"])
"""The words that such statements begin with."""

PATIENCE_SECONDS = 10.0
"""So long anybody waits for a transaction that does not end."""


class Turns:
    """Whose turn it is. The loop of events alone asks and tells."""

    def __init__(self) -> None:
        self._whose: object = None
        self._waiting: deque[tuple[object, asyncio.Future[None]]] = deque()

    async def take(self, who: object) -> None:
        """Wait until it is somebody's turn, which it may be already. Who is cancelled may have it all the same."""
        if self._whose is None:
            self._whose = who
        if self._whose is who:
            return
        mine = (who, asyncio.get_running_loop().create_future())
        self._waiting.append(mine)
        try:
            await mine[1]
        finally:
            if mine in self._waiting:
                self._waiting.remove(mine)

    def leave(self, who: object) -> None:
        """It is the next one's turn, if it was this one's."""
        if self._whose is not who:
            return
        self._whose = None
        while self._waiting and self._whose is None:
            after, told = self._waiting.popleft()
            if not told.done():
                self._whose = after
                told.set_result(None)
