"""The database's lock: first come first served, re-entrant, and left to others in the middle of long work."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from ivm.catalog.errors import InterfaceError
from ivm.trace.turns import Turns


def _started(work: threading.Thread, turns: Turns, waiting: int) -> None:
    """Start a thread that will wait for its turn, and return when it does."""
    work.start()
    while len(turns._waiting) < waiting:
        time.sleep(0.001)


def test_who_comes_back_is_behind_those_who_wait() -> None:
    turns, order = Turns(), list[int]()

    def work(number: int) -> None:
        with turns, turns:
            order.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    with turns:
        for number, thread in enumerate(threads):
            _started(thread, turns, number + 1)
            time.sleep(0.005)
    with turns:
        order.append(-1)
    for thread in threads:
        thread.join()
    assert order.index(-1) > 0
    assert sorted(order) == [-1, 0, 1, 2, 3, 4]


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
    assert not turns._is_owned()


def test_aside_leaves_it_to_anybody_this_thread_included() -> None:
    turns = Turns()

    def work() -> str:
        assert not turns._is_owned()
        with turns:
            return "done"

    def failing() -> None:
        raise KeyError

    with turns:
        assert turns.aside(work) == "done"
        assert turns._is_owned()
        with pytest.raises(KeyError):
            turns.aside(failing)
        assert turns._is_owned()
    assert not turns._is_owned()


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


def test_who_cannot_begin_has_no_turn() -> None:
    refused = [InterfaceError("no"), KeyboardInterrupt()]

    def begin() -> None:
        if refused:
            raise refused.pop()

    turns = Turns(begin)
    for error in (KeyboardInterrupt, InterfaceError):
        with pytest.raises(error), turns:
            pass
        assert not turns._is_owned()
    with turns, turns:
        assert turns._is_owned()
    assert not turns._is_owned()


_BOMBARDED = """
import signal, threading, time
from ivm.trace.turns import Turns

turns, holder, interrupted, done, armed = Turns(), 0, 0, False, False


def interrupt(*_):
    global armed
    if armed:
        armed = False
        raise KeyboardInterrupt


def hold(number):
    global holder
    with turns:
        holder = number
        for _ in range(20):
            assert holder == number


def work(number):
    while not done:
        hold(number)


others = [threading.Thread(target=work, args=(number,), daemon=True) for number in (1, 2)]
for each in others:
    each.start()
signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.00037)
end = time.monotonic() + 60
while interrupted < 1000 and time.monotonic() < end:
    try:
        armed = True
        while armed and time.monotonic() < end:
            with turns:
                holder = 0
                turns.let_others_in()
            hold(0)
        armed = False
    except KeyboardInterrupt:
        interrupted += 1
    assert not turns._is_owned()
signal.setitimer(signal.ITIMER_REAL, 0)
done = True
for each in others:
    each.join(60)
    assert not each.is_alive()
with turns:
    assert not turns._waiting
assert interrupted > 100, interrupted
print("right", interrupted)
"""


def test_no_interruption_keeps_it() -> None:
    found = subprocess.run([sys.executable, "-c", _BOMBARDED], capture_output=True, text=True, timeout=200, check=False)
    assert found.stdout.startswith("right"), found.stderr
