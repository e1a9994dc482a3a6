"""Figures: what all benchmarks write and everything that reads them knows. See `Figure` and `Measurement`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ivm.catalog.errors import Error

FORMAT = 1
"""The version of the JSON."""

SHARES = (
    0.0, 0.01, *(round(0.05 * i, 2) for i in range(1, 19)), 0.925, 0.95, 0.96, 0.97, 0.98, 0.99,
    0.995, 0.998, 0.999, 0.9995, 0.9998, 0.9999, 1.0,
)  # fmt: skip
"""The shares of which a distribution has the quantiles: all of it, and its tail closely."""

Label = str | int | float
Points = Sequence[tuple[float, float]]


class FigureError(Error):
    """A file that is to hold figures cannot be read, or holds none of this version."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured row: `value` in `unit`, of what `of` says.

    `samples`: the values of repeated passes, of which `value` is the median. `quantiles`: (share, value) of `count`
    single measurements, of which `value` is the median. `points`: (x, y) where it was measured over something; `value`
    is the mean of y.
    """

    name: str
    of: Mapping[str, Label]
    unit: str
    value: float
    samples: tuple[float, ...] = ()
    quantiles: tuple[tuple[float, float], ...] = ()
    count: int = 0
    points: tuple[tuple[float, float], ...] = ()

    def quantile(self, share: float) -> float:
        """The value that this share of the single measurements does not exceed."""
        shares, values = zip(*self.quantiles, strict=True)
        return float(np.interp(share, shares, values))


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one run of a benchmark found: its name, how it was called, when, where, how long it took, its figures."""

    benchmark: str
    parameters: Mapping[str, Any]
    measured: str
    machine: Mapping[str, Any]
    figures: tuple[Figure, ...]
    seconds: float = 0.0
    detail: Mapping[str, Any] = field(default_factory=dict)

    def select(self, name: str, **labels: Label) -> list[Figure]:
        """The figures of this name that have these labels, in their order."""
        return [f for f in self.figures if f.name == name and all(f.of.get(k) == v for k, v in labels.items())]

    def labels(self, name: str) -> list[Label]:
        """The different values of a label, in the order in which figures have them."""
        return list(dict.fromkeys(figure.of[name] for figure in self.figures if name in figure.of))


def one(name: str, unit: str, value: float, **of: Label) -> Figure:
    """A figure that was measured once."""
    return Figure(name, of, unit, float(value))


def repeated(name: str, unit: str, samples: Sequence[float] | np.ndarray, **of: Label) -> Figure:
    """A figure of several passes."""
    return Figure(name, of, unit, float(np.median(samples)), tuple(float(each) for each in samples))


def spread(name: str, unit: str, quantiles: Sequence[float], count: int, **of: Label) -> Figure:
    """A figure of many single measurements, of which `quantiles` are those of `SHARES`."""
    pairs = tuple((share, float(value)) for share, value in zip(SHARES, quantiles, strict=True))
    return Figure(name, of, unit, float(quantiles[SHARES.index(0.5)]), quantiles=pairs, count=count)


def over(name: str, unit: str, points: Points, **of: Label) -> Figure:
    """A figure over something, such as the time."""
    return Figure(name, of, unit, float(np.mean([y for _, y in points])), points=tuple(points))


def as_json(measurement: Measurement) -> dict[str, Any]:
    """What is written: numbers in six digits, no empty fields."""
    figures = [
        {key: value for key, value in _fields(figure).items() if value not in ([], 0) or key == "value"}
        for figure in measurement.figures
    ]
    head = {name: getattr(measurement, name) for name in ("benchmark", "parameters", "measured", "machine", "seconds")}
    return {"format": FORMAT, **head, "figures": figures, "detail": measurement.detail}


def read(file: Path) -> list[Measurement]:
    """The measurements of a file that a benchmark or the suite wrote. Raises FigureError if it is none."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FigureError(f"{file} cannot be read as JSON: {error}; give a file that a benchmark wrote") from None
    version = data.get("format") if isinstance(data, dict) else None
    if version != FORMAT:
        raise FigureError(f"{file} has figures of format {version}, not {FORMAT}; measure again with this version")
    try:
        return [_measurement(each) for each in data.get("measurements", [data])]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FigureError(f"{file} is damaged ({error!r}); measure again") from None


def write(measurements: Iterable[Measurement], file: Path) -> None:
    """Write several measurements as one file, without their details."""
    whole = [{name: value for name, value in as_json(each).items() if name != "detail"} for each in measurements]
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in whole)
    file.write_text(f'{{"format": {FORMAT}, "measurements": [\n{lines}\n]}}\n', encoding="utf-8")


def _fields(figure: Figure) -> dict[str, Any]:
    return {
        "name": figure.name,
        "of": dict(figure.of),
        "unit": figure.unit,
        "value": _short(figure.value),
        "samples": [_short(each) for each in figure.samples],
        "count": figure.count,
        "quantiles": [[share, _short(value)] for share, value in figure.quantiles],
        "points": [[_short(x), _short(y)] for x, y in figure.points],
    }


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _measurement(data: Mapping[str, Any]) -> Measurement:
    figures = tuple(_figure(each) for each in data["figures"])
    named = {name: data[name] for name in ("benchmark", "parameters", "measured", "machine", "seconds")}
    return Measurement(figures=figures, detail=data.get("detail", {}), **named)


def _figure(data: Mapping[str, Any]) -> Figure:
    return Figure(
        name=str(data["name"]),
        of=dict(data["of"]),
        unit=str(data["unit"]),
        value=float(data["value"]),
        samples=tuple(float(each) for each in data.get("samples", ())),
        quantiles=tuple((float(share), float(value)) for share, value in data.get("quantiles", ())),
        count=int(data.get("count", 0)),
        points=tuple((float(x), float(y)) for x, y in data.get("points", ())),
    )
