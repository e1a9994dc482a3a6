"""Rows drawn as a table of a given width, in characters or in HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape

from rich.cells import cell_len, set_cell_size

from ivm.results.cells import Head

NULL = "NULL"
CUT = "…"
_LEAST = 8
"""A column is not made narrower than this; where that is not enough, columns are left out."""
_HTML_CHARACTERS = 200


def box(head: Head, width: int | None = None) -> str:
    """A table, and a line that says how many rows there are; the table is at most `width` wide (None: as it comes).

    Where it would be wider, the widest columns are cut, then the last columns are left out; a mark says where.
    """
    if not head.names:
        return head.note
    head, widths = _fitted(head, width)
    left_out = len(head.names) < head.columns
    lines = [
        _rule("┌┬┐", widths, left_out),
        _line(head.names, widths, (False,) * len(widths), left_out),
        _line(head.types, widths, (False,) * len(widths), left_out),
        _rule("├┼┤", widths, left_out),
        *(_line([_text(cell) for cell in row], widths, head.numeric, left_out) for row in head.cells),
        _rule("└┴┘", widths, left_out),
        head.note,
    ]
    return "\n".join(lines)


def _fitted(head: Head, width: int | None) -> tuple[Head, list[int]]:
    """What of the columns is shown, and how wide each of these is."""
    columns = list(zip(*head.cells, strict=True)) or [()] * len(head.names)
    widths = [
        max(map(cell_len, (*above, *map(_text, cells))))
        for *above, cells in zip(head.names, head.types, columns, strict=True)
    ]
    if width is None or _whole(widths, len(widths) < head.columns) <= width:
        return head, widths
    shown = len(widths)
    while shown > 1 and _whole([min(each, _LEAST) for each in widths[:shown]], shown < head.columns) > width:
        shown -= 1
    spare = width - _whole([0] * shown, shown < head.columns)
    cells = tuple(row[:shown] for row in head.cells)
    fewer = replace(head, names=head.names[:shown], types=head.types[:shown], numeric=head.numeric[:shown], cells=cells)
    return fewer, _cut_to(widths[:shown], spare)


def _whole(widths: Sequence[int], left_out: bool) -> int:
    """The width of a table with columns of these."""
    return sum(widths) + 3 * len(widths) + 1 + (4 if left_out else 0)


def _cut_to(widths: Sequence[int], spare: int) -> list[int]:
    """The widths, the largest made equal so that together they are at most `spare`."""
    most = max(widths)
    if sum(widths) > spare:
        most = next((most for most in range(most, 0, -1) if sum(min(each, most) for each in widths) <= spare), 1)
    cut = [min(each, most) for each in widths]
    for place, each in enumerate(widths):
        if each > cut[place] and sum(cut) < spare:
            cut[place] += 1
    return cut


def _rule(corners: str, widths: Sequence[int], left_out: bool) -> str:
    parts = ["─" * (each + 2) for each in widths] + (["───"] if left_out else [])
    return corners[0] + corners[1].join(parts) + corners[2]


def _line(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool], left_out: bool) -> str:
    cells = [_padded(*each) for each in zip(texts, widths, right, strict=True)] + ([CUT] if left_out else [])
    return "│ " + " │ ".join(cells) + " │"


def _padded(text: str, width: int, right: bool) -> str:
    missing = width - cell_len(text)
    if missing < 0:
        return set_cell_size(text, width - 1) + CUT
    return " " * missing + text if right else text + " " * missing


def _text(cell: str | None) -> str:
    return NULL if cell is None else cell


def html(head: Head, title: str = "") -> str:
    """A table for notebooks. Nothing in the data is read as HTML."""
    left_out = f"<th>{CUT}</th>" if len(head.names) < head.columns else ""
    names = "".join(
        f'<th title="{escape(kind)}">{escape(name)}</th>' for name, kind in zip(head.names, head.types, strict=True)
    )
    rows = "".join(
        f"<tr>{''.join(map(_html_cell, row, head.numeric))}{left_out.replace('th>', 'td>')}</tr>" for row in head.cells
    )
    caption = escape(f"{title}: {head.note}" if title else head.note)
    return f"<table><thead><tr>{names}{left_out}</tr></thead><tbody>{rows}</tbody></table><small>{caption}</small>"


def _html_cell(cell: str | None, numeric: bool) -> str:
    style = ' style="text-align: right"' if numeric else ' style="text-align: left"'
    if cell is None:
        return f"<td{style}><em>NULL</em></td>"
    text = cell if len(cell) <= _HTML_CHARACTERS else cell[:_HTML_CHARACTERS] + CUT
    return f"<td{style}>{escape(text)}</td>"
