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
    held = core.engine.held()
    there_were = len(held)
    try:
        yield
    finally:
        held.clear()
        if len(core.engine.held()) < there_were:
            pa.default_memory_pool().release_unused()
            give_back_freed_pages()
