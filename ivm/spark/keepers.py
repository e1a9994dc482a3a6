"""The keepers that have called the driver, and what it asks of them: a commit takes no task of Spark's so.

Whoever cannot be reached, or fails, is `Unreached`: the same is then done by Spark, from the start.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
from collections.abc import Iterable, Mapping
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any

from ivm.spark.home import PATIENCE, Answer, Home, Request, kept_alive


class Unreached(Exception):
    """What was asked was not done everywhere: somebody does not answer, or says that he could not."""


class Keepers:
    """Those of one database. Threads may ask at once: one after the other is served."""

    def __init__(self, host: str, bind: str) -> None:
        """Listen at a port of its own. `host`: by which executors know this machine; `bind`: which address listens.

        Raises OSError where it cannot.
        """
        family = socket.AF_INET6 if ":" in bind else socket.AF_INET
        self._listener = socket.create_server((bind, 0), family=family)
        self.home = Home(host, self._listener.getsockname()[1], secrets.token_bytes(32))
        self._lines: dict[str, Connection] = {}
        self._asking = threading.Lock()
        self._changing = threading.Lock()
        self._is_closed = False
        threading.Thread(target=self._listen, name="ivm-keepers", daemon=True).start()

    def are_there(self, places: Iterable[str]) -> bool:
        """True if all of these have called, and none has hung up. Cost: some microseconds for each."""
        with self._asking:
            for place, line in [*self._lines.items()]:
                if _has_ended(line):
                    self._drop(place, line)
            return all(place in self._lines for place in places)

    def ask(self, requests: Mapping[str, Request]) -> dict[str, Any]:
        """What each place answers to its request, all at once. Unreached if one does not.

        After that, and after an interruption, all of them are hung up on: nobody waits for what they answer late, and
        they call again.
        """
        with self._asking:
            lines: dict[str, Connection] = {}
            try:
                for place, request in requests.items():
                    lines[place] = line = self._lines[place]
                    line.send(request)
                answers: dict[str, Answer] = {place: line.recv() for place, line in lines.items()}
            except BaseException as error:
                for place, line in lines.items():
                    self._drop(place, line)
                if isinstance(error, (KeyError, OSError, EOFError)):
                    raise Unreached(f"{type(error).__name__}: {error}") from error
                raise
        for place, answer in answers.items():
            if answer.failure is not None:
                raise Unreached(f"{place}: {answer.failure}")
        return {place: answer.value for place, answer in answers.items()}

    def close(self) -> None:
        """Hang up on all of them, who end a minute later. Further calls do nothing."""
        with self._changing:
            self._is_closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes who waits for the next one
        self._listener.close()
        with self._changing:
            lines = [self._lines.pop(place) for place in [*self._lines]]
        for line in lines:
            _hang_up(line)

    def _drop(self, place: str, line: Connection) -> None:
        with self._changing:
            if self._lines.get(place) is line:
                del self._lines[place]
        line.close()

    def _listen(self) -> None:
        while True:
            try:
                found, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._welcome, args=(found,), name="ivm-keeper", daemon=True).start()

    def _welcome(self, found: socket.socket) -> None:
        """Take a connection of somebody who knows the key. Of two from one place the later one counts."""
        kept_alive(found)
        found.settimeout(None)
        line = Connection(found.detach())
        hangs_up = threading.Timer(PATIENCE, _hang_up, [line])
        hangs_up.start()
        try:
            deliver_challenge(line, self.home.key)
            answer_challenge(line, self.home.key)
            place = line.recv()
        except Exception:  # noqa: BLE001  somebody else, or somebody who has gone
            line.close()
            return
        finally:
            hangs_up.cancel()
        with self._changing:
            gone = line if self._is_closed else self._lines.get(place)
            if not self._is_closed:
                self._lines[place] = line
        if gone is not None:
            _hang_up(gone)


def _has_ended(line: Connection) -> bool:
    """True if the other side has hung up: between requests it has nothing to say."""
    try:
        return line.poll()
    except OSError:
        return True


def _hang_up(line: Connection) -> None:
    """End a connection that another thread may be waiting on, who closes it."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(line.fileno())) as found:
        found.shutdown(socket.SHUT_RDWR)
