"""What was dropped, freed when nobody waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from ivm.kernels.memory.allocator import give_back_freed_pages
from ivm.session.core import Core


@contextmanager
def dropping(core: Core) -> Iterator[None]:
    """What is dropped meanwhile, by who takes the lock within, is freed afterwards, which takes long if it is much:
    nobody waits for that.
    """
    held = _parts(core)
    there_were = len(held)
    try:
        yield
    finally:
        held.clear()
        if len(_parts(core)) < there_were:
            pa.default_memory_pool().release_unused()
            give_back_freed_pages()


def _parts(core: Core) -> list[object]:
    """The nodes and tables that are here: who has them keeps what they have."""
    engine = core.engine
    return [*engine.renderer.graph.nodes, *engine.tables.values()] if engine.is_whole else []
