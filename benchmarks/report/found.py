"""All figures of a report, by benchmark, and what is said of them in several sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ivm.benchmarks.figures import Figure, Label, Measurement


@dataclass(frozen=True, slots=True)
class Found:
    """What was measured, and the seconds published for others, by query (see `benchmarks/anchors.json`)."""

    measurements: Sequence[Measurement]
    anchors: dict[str, dict[str, float]]

    def of(self, benchmark: str) -> list[Measurement]:
        """The runs of a benchmark."""
        return [each for each in self.measurements if each.benchmark == benchmark]

    def select(self, benchmark: str, name: str, **labels: Label) -> list[Figure]:
        """Figures of all runs of a benchmark by their name and labels."""
        return [figure for each in self.of(benchmark) for figure in each.select(name, **labels)]

    def one(self, benchmark: str, name: str, **labels: Label) -> Figure | None:
        """The first one of them, if there is any."""
        return next(iter(self.select(benchmark, name, **labels)), None)

    def labels(self, benchmark: str, label: str, name: str, **labels: Label) -> list[Label]:
        """The different values of a label of these figures, in their order."""
        return list(dict.fromkeys(each.of[label] for each in self.select(benchmark, name, **labels)))

    def is_published_scale(self) -> bool:
        """Whether the streaming figures are of the scale factor of the published ones."""
        return all(each.parameters.get("sf") == 1.0 for each in self.of("streaming"))

    def published(self, view: Label, what: str) -> float | None:
        """Seconds that were published for a query."""
        return self.anchors.get(str(view).removeprefix("q"), {}).get(what) if self.is_published_scale() else None


def total(values: Sequence[float | None]) -> float | None:
    """The sum, if no value is missing."""
    there = [value for value in values if value is not None]
    return sum(there) if there and len(there) == len(values) else None
