"""Keep the arrangements that there are although nobody uses them, as an analyst's standing indexes are kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import ivm
from ivm.plan.arrangement import ArrangementPlan
from ivm.session.core import engine_of
from ivm.session.database import core_of


@contextlib.contextmanager
def pinned(db: ivm.Database) -> Iterator[None]:
    """While the block runs, every arrangement that views share now stays, also when its last view goes."""
    engine = engine_of(core_of(db))
    nodes = [node for plan, node in engine.renderer.rendered.items() if isinstance(plan, ArrangementPlan)]
    for node in nodes:
        node.owners["pinned"] = None
    try:
        yield
    finally:
        for node in nodes:
            del node.owners["pinned"]
        engine.sweep()
