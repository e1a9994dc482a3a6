"""How the driver reaches a keeper without a task of Spark's: the keeper calls it, and does what is asked on that line.

A task of Spark's tells where home is. From then on a thread of the process holds a connection to the driver, and
carries out one request after the other, beside whatever tasks the process runs. Both sides prove that they know the
key, which goes with the task.
"""

from __future__ import annotations

import pickle
import socket
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any, NamedTuple

from ivm.spark.wanted import asked_by

PATIENCE = 10.0
"""Seconds that one side waits for the other while a connection is made."""
_TRIES = 5
_AGAIN = 60.0
"""Seconds after which a home that was not reached is tried again."""


class Home(NamedTuple):
    """Where a driver listens, and what whoever calls has to know."""

    host: str
    port: int
    key: bytes


class Request(NamedTuple):
    """What the driver asks for: `function(*arguments)`, which can be pickled, as can what it returns."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class Answer(NamedTuple):
    """What came of a request, or why nothing did."""

    value: Any
    failure: str | None = None


def call(home: Home, name: str) -> None:
    """Have this process hold a connection to its home, as `name`; the first call starts it, in a thread."""
    with _lock:
        if home in _lines or _failed.get(home, 0) > time.monotonic() - _AGAIN:
            return
        _lines.add(home)
    threading.Thread(target=_hold, args=(home, name), name="ivm-home", daemon=True).start()


def is_held() -> bool:
    """True while some home is, or may be, connected."""
    return bool(_lines)


_lock = threading.Lock()
_lines: set[Home] = set()
_failed: dict[Home, float] = {}


def kept_alive(connection: socket.socket) -> None:
    """Small messages go at once, and a machine that is lost is noticed within half a minute."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _hold(home: Home, name: str) -> None:
    """Be connected until home is not there any more."""
    tries = 0
    try:
        while tries < _TRIES:
            try:
                line = _connected(home)
                line.send(name)
            except Exception:  # noqa: BLE001  not there, not to be reached, or another's; commits go by Spark then
                tries += 1
                time.sleep(tries / 2)
                continue
            tries = 0
            _answer(line)
    finally:
        with _lock:
            _failed[home] = now = time.monotonic()
            _lines.discard(home)
            for other in [each for each, when in _failed.items() if when < now - _AGAIN]:
                del _failed[other]


def _connected(home: Home) -> Connection:
    found = socket.create_connection((home.host, home.port), timeout=PATIENCE)
    found.settimeout(None)
    kept_alive(found)
    line = Connection(found.detach())
    answer_challenge(line, home.key)
    deliver_challenge(line, home.key)
    return line


def _answer(line: Connection) -> None:
    """Carry out requests until the driver hangs up."""
    with line:
        while True:
            try:
                asked = line.recv_bytes()
            except (OSError, EOFError):
                return
            with asked_by(line.fileno()):
                answer = _answer_to(asked)
            try:
                line.send(answer)
            except OSError:
                return


def _answer_to(asked: bytes) -> Answer:
    try:
        function, arguments = pickle.loads(asked)
        return Answer(function(*arguments))
    except Exception as error:  # noqa: BLE001  the driver goes another way, and hears of it again there
        return Answer(None, f"{type(error).__name__}: {error}")
