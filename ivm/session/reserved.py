"""Names that are the engine's own."""

from __future__ import annotations

from ivm.catalog.clock import OWN, is_own
from ivm.catalog.errors import BindError


def check_reserved(name: str, what: str = "create") -> None:
    """BindError for a name that a user cannot give, nor change what has it."""
    if is_own(name):
        raise BindError(f"cannot {what} {name!r}: names that begin with {OWN} are the engine's own; choose another")
