"""Where something may be raised: the lines that a piece of work reaches, of which those that are equal count as one."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from ivm.trace.state import WeakList

ROOT = Path(__file__).parents[2]
FOLDERS = ("ivm/trace/", "ivm/operators/", "ivm/dataflow/", "ivm/durable/", "ivm/storage/", "ivm/subscriptions/")
FILES = (
    "ivm/engine/applying.py",
    "ivm/engine/engine.py",
    "ivm/engine/part.py",
    "ivm/engine/tables.py",
    "ivm/engine/reader.py",
    "ivm/engine/view.py",
    "ivm/session/coming.py",
    "ivm/session/coming_whole.py",
    "ivm/session/core.py",
    "ivm/session/defining.py",
    "ivm/session/publishing.py",
    "ivm/session/succession.py",
)
LEFT_OUT = ("ivm/trace/turns.py",)
"""The lock: its lines are exact about where an interruption may come. Its own test sends real ones."""

CALLBACKS = frozenset({WeakList._forget.__code__})
"""What weak references call: what is raised there is told, and goes no further."""

VERBOSE = False
"""Whether to print each place, which shows where the process died."""

Place = tuple[str, int]


@cache
def _path(file: str) -> str | None:
    """The path of a source file from the root, if something is raised in it."""
    if not file.startswith(str(ROOT)):
        return None
    path = file[len(str(ROOT)) + 1 :]
    inside = path.startswith(FOLDERS) or path in FILES
    return path if inside and path not in LEFT_OUT else None


@cache
def _ends_of_blocks(code: CodeType) -> frozenset[int]:
    """Where a `with` block is left: nothing can be raised there but by what leaves it, which for locks is in C."""
    found = set()
    instructions = list(dis.get_instructions(code))
    for i, each in enumerate(instructions[:-4]):
        after = instructions[i + 1 : i + 4]
        if each.opname == "LOAD_CONST" and [(a.opname, a.argval) for a in after] == [
            ("LOAD_CONST", None),
            ("LOAD_CONST", None),
            ("PRECALL", 2),
        ]:
            found |= {instructions[j].offset for j in range(max(i - 3, 0), i + 1)}
        if after[0].opname == "WITH_EXCEPT_START":
            found.add(each.offset)
    return frozenset(found)


@cache
def _idle(code: CodeType) -> frozenset[int]:
    """Where nothing is done, as at a `try`: nothing can be raised there, nor is a signal heard."""
    return frozenset(each.offset for each in dis.get_instructions(code) if each.opname == "NOP")


@cache
def _lines_in(code: CodeType) -> frozenset[int | None]:
    """The lines of a function."""
    return frozenset(line for _, _, line in code.co_lines())


_SILENT = {"NOP", "RESUME", "CACHE", "PUSH_NULL", "COPY", "SWAP", "POP_TOP", "KW_NAMES", "PRECALL", "STORE_FAST"} | {
    *("RETURN_VALUE", "COMPARE_OP", "IS_OP", "CONTAINS_OP", "BINARY_SUBSCR", "BUILD_TUPLE", "BUILD_LIST"),
    *("BUILD_SLICE", "BUILD_MAP", "LIST_TO_TUPLE", "LIST_EXTEND", "UNPACK_SEQUENCE", "UNARY_NOT", "UNARY_NEGATIVE"),
}
_SILENT_FUNCTIONS = {"bool", "int", "isinstance", "len", "list", "max", "min", "range", "slice", "tuple", "zip"}
_SILENT_OF_NUMPY = {"append", "arange", "array", "concatenate", "diff", "empty", "flatnonzero", "full", "ones", "zeros"}


@cache
def _is_silent(code: CodeType, line: int) -> bool:
    """Whether a line does nothing that is seen outside of its function: it computes, or asks what is there."""
    at, before, calls = 0, "", 0  # none is left where all that is called is known to be silent
    for each in dis.get_instructions(code):
        at = each.starts_line or at
        if at != line:
            continue
        name, value = each.opname, str(each.argval)
        if name == "CALL":
            calls -= 1
        elif name == "LOAD_METHOD":
            calls += before == "np" and value in _SILENT_OF_NUMPY
        elif name == "LOAD_GLOBAL":
            calls += value in _SILENT_FUNCTIONS
        elif name == "BINARY_OP":
            calls += each.argrepr.endswith("=")  # which changes what others may have as well
        elif name not in _SILENT and not name.startswith(("LOAD_", "JUMP_", "POP_JUMP_")):
            return False
        before = value
    return calls == 0


@cache
def _handler(code: CodeType, offset: int) -> int | None:
    """Where an exception leads that is raised there."""
    table = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    return next((each.target for each in table if each.start <= offset < each.end), None)


@contextmanager
def _watched(reached: Callable[[Place, FrameType], object], only: Place | None = None) -> Iterator[None]:
    """Tell of every line that is reached within, or of those of the functions that have this one."""

    def line(frame: FrameType, event: str, arg: Any) -> Any:
        code, at = frame.f_code, frame.f_lasti
        if event == "line" and at not in _ends_of_blocks(code) and at not in _idle(code):
            path = _path(code.co_filename)
            assert path is not None, "only these are watched"
            reached((path, frame.f_lineno), frame)
        return line

    def call(frame: FrameType, event: str, arg: Any) -> Any:
        path = None if frame.f_code in CALLBACKS else _path(frame.f_code.co_filename)
        wanted = path is not None and (only is None or (only[0] == path and only[1] in _lines_in(frame.f_code)))
        return line if wanted else None

    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(None)


def lines_of(work: Callable[[], object]) -> list[Place]:
    """The distinct lines that the work reaches, in order.

    A line is left out where it comes first right after one that has done nothing yet that anybody else could see: what
    is raised at it finds all as if it had been raised at the other.
    """
    found: dict[Place, bool] = {}
    last: tuple[FrameType, int, int] | None = None  # the line before, if it came for the first time

    def reached(place: Place, frame: FrameType) -> None:
        nonlocal last
        is_new, code = place not in found, frame.f_code
        if is_new:
            found[place] = not (
                last is not None
                and last[0] is frame
                and _is_silent(code, last[1])
                and _handler(code, last[2]) == _handler(code, frame.f_lasti)
            )
        last = (frame, place[1], frame.f_lasti) if is_new else None

    with _watched(reached):
        work()
    return [place for place, counts in found.items() if counts]


def raising(work: Callable[[], object], place: Place, error: type[BaseException]) -> None:
    """Do the work and raise `error` where it reaches a place first."""
    armed = True
    if VERBOSE:
        print(f"raising {error.__name__} at {place[0]}:{place[1]}", flush=True)

    def reached(where: Place, frame: FrameType) -> None:
        nonlocal armed
        if armed and where == place:
            armed = False
            sys.settrace(None)
            raise error(f"raised at {place}")

    try:
        with _watched(reached, place):
            work()
    except (Exception, KeyboardInterrupt):  # noqa: BLE001  what is left is looked at, whatever it says
        pass
