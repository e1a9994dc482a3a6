"""`make bench`: everything that is measured, as one file of figures and one page of HTML.

Each answer of a process, and the file of each run, is kept as soon as it is there. Asked again with the same
parameters, of the same commit, the suite goes on where it was interrupted.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ivm.benchmarks import machine, plan
from ivm.benchmarks.engine import takes_threads
from ivm.benchmarks.figures import FigureError, Measurement, read, write
from ivm.benchmarks.plan import Asked, Run
from ivm.benchmarks.process import kept
from ivm.benchmarks.report.report import report
from ivm.catalog.errors import Error
from ivm.tpch.cache import ensure

PARTS = "parts"
"""The folder, beside the report, of what is kept."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
_err = Console(stderr=True)


@app.command()
def suite(
    sf: Annotated[float, typer.Option("--sf", min=0.001, help="Scale factor.")] = 1.0,
    scale: Annotated[str, typer.Option("--scale", help="Scale factors that are compared, beside --sf.")] = "0.1",
    data: Annotated[Path, typer.Option("--data", help="Holds sf<SF>/<stream>; what is missing is made.")] = Path(
        "data"
    ),
    out: Annotated[Path | None, typer.Option("--out", help="Where to write. Default: ./results/sf<SF>.")] = None,
    passes: Annotated[int, typer.Option(min=1, help="Passes over a stream, after the first.")] = 3,
    only: Annotated[str, typer.Option("--only", help="Some of the runs, by name; 'list' names them.")] = "",
    size: Annotated[str, typer.Option("--size", help=f"One of {', '.join(plan.SIZES)}.")] = "full",
) -> None:
    """Measure everything, and write report.json and report.html."""
    if size not in plan.SIZES:
        raise typer.BadParameter(f"there is no size {size}; there are {', '.join(plan.SIZES)}", param_hint="--size")
    asked = Asked(sf, _scales(scale, sf), data, passes, plan.SIZES[size])
    everything = list(plan.runs(asked, takes_threads=takes_threads()))
    if only == "list":
        typer.echo("\n".join(run.name for run in everything))
        return
    chosen = _chosen(everything, only)
    folder = out or Path("results") / f"sf{sf:g}"
    try:
        _prepare(chosen, asked)
        missing = _measure(chosen, folder / PARTS)
        _write([run for run in everything if _file(run, folder / PARTS).exists()], folder, sf, missing)
    except Error as error:
        _err.print(f"error: {error}", highlight=False, markup=False, soft_wrap=True)
        raise typer.Exit(1) from None
    if missing:
        raise typer.Exit(1)


def _scales(text: str, sf: float) -> tuple[float, ...]:
    try:
        found = {sf, *(float(part) for part in text.split(",") if part)}
    except ValueError:
        raise typer.BadParameter(f"{text} is not a list of scale factors", param_hint="--scale") from None
    return tuple(sorted(found))


def _chosen(everything: Sequence[Run], only: str) -> list[Run]:
    names = [name.strip() for name in only.split(",") if name.strip()]
    known = [run.name for run in everything]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise typer.BadParameter(f"there is no run {unknown[0]}; there are {', '.join(known)}", param_hint="--only")
    return [run for run in everything if not names or run.name in names]


def _prepare(chosen: Sequence[Run], asked: Asked) -> None:
    """Have all streams made, or say at once what is wrong with them."""
    for sf, stream in plan.streams(chosen, asked):
        ensure(sf, stream, None, asked.data / f"sf{sf:g}")


def _measure(chosen: Sequence[Run], parts: Path) -> list[str]:
    """Run what has not been run; what failed."""
    began, missing = time.monotonic(), []
    for number, run in enumerate(chosen, start=1):
        head = f"[{number}/{len(chosen)}] {run.name}, after {(time.monotonic() - began) / 60:.1f} min"
        if _kept(run, parts):
            _err.print(f"{head}: it is there already", highlight=False, markup=False)
            continue
        _err.print(head, highlight=False, markup=False, style="bold")
        arguments = [*run.arguments, "--json", str(_file(run, parts))]
        try:
            with kept(parts, machine.state()):
                import_module(f"benchmarks.{run.module}").app(args=arguments, standalone_mode=False)
        except (Error, typer.BadParameter) as error:
            said = str(error)
            _err.print(f"{run.name} failed: {said}", highlight=False, markup=False, style="red", soft_wrap=True)
            missing.append(run.name)
    return missing


def _kept(run: Run, parts: Path) -> bool:
    try:
        return bool(read(_file(run, parts)))
    except FigureError:
        return False


def _file(run: Run, parts: Path) -> Path:
    """Its name tells a run, with its arguments, of a state of the code."""
    known = json.dumps([run.arguments, machine.state()])
    return parts / f"{run.name}-{hashlib.sha256(known.encode()).hexdigest()[:12]}.json"


def _write(there: Sequence[Run], folder: Path, sf: float, missing: Sequence[str]) -> None:
    found: list[Measurement] = [each for run in there for each in read(_file(run, folder / PARTS))]
    if not found:
        raise FigureError(f"nothing was measured, so there is no report; what is wrong is said above ({folder})")
    write(found, folder / "report.json")
    page = report(found, f"ivm: benchmarks at scale factor {sf:g}", missing)
    (folder / "report.html").write_text(page, encoding="utf-8")
    _err.print(f"written to {folder / 'report.html'} and {folder / 'report.json'}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(app())
