"""What Spark says when a job fails, as one error that a user can act on."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from textwrap import dedent
from typing import ParamSpec, TypeVar

from ivm.catalog.errors import ClusterError

_P = ParamSpec("_P")
_T = TypeVar("_T")

_RAISED = re.compile(r"^(?:[A-Za-z_][\w.]*\.)?([A-Za-z_]\w*(?:Error|Exception|Exit|Interrupt|Warning)?): (.*)$")
_SAYS_NOTHING = re.compile(r"\s*$|\s+at \S+\(|An error occurred while calling ")
_JAVA = re.compile(r"\s+at \S+\(|\s*SQLSTATE: |Driver stacktrace:|Caused by: ")
_STARTED = re.compile(r"Error from python worker:\n(.*?)(?:^PYTHONPATH was:|\Z)", re.DOTALL | re.MULTILINE)
"""What a Python process said that did not come to work for Spark, indented: one that forks workers, or a worker."""
_KILLED = re.compile(r"terminated with code: (?:9|137)\b")
_TRACEBACK = "Traceback (most recent call last)"
_OURS = ("ivm", "catalog", "sql")
_OTHER_RELEASE = "which has another release of ivm than the driver; install the driver's on every machine"
_LACKING = re.compile(
    r"Can't get attribute '\w+' on <module '(?:ivm|catalog|sql)\b"
    r"|cannot import name .* from '(?:ivm|catalog|sql)\b"
)
_MISSING = re.compile(r"No module named '?([\w.]+)'?")
_KNOWN = (
    (
        re.compile(r'Cannot run program "([^"]+)"'),
        "there is no Python at {} on a worker; install it on every machine, or let PYSPARK_PYTHON, or "
        "spark.pyspark.python, be the path of the one that is there",
    ),
    (
        re.compile(r"while reading the port number from (\S+)'s stdout(?! and terminated with code: (?:9|137)\b)"),
        "{} ends as soon as it is started on a worker, whose log says why; see that ivm-engine is installed on every "
        "machine, as on the driver, in the Python that PYSPARK_PYTHON, or spark.pyspark.python, names there",
    ),
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
    if not _KILLED.search(said) and (started := _STARTED.search(said)) and (cause := _not_started(dedent(started[1]))):
        return cause
    if _TRACEBACK in said and (raised := _raised(said)):
        return raised
    for pattern, meaning in _KNOWN:
        if found := pattern.search(said):
            return meaning.format(*found.groups())
    lines = [line.removeprefix(": ").strip() for line in said.splitlines() if not _SAYS_NOTHING.match(line)]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes or lines or ["Spark says nothing about it"])[-1 if causes else 0]


def _not_started(said: str) -> str:
    """Why a Python process has ended at once; empty if it has not said why."""
    if _TRACEBACK in said and (raised := _raised(said)):
        return raised
    if missing := _MISSING.search(said):
        return _lacks(missing[1])
    last = said.strip().rpartition("\n")[2]
    return last and f"Python does not start on a worker: {last}"


def _lacks(module: str) -> str:
    """What to do where a module is not found on a worker."""
    ours, _, rest = module.partition(".")
    if ours in _OURS and rest:
        return f"No module named '{module}' on a worker, {_OTHER_RELEASE}"
    return (
        f"No module named '{module}' on a worker; install it, as on the driver, on every machine: ivm-engine and what "
        "it needs, in the Python that PYSPARK_PYTHON, or spark.pyspark.python, names there"
    )


def _raised(said: str) -> str | None:
    """The exception that the last traceback ends with, without its module; a missing module with what to do."""
    after = said.rpartition(_TRACEBACK)[2].splitlines()[1:]
    for number, line in enumerate(after):
        if line.startswith((" ", "\t")) or not (found := _RAISED.match(line)):
            continue
        kind, message = found[1], "\n".join([found[2], *_rest(after[number + 1 :])])
        if _LACKING.match(message):
            return f"{message.splitlines()[0]} of a worker, {_OTHER_RELEASE}"
        if kind == "ModuleNotFoundError" and (missing := _MISSING.search(message)):
            return _lacks(missing[1])
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
