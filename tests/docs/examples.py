"""The examples of a page: its Python, and what the comments in it promise."""

from __future__ import annotations

import re
from pathlib import Path

from tests.house.modules import ROOT

PAGES = tuple(sorted((ROOT / "docs").glob("*.md")))


def blocks(page: Path) -> list[str]:
    """The blocks of Python on a page."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def promised(code: str) -> list[str]:
    """What the comments behind the prints, and those alone on a line after them, say will be printed."""
    lines: list[str] = []
    for line in code.splitlines():
        behind = re.fullmatch(r" *print\(.*\)  # (.*)", line)
        alone = re.fullmatch(r"# (.*)", line)
        lines += [found[1] for found in (behind, alone) if found]
    return lines
