"""The database's lock: first come first served, re-entrant, and left to others in the middle of long work."""

from __future__ import annotations

import threading
import time

import pytest

from ivm.trace.turns import Turns


def _started(work: threading.Thread, turns: Turns, waiting: int) -> None:
    """Start a thread that will wait for its turn, and return when it does."""
    work.start()
    while len(turns._waiting) < waiting:
        time.sleep(0.001)


def test_threads_take_turns_in_the_order_in_which_they_came() -> None:
    turns, order = Turns(), list[int]()

    def work(number: int) -> None:
        with turns, turns:
            order.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    with turns:
        for number, thread in enumerate(threads):
            _started(thread, turns, number + 1)
    for thread in threads:
        thread.join()
    assert order == list(range(5))


def test_whoever_waits_is_let_in_and_the_depth_is_kept() -> None:
    turns, seen = Turns(), list[str]()

    def work() -> None:
        with turns:
            seen.append("other")

    thread = threading.Thread(target=work)
    with turns, turns:
        turns.let_others_in()  # nobody waits
        _started(thread, turns, 1)
        seen.append("before")
        turns.let_others_in()
        seen.append("after")
    thread.join()
    assert seen == ["before", "other", "after"]
    assert turns._owner is None


def test_aside_leaves_it_to_anybody_this_thread_included() -> None:
    turns = Turns()
    with turns:
        with pytest.raises(KeyError), turns.aside():
            assert turns._owner is None
            with turns:
                pass
            raise KeyError
        assert turns._owner == threading.get_ident()
    assert turns._owner is None


def test_a_thousand_turns_of_four_threads_never_meet() -> None:
    turns, inside, met = Turns(), list[int](), list[int]()

    def work() -> None:
        for number in range(250):
            with turns:
                inside.append(1)
                if number % 7 == 0:
                    inside.pop()
                    turns.let_others_in()
                    inside.append(1)
                met.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(met) == {1}
    assert len(met) == 1000


def test_an_interrupted_wait_is_out_of_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    turns, held = Turns(), threading.Event()
    free = threading.Event()

    def hold() -> None:
        with turns:
            held.set()
            free.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    queued = turns._queued

    def interrupted(depth: int) -> object:
        waiter = queued(depth)
        waiter.gate = _Interrupted()  # type: ignore[assignment]
        return waiter

    monkeypatch.setattr(turns, "_queued", interrupted)
    with pytest.raises(KeyboardInterrupt), turns:
        pass
    assert not turns._waiting
    free.set()
    thread.join()
    with turns:
        pass
    assert turns._owner is None


class _Interrupted:
    def acquire(self) -> bool:
        raise KeyboardInterrupt
