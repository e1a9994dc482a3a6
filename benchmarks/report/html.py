"""Tables and the page itself."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ivm.benchmarks.figures import Figure
from ivm.benchmarks.units import shown

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --back: #ffffff; --soft: #66707d; --line: #d8dde4; --wash: #f4f6f8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ee; --back: #14181e; --soft: #98a2b0; --line: #333b46; --wash: #1c222a; }
}
body { color: var(--ink); background: var(--back); font: 15px/1.5 system-ui, sans-serif; max-width: 72rem;
  margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; } h2 { font-size: 1.25rem; margin: 2.5rem 0 .3rem; }
p { max-width: 48rem; margin: .4rem 0; } p.soft, figcaption { color: var(--soft); font-size: .87rem; }
nav a { margin-right: .9rem; } a { color: inherit; }
figure { margin: 1rem 0; } figure svg { width: 100%; height: auto; max-width: 68rem; }
.beside { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start; }
.beside > figure { flex: 1 1 26rem; } .beside > .scroll { flex: 1 1 24rem; }
.scroll { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: .3rem; }
th, td { padding: .15rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { font-weight: 600; background: var(--wash); } th:first-child, td:first-child { text-align: left; }
"""


def page(title: str, about: str, sections: Sequence[tuple[str, str, str]]) -> str:
    """The whole page: what it is about, then sections (id, heading, HTML). It needs nothing from elsewhere."""
    links = " ".join(f'<a href="#{name}">{escape(heading)}</a>' for name, heading, _ in sections)
    parts = "\n".join(
        f'<section id="{name}"><h2>{escape(heading)}</h2>\n{body}\n</section>' for name, heading, body in sections
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>\n'
        f"<body><h1>{escape(title)}</h1>\n{about}\n<nav>{links}</nav>\n{parts}\n</body></html>\n"
    )


def text(words: str, *, soft: bool = False) -> str:
    """A paragraph."""
    return f'<p class="soft">{escape(words)}</p>' if soft else f"<p>{escape(words)}</p>"


def beside(*parts: str) -> str:
    """Parts that stand side by side where there is room."""
    return f'<div class="beside">{"".join(parts)}</div>'


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """A table whose first column is a name and whose others are figures."""
    head = "".join(f"<th>{escape(each)}</th>" for each in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(each)}</td>" for each in row) + "</tr>" for row in rows)
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f'<div class="scroll"><table>{said}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def number(figure: Figure | None) -> str:
    """A figure's value, with its spread where passes were repeated; nothing where there is none."""
    if figure is None:
        return ""
    if len(figure.samples) > 1:
        low, high = (shown(each, figure.unit) for each in (min(figure.samples), max(figure.samples)))
        return f"{shown(figure.value, figure.unit)} ({low}–{high})"
    return shown(figure.value, figure.unit)


def seconds(value: float | None) -> str:
    """Seconds, or nothing."""
    return "" if value is None else shown(value, "s")


def ratio(value: float | None, to: float | None) -> str:
    """How many times `to` the value is; nothing where one is missing."""
    return f"{value / to:.2f}" if value is not None and to else ""


TAILS = ("p50", "p99", "p99.9", "max", "of")
"""The columns of `tail`."""


def tail(figure: Figure | None) -> tuple[str, ...]:
    """The figures of a distribution, and of how many it is."""
    if figure is None or not figure.quantiles:
        return ("",) * len(TAILS)
    values = [shown(figure.quantile(share), figure.unit) for share in (0.5, 0.99, 0.999, 1.0)]
    return (*values, f"{figure.count:,}")
