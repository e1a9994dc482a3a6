"""One process for all tasks of a pool on an executor, however many Python workers Spark has there.

Spark has a worker for each task that runs at the same time, and gives a task to any that is idle; shards live in one
process. So the workers of a pool that is kept run nothing: each hands its connection to the *keeper*, a process beside
them, and waits until that has run the task. A task needs no more than one core so, and shares the executor with others.

A worker that finds no keeper makes one. What is handed over waits in a queue that outlives the keeper; of a task that
dies with it the worker dies too, and Spark runs that again.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import select
import signal
import socket
import tempfile
import traceback
from collections.abc import Callable

from ivm.spark.wanted import asked_by

KEPT = "IVM_KEPT"
"""The variable that says of a pool that its tasks are to run in a keeper."""
EXECUTOR = "IVM_EXECUTOR"
"""The variable in which workers find the process that forks them, which tells executors apart."""
THREADS = "IVM_THREADS"
"""The variable that says how many threads a shard may work with at once, those that help it included."""
IDLE = 60.0
"""Seconds with nothing to do after which a keeper ends, as Spark's own workers do."""
_LOOK = 0.2
"""Seconds after which a worker that waits looks whether there is a keeper."""


def threads() -> int:
    """As many as `THREADS` says to this process; 1 where nobody has said."""
    return int(os.environ.get(THREADS, "1"))


Serve = Callable[[socket.socket, bool], int]
"""Runs the next task of a connection of Spark's, which is authenticated or not; returns a code, 0 if it may go on."""


class Relay:
    """A `Serve` for workers that are forked after it was made: all of them have `serve` run by one keeper.

    `is_held`: whether a keeper has something else to stay for than tasks.
    """

    def __init__(self, serve: Serve, is_held: Callable[[], bool]) -> None:
        self._serve = serve
        self._is_held = is_held
        self._given, self._taken = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._lock = tempfile.TemporaryFile()  # noqa: SIM115  for as long as there is a worker
        self._ended, self._alive = os.pipe()
        self._forker = os.getpid()

    def __call__(self, connection: socket.socket, is_authenticated: bool) -> int:
        """Have the keeper run the next task of a connection; a worker whose task is lost with a keeper ends here."""
        self._begin()
        if not connection.recv(1, socket.MSG_PEEK):  # Spark has no more for this worker
            return 1
        self._ensure_keeper(connection)
        answer, asked = os.pipe()
        try:
            socket.send_fds(self._given, [bytes([is_authenticated])], [connection.fileno(), asked])
            os.close(asked)
            while not select.select([answer], [], [], _LOOK)[0]:
                self._ensure_keeper(connection)
            code = os.read(answer, 1)
        finally:
            os.close(answer)
        if not code:
            os._exit(1)
        return code[0]

    def _begin(self) -> None:
        """What a process does that was just forked: it ends when the one that forks does, and is told so."""
        if self._forker == os.getpid():
            return
        self._forker = os.getpid()
        os.close(self._alive)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _ensure_keeper(self, connection: socket.socket) -> None:
        """Make a keeper if there is none. Of several that are made at once one stays."""
        if not self._is_mine():
            return
        fcntl.lockf(self._lock, fcntl.LOCK_UN)
        if os.fork():
            return
        try:
            connection.close()  # Spark is to see at once that a worker has gone
            if self._is_mine():
                self._keep()
        except BaseException:  # noqa: BLE001  nothing of the worker's is to run here
            traceback.print_exc()
        finally:
            os._exit(0)

    def _is_mine(self) -> bool:
        """Take the lock that a keeper holds as long as it lives; False if another process has it."""
        try:
            fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _keep(self) -> None:
        """Run what workers hand over, one after the other, until nothing comes or the executor ends."""
        while True:
            ready, _, _ = select.select([self._taken.fileno(), self._ended], [], [], IDLE)
            if not ready and self._is_held():
                continue
            if self._taken.fileno() not in ready:
                return
            message, found, _, _ = socket.recv_fds(self._taken, 1, 2)
            connection, asked = found
            code = self._run(socket.socket(fileno=connection), bool(message[0]))
            with contextlib.suppress(OSError):  # the worker may have been ended meanwhile, with its task
                os.write(asked, bytes([code != 0]))
            os.close(asked)
            gc.collect()

    def _run(self, connection: socket.socket, is_authenticated: bool) -> int:
        with connection, asked_by(connection.fileno()):
            try:
                return self._serve(connection, is_authenticated)
            except Exception:  # noqa: BLE001  Spark has ended the task, and closed the connection
                traceback.print_exc()
                return 1
