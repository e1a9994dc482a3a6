"""`python -m ivm.benchmarks.compare A.json B.json`: what has changed from A to B, and is it more than noise?

The files are those of a benchmark or of the suite. For each figure that both have: both values, their ratio, and the
band of ratios that noise explains (see `ivm.benchmarks.noise`). Exit status 0 whatever has changed, 2 if a file is bad.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ivm.benchmarks import output
from ivm.benchmarks.figures import Figure, FigureError, Measurement, read
from ivm.benchmarks.noise import Verdict, judge
from ivm.benchmarks.units import shown

_EACH = frozenset({"view", "case", "kind"})
"""Labels of the many of which a benchmark has a figure each."""
_TIMES = frozenset({"s", "ms", "ns"})
_TAIL = 0.99
_MANY = 100
"""From so many single measurements on a tail is worth comparing."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of both files."""

    benchmark: str
    figure: Figure
    what: str
    verdict: Verdict
    weight: float

    @property
    def importance(self) -> tuple[bool, float]:
        """What to sort by: what has changed, and how much; medians of what was repeated count more."""
        return self.verdict.has_changed, self.weight * abs(math.log(self.verdict.ratio or 1e-12))

    @property
    def group(self) -> tuple[str, str, str]:
        """The figures that are told in one line: those of all views, all cases or all kinds."""
        return self.benchmark, self.what, _labels(self.figure, without=_EACH)

    def word(self) -> str:
        """What has happened."""
        if not self.verdict.has_changed:
            return "noise" if self.verdict.ratio != 1 else "same"
        more = self.verdict.ratio > 1
        if self.figure.unit in _TIMES:
            return "slower" if more else "faster"
        return "more" if more else "less"


@app.command()
def compare(
    before: Annotated[Path, typer.Argument(help="A file of figures.")],
    after: Annotated[Path, typer.Argument(help="Another one.")],
    all_rows: Annotated[bool, typer.Option("--all", help="Show what has not changed too.")] = False,
    across: Annotated[str, typer.Option("--across", help="Labels that may differ, such as threads,times.")] = "",
) -> None:
    """What has changed from BEFORE to AFTER, and whether it is more than noise."""
    try:
        first, second = read(before), read(after)
    except FigureError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    labels = frozenset(across.split(","))
    for line in differences(first, second, labels):
        output.note(line)
    rows = compared(first, second, labels)
    groups = [line for line in _groups(rows) if line]
    output.table("together", ("figures", "", "of", "ratio", "better", "worse"), groups)
    told = [row for row in rows if all_rows or row.verdict.has_changed]
    columns = ("figure", "of", "before", "after", "ratio", "noise up to", "")
    output.table(f"{len(rows)} figures, {len(told)} shown", columns, [_shown(row) for row in told])
    changed = sum(row.verdict.has_changed for row in rows)
    output.note(f"{changed} of {len(rows)} figures have changed by more than noise; *: measured once, no spread known")


def compared(
    before: Sequence[Measurement], after: Sequence[Measurement], across: frozenset[str] = frozenset()
) -> list[Row]:
    """The figures that both have, the most important ones first; those of two that differ `across` labels are one."""
    there = {(benchmark, key): figure for benchmark, key, figure in _keyed(after, across)}
    rows = [
        row
        for benchmark, key, figure in _keyed(before, across)
        if (benchmark, key) in there
        for row in _rows(benchmark, figure, there[benchmark, key])
    ]
    return sorted(rows, key=lambda row: row.importance, reverse=True)


def differences(
    before: Sequence[Measurement], after: Sequence[Measurement], across: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Lines that say in what the two were not measured alike."""
    machines = [_flat(each[0].machine) if each else {} for each in (before, after)]
    yield from _unlike("machine", *machines)
    parameters = [_parameters(each) for each in (before, after)]
    for name in dict.fromkeys([*parameters[0], *parameters[1]]):
        first, second = (each.get(name) for each in parameters)
        if first is None or second is None:
            yield f"{name} is only in the {'second' if first is None else 'first'} file"
        elif first != second:
            yield f"{name} was measured with other parameters: {_only(first, second)}, now {_only(second, first)}"
    keys = [{(benchmark, key) for benchmark, key, _ in _keyed(each, across)} for each in (before, after)]
    alone = [len(keys[0] - keys[1]), len(keys[1] - keys[0])]
    if any(alone):
        yield f"{alone[0]} figures are only in the first file, {alone[1]} only in the second"


def _rows(benchmark: str, before: Figure, after: Figure) -> Iterator[Row]:
    if before.quantiles and after.quantiles:
        yield Row(benchmark, before, f"{before.name}, p50", judge(before, after), 2.0)
        if min(before.count, after.count) >= _MANY:
            yield Row(benchmark, before, f"{before.name}, p99", judge(before, after, _TAIL), 1.0)
    else:
        yield Row(benchmark, before, before.name, judge(before, after), 3.0 if len(before.samples) > 1 else 1.0)


def _keyed(
    measurements: Sequence[Measurement], across: frozenset[str] = frozenset()
) -> Iterator[tuple[str, tuple[Any, ...], Figure]]:
    for each in measurements:
        for figure in each.figures:
            labels = sorted((name, value) for name, value in figure.of.items() if name not in across)
            yield each.benchmark, (figure.name, *labels), figure


def _groups(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    found: dict[tuple[str, str, str], list[Verdict]] = {}
    for row in rows:
        if 0 < row.verdict.ratio < math.inf:
            found.setdefault(row.group, []).append(row.verdict)
    for (benchmark, what, of), verdicts in found.items():
        if len(verdicts) > 1:
            ratio = math.exp(sum(math.log(each.ratio) for each in verdicts) / len(verdicts))
            ways = [sum(v.has_changed and (v.ratio < 1) is less for v in verdicts) for less in (True, False)]
            yield (f"{benchmark}: {what}", f"{len(verdicts)}", of, f"{ratio:.3f}", *(str(way) for way in ways))


def _shown(row: Row) -> tuple[str, ...]:
    verdict = row.verdict
    return (
        f"{row.benchmark}: {row.what}",
        _labels(row.figure),
        shown(verdict.before, row.figure.unit),
        shown(verdict.after, row.figure.unit),
        f"{verdict.ratio:.3f}",
        f"{verdict.band:.0%}{'' if verdict.is_repeated else '*'}",
        row.word(),
    )


def _labels(figure: Figure, without: frozenset[str] = frozenset()) -> str:
    return ", ".join(f"{name} {value}" for name, value in figure.of.items() if name not in without)


def _parameters(measurements: Sequence[Measurement]) -> dict[str, list[str]]:
    """By benchmark, how it was called, each time."""
    found: dict[str, list[str]] = {}
    for each in measurements:
        found.setdefault(each.benchmark, []).append(_written(each.parameters))
    return {name: sorted(calls) for name, calls in found.items()}


def _only(first: Sequence[str], second: Sequence[str]) -> str:
    return "; ".join(each for each in first if each not in second) or "nothing else"


def _written(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in parameters.items())


def _flat(machine: Mapping[str, Any]) -> dict[str, Any]:
    packages = machine.get("packages", {})
    return {**{name: value for name, value in machine.items() if name != "packages"}, **packages}


def _unlike(what: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys([*first, *second]):
        if first.get(name) != second.get(name):
            yield f"{what}: {name} {first.get(name, 'unknown')}, now {second.get(name, 'unknown')}"


if __name__ == "__main__":
    sys.exit(app())
