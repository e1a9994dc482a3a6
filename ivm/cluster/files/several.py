"""Calls side by side, of which each mostly waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock, Thread
from typing import Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")


def each(work: Callable[[S], T], over: Sequence[S], at_once: int) -> list[T]:
    """What `work` gives for each, in their order, so many at once. If it raises, that is raised, and no more are begun.

    The caller's thread and others work, which end with this, or with the process, as that waits for none of them.
    """
    found: list[Any] = [None] * len(over)
    left, lock, errors = iter(range(len(over))), Lock(), list[BaseException]()

    def run() -> None:
        while not errors:
            with lock:
                place = next(left, None)
            if place is None:
                return
            try:
                found[place] = work(over[place])
            except BaseException as error:  # noqa: BLE001  the caller is told
                errors.append(error)

    threads = [Thread(target=run, name="ivm-files", daemon=True) for _ in range(min(at_once, len(over)) - 1)]
    begun = list[Thread]()
    with suppress(RuntimeError):  # there can be no more threads now: fewer do it too
        for thread in threads:
            thread.start()
            begun.append(thread)
    run()
    for thread in begun:
        thread.join()
    if errors:
        raise errors[0]
    return found
