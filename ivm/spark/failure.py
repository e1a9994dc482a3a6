"""What Spark says when a job fails, as one error that a user can act on."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from catalog.errors import ClusterError

_P = ParamSpec("_P")
_T = TypeVar("_T")

_RAISED = re.compile(r"^(?:[A-Za-z_][\w.]*\.)?([A-Za-z_]\w*(?:Error|Exception|Exit|Interrupt|Warning)?): (.*)$")
_SAYS_NOTHING = re.compile(r"\s*$|\s+at \S+\(|An error occurred while calling ")
_JAVA = re.compile(r"\s+at \S+\(|\s*SQLSTATE: |Driver stacktrace:|Caused by: ")
_KNOWN = (
    (
        re.compile(r"Python worker exited unexpectedly|Worker (?:died|exited)|EOFException"),
        "a Python worker died each time it was tried, most likely because it ran out of memory: give executors more "
        "(spark.executor.memoryOverhead, or spark.executor.pyspark.memory), or the database more shards",
    ),
    (
        re.compile(r"ExecutorLostFailure|Lost executor|executor \S+ exited"),
        "executors were lost each time it was tried; the cluster manager knows why (memory, most likely: "
        "give executors more by spark.executor.memoryOverhead)",
    ),
    (
        re.compile(
            r"SparkContext (?:was|has been) (?:shut down|stopped)|stopped SparkContext|cancelled because SparkContext"
        ),
        "the Spark session was stopped; connect again with a new one",
    ),
    (re.compile(r"[Cc]ancelled"), "the job was cancelled"),
)


def as_one_error(what: str) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Whatever a function's Spark jobs raise becomes a ClusterError: what was attempted, and the root cause."""

    def decorated(function: Callable[_P, _T]) -> Callable[_P, _T]:
        @wraps(function)
        def called(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            from py4j.protocol import Py4JError  # noqa: PLC0415  comes with pyspark
            from pyspark.errors import PySparkException  # noqa: PLC0415

            try:
                return function(*args, **kwargs)
            except (PySparkException, Py4JError, ConnectionError) as error:
                raise ClusterError(f"{what}: {root_cause(str(error))}") from None

        return called

    return decorated


def root_cause(said: str) -> str:
    """The one sentence of what Spark said that tells why: the last exception of Python's if there is one."""
    if "Traceback (most recent call last)" in said and (raised := _raised(said)):
        return raised
    for pattern, meaning in _KNOWN:
        if pattern.search(said):
            return meaning
    lines = [line.removeprefix(": ").strip() for line in said.splitlines() if not _SAYS_NOTHING.match(line)]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes or lines or ["Spark says nothing about it"])[-1 if causes else 0]


def _raised(said: str) -> str | None:
    """The exception that the last traceback ends with, without its module; a missing module with what to do."""
    after = said.rpartition("Traceback (most recent call last)")[2].splitlines()[1:]
    for number, line in enumerate(after):
        if line.startswith((" ", "\t")) or not (found := _RAISED.match(line)):
            continue
        kind, message = found[1], "\n".join([found[2], *_rest(after[number + 1 :])])
        if kind == "ModuleNotFoundError":
            return f"{message} on a worker; install it, as on the driver, on every machine"
        return message if kind == "RuntimeError" else f"{kind}: {message}"
    return None


def _rest(lines: list[str]) -> list[str]:
    """The further lines of a message: all until Java's."""
    rest = []
    for line in lines:
        if not line.strip() or _JAVA.match(line):
            break
        rest.append(line)
    return rest
