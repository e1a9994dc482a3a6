"""Work that others help with from the first row on, as they do in earnest from some thousands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import ivm
from ivm.intake import as_it_is
from ivm.operators import walk, way
from ivm.trace import helpers
from ivm.trace.rows import rows


@contextmanager
def helped(threads: int = 2) -> Iterator[None]:
    """Within, databases have so many threads, unless they are told how many, and all of them work on every commit."""
    with ExitStack() as patched:
        for module in (helpers, as_it_is, walk, way, rows):
            patched.enter_context(patch.object(module, "LARGE", 1))
        patched.enter_context(patch.object(helpers, "_PART", 2))
        patched.enter_context(patch.dict(ivm.connect.__kwdefaults__, threads=threads))
        yield
