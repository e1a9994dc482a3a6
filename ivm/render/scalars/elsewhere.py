"""The process in which loops are compiled: for the process that needs them, and from within.

It starts with the first loop that nobody has compiled yet, ends when it has had nothing to do for a while, and with the
process that started it. What it compiles comes back through the folder in which compiled code is kept.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import TextIO

import ivm.render
from ivm.kernels.compiling.folder import private_folder
from ivm.render.scalars.cache import load

_log = logging.getLogger(__name__)

# The package is given a name and a place, and its own imports are left out: they take longer than most loops.
_MAIN = """
import json, sys, types
path, folder = json.loads(sys.argv[1])
sys.path[:] = path
package = sys.modules["ivm"] = types.ModuleType("ivm")
package.__path__ = [folder]
from ivm.render.scalars.elsewhere import serve
serve()
"""


_LONGEST_START = 60.0
IDLE_SECONDS = 30.0
"""For how long it waits for another loop; then it gives its memory back, some 150 MB."""


class UnavailableError(Exception):
    """There is no other process: what is to be compiled is compiled here."""


class CompilationError(Exception):
    """A loop does not compile; what the compiler said."""


class Elsewhere:
    """A process that compiles, started when it is needed. One thread compiles, any thread may close."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._starting = threading.Lock()  # never taken for long
        self._usable = bool(sys.executable) and not getattr(sys, "frozen", False)

    @property
    def pid(self) -> int | None:
        """The process, if one was started."""
        return None if self._process is None else self._process.pid

    def compile(self, source: str) -> None:
        """Have a loop compiled and kept. UnavailableError if there is no process; CompilationError if that fails."""
        if not self._usable or private_folder() is None:
            raise UnavailableError
        order = json.dumps({"source": source, "folder": os.environ.get("IVM_CACHE_DIR")})
        # A process that had nothing to do may end at the moment in which it is asked; the next one has just begun.
        answer = self._asked(order)
        if answer is None:
            self._start()
            answer = self._asked(order)
        if answer is None and not self._usable:
            raise UnavailableError
        if answer is None:
            raise CompilationError("the compiler's process ended before it was done")
        if answer:
            raise CompilationError(answer)

    def rest(self) -> None:
        """End the process; the next loop starts another. To be called by the thread that compiles."""
        if self._process is not None:
            self._end(self._process)

    def close(self) -> None:
        """End the process, and start no other."""
        with self._starting:
            self._usable = False
            if self._process is not None:
                self._end(self._process)

    def abandon(self) -> None:
        """In a forked child: the process is the parent's."""
        self._usable, self._process = False, None

    def _asked(self, order: str) -> str | None:
        """What the process answers, "" if all is well; None if there is no answer, or no process."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return None
        try:
            process.stdin.write(order + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except (OSError, ValueError):
            line = ""
        if line.endswith("\n"):
            answer: str = json.loads(line)
            return answer
        self._end(process)
        return None

    def _start(self) -> None:
        """Start a process and wait until it is there. UnavailableError if none can be started, now and from now on."""
        place = json.dumps([[os.path.abspath(each) for each in sys.path], str(Path(ivm.render.__file__).parents[1])])
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        command = [sys.executable, "-I", "-c", _MAIN, place]
        try:
            with self._starting:
                if not self._usable:
                    raise UnavailableError
                # In a session of its own: Ctrl-C is for the process at the terminal.
                process = self._process = subprocess.Popen(
                    command, stdin=pipe, stdout=pipe, stderr=nothing, text=True, start_new_session=True
                )
            assert process.stdout is not None
            waiting = threading.Timer(_LONGEST_START, process.kill)  # whatever program this is, it may say nothing
            waiting.daemon = True
            waiting.start()
            ready = process.stdout.readline()
            waiting.cancel()
        except (OSError, ValueError):  # also where it was closed meanwhile
            ready = ""
        if ready != "ready\n":
            if self._usable:
                _log.info("no process can be started to compile loops in; they are compiled in this one")
            self._usable = False
            if self._process is not None:
                self._end(self._process)
            raise UnavailableError

    def _end(self, process: subprocess.Popen[str]) -> None:
        process.kill()
        process.wait()
        self._process = None
        for pipe in (process.stdin, process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:  # what was not written any more
                pass


def serve() -> None:
    """Take orders from the standard input until it ends, and answer each in a line: "" or what was wrong."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whatever a library prints is no answer
    orders: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(sys.stdin, orders), daemon=True).start()
    print("ready", file=answers, flush=True)
    while True:
        try:
            order = orders.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            return
        print(json.dumps(_carried_out(order)), file=answers, flush=True)


def _receive(lines: TextIO, orders: queue.SimpleQueue[str]) -> None:
    """When there are no more orders, nobody is there to give them, whatever is being compiled."""
    for line in lines:
        orders.put(line)
    os._exit(0)


def _carried_out(order: str) -> str:
    asked = json.loads(order)
    if asked["folder"] is None:
        os.environ.pop("IVM_CACHE_DIR", None)
    else:
        os.environ["IVM_CACHE_DIR"] = asked["folder"]
    try:
        load(asked["source"])
    except Exception as error:  # noqa: BLE001  the answer says so
        return f"{type(error).__name__}: {error}"
    return ""
