"""Loops are compiled in a process of its own: it starts and ends as it should, and whatever befalls it stays there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ivm.kernels.compiling import folder
from ivm.kernels.compiling.calling import dispatcher_of
from ivm.render.scalars import compiler, elsewhere
from ivm.render.scalars.cache import find
from ivm.render.scalars.elsewhere import CompilationError, Elsewhere, UnavailableError

TEXT = """
from numba import int64
from ivm.kernels.compiling.compiled import njit

SIGNATURE = int64(int64)

@njit(cache=True, nogil=True, fastmath=False)
def loop(n):
    return n + {}
"""
pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are looked at as POSIX has them")


@pytest.fixture(scope="module")
def process() -> Iterator[Elsewhere]:
    made = Elsewhere()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is compiled yet."""
    monkeypatch.setenv("IVM_CACHE_DIR", str(tmp_path / "cache"))
    folder._private.cache_clear()
    yield
    folder._private.cache_clear()


def called(source: str) -> int:
    kernel: Any = find(source)
    assert kernel is not None
    assert dispatcher_of(kernel).stats.cache_hits
    return int(kernel(40))


def test_it_compiles_and_keeps(process: Elsewhere) -> None:
    assert find(TEXT.format(1)) is None
    process.compile(TEXT.format(1))
    first = process.pid
    assert called(TEXT.format(1)) == 41
    process.compile(TEXT.format(2))
    assert called(TEXT.format(2)) == 42
    assert process.pid == first
    assert first is not None
    assert os.getsid(first) == first != os.getsid(0)  # Ctrl-C does not reach it


def test_it_says_what_does_not_compile(process: Elsewhere) -> None:
    with pytest.raises(CompilationError, match="ZeroDivisionError"):
        process.compile("1 / 0")
    with pytest.raises(CompilationError, match="TypingError"):
        process.compile(TEXT.format("'text'"))
    process.compile(TEXT.format(3))
    assert called(TEXT.format(3)) == 43


def test_another_takes_the_place_of_one_that_ended(process: Elsewhere) -> None:
    process.compile(TEXT.format(4))
    first = process.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    process.compile(TEXT.format(5))
    assert process.pid != first
    assert called(TEXT.format(5)) == 45


def test_a_loop_on_which_the_compiler_dies_is_given_up(process: Elsewhere) -> None:
    with pytest.raises(CompilationError, match="ended before it was done"):
        process.compile("import os; os._exit(1)")
    process.compile(TEXT.format(6))
    assert called(TEXT.format(6)) == 46


@pytest.mark.parametrize("program", ["/bin/false", "/no/such/program", "", "/bin/cat"])
def test_where_none_can_be_started_loops_are_compiled_here(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", program)
    monkeypatch.setattr(elsewhere, "_LONGEST_START", 0.2)
    with pytest.raises(UnavailableError):
        Elsewhere().compile(TEXT.format(7))
    workshop = compiler._Workshop()
    monkeypatch.setattr(compiler, "_workshop", workshop)
    ticket = compiler.Compiler(wait=True).order(TEXT.format(8))
    assert ticket.kernel is not None
    assert ticket.kernel(40) == 48
    workshop._close()


def test_where_nothing_can_be_kept_loops_are_compiled_here(process: Elsewhere, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IVM_CACHE_DIR", "/dev/null/nowhere")
    with pytest.raises(UnavailableError):
        process.compile(TEXT.format(9))


def test_closing_ends_what_it_does_and_it_does_no_more(caplog: pytest.LogCaptureFixture) -> None:
    workshop = compiler._Workshop()
    tickets = [workshop.order(TEXT.format(number)) for number in range(100, 130)]
    assert tickets[0].done.wait(60)
    pid = workshop._elsewhere.pid
    assert pid is not None
    workshop._close()
    assert not _lives(pid)
    assert sum(ticket.kernel is not None for ticket in tickets) < len(tickets)
    assert not caplog.records
    with pytest.raises(UnavailableError):
        workshop._elsewhere.compile(TEXT.format(200))


def test_it_ends_with_the_process_that_started_it() -> None:
    script = f"""
import os
from ivm.render.scalars.elsewhere import Elsewhere
made = Elsewhere()
made.compile({TEXT.format(10)!r})
print(made.pid, flush=True)
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True)
    pid = int(done.stdout)
    for _ in range(600):
        if not _lives(pid):
            return
        time.sleep(0.05)
    pytest.fail("the compiler's process is still there")


def test_a_forked_child_has_its_own() -> None:
    ticket = compiler.Compiler(wait=True).order(TEXT.format(11))
    assert ticket.kernel is not None
    before = compiler._workshop._elsewhere.pid
    child = os.fork()
    if child == 0:
        mine = compiler.Compiler(wait=True).order(TEXT.format(12))
        fine = mine.kernel is not None and compiler._workshop._elsewhere.pid not in (None, before)
        compiler._workshop._close()
        os._exit(0 if fine else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert before is not None
    assert _lives(before)
    assert compiler._workshop._elsewhere.pid == before


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text() if Path("/proc/self").exists() else True
