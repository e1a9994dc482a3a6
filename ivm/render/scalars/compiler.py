"""Compiles fused loops in the background, each text once per process.

The compiler runs in a process of its own (`elsewhere`): in this one it would hold the interpreter's lock, and the
compiler's, which every kernel needs when it is first loaded.

Compiling is earned: most loops of most programs see few rows, and the interpreter is done with these before a compiler
has begun. See `WORTH`.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol
from weakref import WeakSet

from ivm.render.scalars.cache import Kernel, find, load
from ivm.render.scalars.elsewhere import Elsewhere, UnavailableError

WORTH = 1 << 18
"""So many rows a loop is interpreted over before it is compiled.

A compiled loop saves about 0.1 us a row (Q1 0.2, Q6 0.1) and takes the compiler some 0.5 s, of another core. Both grow
with the length of its expressions, which is left out of account. A loop of which this many rows were asked is likely to
be asked for many times more, so it need not have lost all of that time first.
"""

CALL = 1 << 10
"""What a call is worth beside its rows, in rows: the interpreter takes 0.1 ms longer for it, however few they are."""

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Ticket:
    """A loop that was asked for: `kernel` is None until it is compiled, and for ever if `failed`. `made`: whether
    nobody had compiled it before.
    """

    source: str
    kernel: Kernel | None = None
    failed: bool = False
    made: bool = False
    done: threading.Event = field(default_factory=threading.Event)


class _Workshop:
    """The process's one thread that has loops compiled; it starts with the first loop and ends with the process."""

    def __init__(self) -> None:
        self._elsewhere = Elsewhere()
        self._closing = False
        self._tickets: dict[str, Ticket] = {}
        self._queue: queue.SimpleQueue[Ticket | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def order(self, source: str) -> Ticket:
        """The ticket of a text, queued if it is new."""
        with self._lock:
            ticket = self._tickets.get(source)
            if ticket is None:
                ticket = self._tickets[source] = Ticket(source)
                self._queue.put(ticket)
                self._start()
            return ticket

    def rest(self) -> None:
        """No one needs loops: drop those that wait, and let the process go when it is done with the one at work."""
        with self._lock:
            waiting: list[Ticket | None] = []
            with suppress(queue.Empty):
                while True:
                    waiting.append(self._queue.get_nowait())
            for ticket in waiting:
                if ticket is not None and ticket is not _REST:
                    del self._tickets[ticket.source]
                    ticket.failed = True
                    ticket.done.set()
            self._queue.put(None if None in waiting else _REST)

    def take_over(self, left: _Workshop) -> None:
        """The tickets of another, whose thread is gone; what it had not done is ordered again."""
        atexit.unregister(left._close)
        left._elsewhere.abandon()
        self._tickets = left._tickets
        for ticket in self.pending():
            self._queue.put(ticket)
            self._start()

    def pending(self) -> list[Ticket]:
        """The tickets that are not done."""
        with self._lock:
            return [t for t in self._tickets.values() if not t.done.is_set()]

    def failed(self) -> list[Ticket]:
        """The tickets whose loop does not compile."""
        with self._lock:
            return [t for t in self._tickets.values() if t.failed]

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="ivm-compiler", daemon=True)
            self._thread.start()
            atexit.register(self._close)

    def _work(self) -> None:
        while (ticket := self._queue.get()) is not None:
            if ticket is _REST:
                if not _compilers:
                    self._elsewhere.rest()
                continue
            try:
                ticket.kernel = self._compiled(ticket)
            except Exception:  # noqa: BLE001 - whatever the compiler runs into, the interpreter goes on
                ticket.failed = True
                if not self._closing:
                    _log.warning("a fused loop does not compile; its expressions stay interpreted", exc_info=True)
            finally:
                ticket.done.set()

    def _compiled(self, ticket: Ticket) -> Kernel:
        source = ticket.source
        kernel = find(source)
        if kernel is not None:
            return kernel
        ticket.made = True
        try:
            self._elsewhere.compile(source)
        except UnavailableError:
            if self._closing:
                raise
            return load(source)
        return find(source) or load(source)

    def _close(self) -> None:
        """Drop what waits and let the loop at work here end: a process must not go away under LLVM."""
        self._closing = True
        self._elsewhere.close()
        try:
            while True:
                self._queue.get_nowait()
        except queue.Empty:
            self._queue.put(None)
        if self._thread is not None:
            self._thread.join(10)


_REST = Ticket("")
"""In the queue: let the process go, if still nobody needs it."""

_workshop = _Workshop()


def _begin_anew() -> None:
    """In a forked child: the thread and the process that compile are the parent's."""
    global _workshop
    left, _workshop = _workshop, _Workshop()
    _workshop.take_over(left)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


_compilers: WeakSet[Compiler] = WeakSet()
"""Those that may order."""


class Program(Protocol):
    """What is interpreted as long as its loops are not worth more."""

    def order(self) -> None:
        """Order the loops that were missed so far, whatever they are worth."""


class Compiler:
    """Where programs order their loops, once they are worth it. With `wait` all are, and an order returns when it is
    done, so nothing is interpreted. `expected`: how many rows more will come, as far as is known.

    Many may exist; they share one thread and all loops of the process.
    """

    trial = False
    """Whether programs only try what they would run: then every row passes, so that what is behind is met as well."""

    def __init__(self, wait: bool = False, expected: int = 0) -> None:
        self._blocking, self._expected = wait, expected
        self._programs: WeakSet[Program] = WeakSet()
        self._lock = threading.Lock()
        _compilers.add(self)

    def expecting(self, rows: int) -> Compiler:
        """The same for programs of which it is known that so many rows will come."""
        other = Compiler(self._blocking, rows)
        _compilers.discard(other)  # who ordered it is there for as long as it is
        return other

    def add(self, program: Program) -> None:
        """Note a program for `order_all`."""
        with self._lock:
            self._programs.add(program)

    def is_worth(self, calls: int, rows: int) -> bool:
        """Whether a loop that was interpreted so often, over so many rows, is to be ordered."""
        return self._blocking or calls * CALL + rows + self._expected >= WORTH

    def order(self, source: str) -> Ticket:
        """The ticket of a loop's text (equal texts share it); never raises."""
        ticket = _workshop.order(source)
        if self._blocking:
            ticket.done.wait()
        return ticket

    def order_all(self) -> None:
        """Order all loops that programs have missed so far, whatever they are worth."""
        with self._lock:
            programs = list(self._programs)
        for program in programs:
            program.order()

    def wait(self, timeout: float | None = None) -> bool:
        """Block until every loop ordered in this process is done; False if `timeout` seconds were not enough."""
        return all(ticket.done.wait(timeout) for ticket in _workshop.pending())

    def close(self) -> None:
        """Order nothing any more. With the last one that exists, what is not compiled yet is dropped, and the process
        that compiles ends.
        """
        _compilers.discard(self)
        if not _compilers:
            _workshop.rest()

    def failures(self) -> list[str]:
        """The texts ordered in this process that do not compile: a defect of the engine, though harmless."""
        return [ticket.source for ticket in _workshop.failed()]
