"""`ivm tpch bench first-use`: what a newcomer waits for, on a machine that has run nothing of this before.

Each measurement is of a process of its own in a copy of the checkout as an installation leaves it: with Python's
bytecode, the machine code that the set-up compiled, and no other. `warm` is the same again. The targets are
what each may take on a quiet machine with two cores.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from ivm.benchmarks import output
from ivm.benchmarks.asking import say
from ivm.benchmarks.figures import one
from ivm.benchmarks.process import BenchmarkError
from ivm.tpch.errors import SetupError
from ivm.tpch.java import java_home

ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = ("catalog", "sql", "ivm", "tpch", "benchmarks")
_DEMO = "tpch run --sf 0.01 --stream refresh --batch 100 --views all --every 5 --data"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True)
class Figure:
    """A line of the table: before kernels were compiled ahead, what is to be reached, and what was found."""

    what: str
    before: str
    target: str
    found: float | None
    warm: float | None = None
    unit: str = "s"


@app.command()
def first_use(
    demo: Annotated[bool, typer.Option(help="Run the demo too, where there is Java for Spark.")] = True,
    setup: Annotated[bool, typer.Option(help="Compile all kernels, to see how long the set-up takes.")] = True,
    json_file: Annotated[Path, typer.Option("--json", help="Where to write.")] = Path("results/first_use.json"),
) -> None:
    """README's first example, five small views, the demo and the set-up, with nothing cached."""
    began = time.monotonic()
    with _installed() as place:
        figures = [*_example(place), _views(place)]
        if demo:
            figures += _demo(place)
        if setup:
            figures.append(_setup(place))
    title = "first use, with nothing cached, and warm"
    columns = ("", "before", "to reach", "found", "warm")
    output.table(title, columns, [_row(figure) for figure in figures])
    found = {figure.what: {"found": figure.found, "warm": figure.warm, "unit": figure.unit} for figure in figures}
    rows = [
        one(figure.what, figure.unit, seconds, cached=cached, target=figure.target)
        for figure in figures
        for cached, seconds in (("nothing", figure.found), ("all", figure.warm))
        if seconds is not None
    ]
    output.save("first-use", {"demo": demo, "setup": setup}, rows, {"results": found}, json_file, began)


def _example(place: Path) -> list[Figure]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    example = text.partition("```python\n")[2].partition("```")[0]
    say("README's first example")
    (place / "example.py").write_text(example, encoding="utf-8")
    seconds, again = (_timed(place, "example.py") for _ in range(2))
    _forget(place)
    commits, later = (_engine(place, "example", example)["longest_commit_ms"] for _ in range(2))
    return [
        Figure("README's first example, whole script", "18.5 s", "1.5 s, warm 1.0 s", seconds, again),
        Figure("longest commit in it", "16 s", "50 ms", commits, later, "ms"),
    ]


def _views(place: Path) -> Figure:
    say("five small views")
    _forget(place)
    cold, warm = (_engine(place, "views")["cpu_seconds"] for _ in range(2))
    return Figure("five small views over a few rows, CPU", "82 s", "3 s", cold, warm)


def _demo(place: Path) -> list[Figure]:
    try:
        java_home()
    except SetupError:
        say("no Java for Spark, so no demo")
        return []
    say("the demo")
    data = place / "data"
    _forget(place)
    seconds = _timed(place, "-c", "from ivm.cli import main; main()", *_DEMO.split(), str(data))
    _forget(place)
    cold, warm = (_engine(place, "hydration", str(data / "refresh"))["seconds"] for _ in range(2))
    return [
        Figure("the demo", "120 to 180 s", "30 s", seconds),
        Figure("its 22 views hydrated", "47 to 75 s", "5 s", cold, warm),
    ]


def _setup(place: Path) -> Figure:
    say("compiling all kernels")
    shutil.rmtree(place / "ivm" / "kernels" / "machine", ignore_errors=True)
    seconds = _timed(place, str(ROOT / "setup" / "kernels.py"), str(place / "ivm"))
    return Figure("make setup, compiling kernels", "0 s", "20 s", seconds)


@contextmanager
def _installed() -> Iterator[Path]:
    """A copy of the packages as an installation leaves them."""
    with tempfile.TemporaryDirectory(prefix="ivm-first-use-") as name:
        place = Path(name)
        for package in _PACKAGES:
            shutil.copytree(ROOT / package, place / package, ignore=shutil.ignore_patterns("__pycache__"))
        subprocess.run([sys.executable, "-m", "compileall", "-q", *_PACKAGES], cwd=place, check=True)
        yield place


def _forget(place: Path) -> None:
    """Remove what processes in a copy have compiled."""
    shutil.rmtree(place / "cache", ignore_errors=True)


def _timed(place: Path, *arguments: str) -> float:
    """Seconds that Python takes for something in a copy."""
    start = perf_counter()
    _run(place, *arguments)
    return perf_counter() - start


def _engine(place: Path, *arguments: str) -> dict[str, Any]:
    """What a measurement in a copy answers."""
    answer: dict[str, Any] = json.loads(
        _run(place, "-m", "ivm.benchmarks.first_use_engine", *arguments).splitlines()[-1]
    )
    return answer


def _run(place: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(place), "IVM_CACHE_DIR": str(place / "cache")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BenchmarkError(f"{' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def _row(figure: Figure) -> tuple[str, ...]:
    found = [f"{each:,.2f} {figure.unit}" if each is not None else "" for each in (figure.found, figure.warm)]
    return (figure.what, figure.before, figure.target, *found)
