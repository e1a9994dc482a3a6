"""Work that others help with from the first row on, as they do in earnest from some thousands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import ivm
from ivm.trace import helpers


@contextmanager
def helped(threads: int = 2) -> Iterator[None]:
    """Within, databases have so many threads, unless they are told how many, and all of them work on every commit."""
    with (
        patch.object(helpers, "LARGE", 1),
        patch.object(helpers, "_PART", 2),
        patch.dict(ivm.connect.__kwdefaults__, threads=threads),
    ):
        yield
