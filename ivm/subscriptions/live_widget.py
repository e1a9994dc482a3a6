"""The widget that a view is shown by in a notebook, where anywidget is installed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


def new_widget(drawn: str) -> Any | None:
    """A widget that shows this HTML, and what is put into its `drawn` later; None where there is no anywidget."""
    made = _kind()
    return None if made is None else made(drawn=drawn)


@cache
def _kind() -> Any | None:
    """Its class, which is made once, of one that need not be there."""
    try:
        base, unicode = import_module("anywidget").AnyWidget, import_module("traitlets").Unicode
    except ImportError:
        return None
    script = Path(__file__).with_name("live.js").read_text(encoding="utf-8")
    return type("LiveView", (base,), {"_esm": script, "drawn": unicode().tag(sync=True)})
