"""Ctrl-C while DuckDB computes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from select import select

from ivm.duck import interrupt


@contextmanager
def interruptible() -> Iterator[None]:
    """While the block runs, in the main thread, Ctrl-C also cancels queries of DuckDB.

    Python tells of a signal when DuckDB comes back, which looks for signals only now and then. But it writes to a pipe
    at once, where another thread hears of it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # no signal comes here
        return
    read, write = os.pipe()
    os.set_blocking(write, False)
    listener = threading.Thread(target=_listen, args=(read,), name="ivm-shell-interrupt", daemon=True)
    listener.start()
    before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(write)
        listener.join()
        os.close(read)


def _listen(read: int) -> None:
    """Cancel again and again until the block ends: a query that is about to begin forgets that it was cancelled."""
    cancelled = False
    while True:
        if select([read], [], [], _AGAIN_SECONDS if cancelled else None)[0]:
            heard = os.read(read, 1)
            if not heard:
                return
            cancelled = cancelled or heard[0] == signal.SIGINT
        if cancelled:
            interrupt()


_AGAIN_SECONDS = 0.05
