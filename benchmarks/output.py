"""Print and keep what a benchmark found."""

from __future__ import annotations

import datetime
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ivm.benchmarks.figures import Figure, Measurement, as_json
from ivm.benchmarks.machine import describe
from ivm.tpch.manifest import Manifest

_FILE_WIDTH = 200
_CONSOLE = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else _FILE_WIDTH)


def table(title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Print a table whose first column is a name and whose others are figures."""
    shown = Table(box=SIMPLE_HEAD, padding=0)
    for position, column in enumerate(columns):
        shown.add_column(column, justify="left" if position == 0 else "right", no_wrap=True)
    for row in rows:
        shown.add_row(*row)
    _CONSOLE.print(title, highlight=False)
    _CONSOLE.print(shown)


def note(text: str) -> None:
    """Print a line below a table."""
    _CONSOLE.print(text, highlight=False)


def described(manifest: Manifest) -> dict[str, Any]:
    """How a stream was made: its manifest without its files."""
    return {name: value for name, value in asdict(manifest).items() if name != "relations"}


def save(
    benchmark: str,
    parameters: Mapping[str, Any],
    figures: Sequence[Figure],
    detail: Mapping[str, Any],
    file: Path,
    began: float,
) -> None:
    """Write what was found as JSON: the figures, and in detail what they were made of.

    `began`: of `time.monotonic()`, so that it can be said how long all of it took.
    """
    measured = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    found = Measurement(
        benchmark, parameters, measured, describe(), tuple(figures), round(time.monotonic() - began, 1), detail
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(as_json(found), indent=1) + "\n", encoding="utf-8")
    _CONSOLE.print(f"written to {file}", highlight=False, soft_wrap=True)
