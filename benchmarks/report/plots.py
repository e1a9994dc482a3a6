"""Plots as SVG that stands in a page: its colours of text and lines are those of the page, light or dark."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ivm.benchmarks.figures import Figure, Points

COLOURS = ("#3b82f6", "#f59e0b", "#10b981", "#f43f5e", "#8b5cf6", "#14b8a6", "#ec4899", "#84cc16")
PUBLISHED = "#94a3b8"
"""For what others have published."""

_INK = "#010203"  # stands for the page's colour of text
_HEIGHT, _ROW = 3.2, 0.2  # inches: of a plot, and of a row of its legend
_LETTERS = 15  # of a legend, in an inch
_SHORT = 6
_MANY = 100.0
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9.0,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "grid.color": _INK,
    "grid.alpha": 0.15,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def bars(
    title: str, names: Sequence[str], series: Mapping[str, Sequence[float | None]], axis: str, *, log: bool = False
) -> str:
    """Bars side by side for each of `names`; a series whose name ends with "published" is grey."""
    with mpl.rc_context(_SETTINGS):
        canvas, axes = _canvas(wide=len(names) > 8)
        width = 0.8 / max(1, len(series))
        for number, (label, values) in enumerate(series.items()):
            places = [place + (number - (len(series) - 1) / 2) * width for place in range(len(names))]
            heights = [value or 0.0 for value in values]
            colour, hatch = COLOURS[number % len(COLOURS)], None
            if label.endswith("published"):
                hatch, colour = ("//" if any(s.endswith("published") for s in [*series][:number]) else None), PUBLISHED
            axes.bar(places, heights, width * 0.95, label=label, color=colour, hatch=hatch)
        slanted: dict[str, Any] = {"rotation": 20, "ha": "right"} if max(map(len, names), default=0) > _SHORT else {}
        axes.set_xticks(range(len(names)), names, **slanted)
        axes.tick_params(axis="x", length=0)
        if log:
            _by_powers(axes, "y")
        axes.set_ylabel(axis)
        axes.grid(visible=True, axis="y")
        return _svg(canvas, axes, title, len(series))


def curves(
    title: str,
    series: Mapping[str, Points],
    axes_names: tuple[str, str],
    *,
    log: str = "",
    marks: bool = False,
) -> str:
    """A curve for each series of (x, y); `log` names the axes that are logarithmic ("x", "y", "xy")."""
    with mpl.rc_context(_SETTINGS):
        canvas, axes = _canvas(wide=False)
        for number, (label, points) in enumerate(series.items()):
            xs, ys = [x for x, _ in points], [y for _, y in points]
            colour, line = COLOURS[number % len(COLOURS)], "-" if number < len(COLOURS) else "--"
            axes.plot(xs, ys, line, label=label, color=colour, marker="o" if marks else None, ms=4)
        for axis in log:
            _by_powers(axes, axis)
        axes.set_xlabel(axes_names[0])
        axes.set_ylabel(axes_names[1])
        axes.grid(visible=True)
        return _svg(canvas, axes, title, len(series))


def tails(title: str, figures: Mapping[str, Figure], axis: str) -> str:
    """The share of single measurements that are greater than a value, by powers; of figures with quantiles."""
    return curves(
        title, {name: tail(each) for name, each in figures.items()}, (axis, "share that takes longer"), log="xy"
    )


def tail(figure: Figure) -> Points:
    """(value, share of the single measurements that are greater), down to a single one."""
    least = 1 / max(1, figure.count)
    return [
        (max(value, 1e-6), max(1 - share, least))
        for share, value in figure.quantiles
        if 1 - share >= least / 2 or share == 1
    ]


def shares(title: str, figures: Mapping[str, Figure], axis: str) -> str:
    """The share of single measurements that are done within a time."""
    series = {name: [(max(value, 1e-6), share) for share, value in each.quantiles] for name, each in figures.items()}
    return curves(title, series, (axis, "share done within"), log="x")


def _by_powers(axes: Axes, axis: str) -> None:
    """Make an axis logarithmic, with plain numbers, as many as are read at a glance; one of zeros stays as it is."""
    greatest = axes.dataLim.x1 if axis == "x" else axes.dataLim.y1
    if not greatest > 0:
        return
    if axis == "x":
        axes.set_xscale("log")
    else:
        axes.set_yscale("log")
    ruled = axes.xaxis if axis == "x" else axes.yaxis
    low, high = axes.get_xlim() if axis == "x" else axes.get_ylim()
    steps = (1.0,) if high / max(low, 1e-300) > _MANY else (1.0, 2.0, 5.0)
    ruled.set_major_locator(LogLocator(subs=steps, numticks=12))
    ruled.set_major_formatter(FuncFormatter(lambda value, place: f"{value:,g}"))
    ruled.set_minor_formatter(NullFormatter())


def _canvas(*, wide: bool) -> tuple[Canvas, Axes]:
    canvas = Canvas(figsize=(10.0 if wide else 6.4, _HEIGHT))
    axes = canvas.subplots()
    axes.set_axisbelow(True)
    return canvas, axes


def _svg(canvas: Canvas, axes: Axes, title: str, series: int) -> str:
    rows = 0
    if series > 1:
        labels = axes.get_legend_handles_labels()[1]
        fitting = int(canvas.get_figwidth() * _LETTERS / (max(map(len, labels)) + 5))
        columns = max(1, min(series, fitting))
        rows = -(-series // columns)
        canvas.legend(loc="upper center", ncols=columns, fontsize=8, columnspacing=1.2, handlelength=1.4)
    canvas.set_figheight(_HEIGHT + _ROW * rows)
    canvas.tight_layout(rect=(0.0, 0.0, 1.0, 1 - _ROW * rows / canvas.get_figheight()))
    out = io.StringIO()
    canvas.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", text, count=1)
    text = re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", text, count=1)
    text = text.replace("<svg ", f'<svg role="img" aria-label="{escape(title, quote=True)}" ', 1)
    return f"<figure>{text}<figcaption>{escape(title)}</figcaption></figure>"
