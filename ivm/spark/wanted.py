"""Whether anybody waits for what a thread does: whoever asked for it hangs up where he does not.

A process of shards outlives what it is asked for. So what takes long asks here between two steps, and ends where the
driver has been interrupted or has died, or Spark has ended the task.
"""

from __future__ import annotations

import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_GONE = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR
_asked = threading.local()


class Unwanted(Exception):
    """Nobody waits for what was asked."""


@contextmanager
def asked_by(connection: int) -> Iterator[None]:
    """Meanwhile this thread does what was asked on a connection, by its descriptor, which is open until then."""
    _asked.connection = connection
    try:
        yield
    finally:
        _asked.connection = None


def check() -> None:
    """Raise Unwanted if whoever asked for what this thread does has hung up. Cost: some microseconds."""
    connection = getattr(_asked, "connection", None)
    if connection is None:
        return
    poll = select.poll()
    poll.register(connection, _GONE)
    if poll.poll(0):
        raise Unwanted("whoever asked has hung up")
