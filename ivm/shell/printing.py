"""How the shell prints rows: as a table to look at, or exactly, as CSV, JSON or lines."""

from __future__ import annotations

import sys
from collections.abc import Callable

from ivm.results.cells import visible
from ivm.results.result import Rows, say
from ivm.results.written import csv_parts, json_parts, text_parts


def write_csv(rows: Rows) -> None:
    """All rows after a line of names; see `csv_parts`."""
    sys.stdout.writelines(csv_parts(rows.arrow()))


def write_json(rows: Rows) -> None:
    """All rows as one array of objects, a row on a line; see `json_parts`."""
    sys.stdout.writelines(json_parts(rows.arrow()))
    sys.stdout.write("\n")


def write_lines(rows: Rows) -> None:
    """All rows, each value on a line of its own after its name, an empty line between two rows."""
    names = list(map(visible, rows.columns))
    width = max(map(len, names), default=0)
    first = True
    for texts, _ in text_parts(rows.arrow()):
        for row in texts:
            lines = [
                f"{name:>{width}} = {'NULL' if text is None else visible(text)}"
                for name, text in zip(names, row, strict=True)
            ]
            say("\n".join(lines if first else ["", *lines]))
            first = False


WRITERS: dict[str, Callable[[Rows], None]] = {
    "table": Rows.show,
    "csv": write_csv,
    "json": write_json,
    "line": write_lines,
}
