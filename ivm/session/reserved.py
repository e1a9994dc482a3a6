"""Names that are the engine's own."""

from __future__ import annotations

from catalog.errors import BindError
from catalog.names import key

RESERVED = "ivm_"


def check_reserved(name: str) -> None:
    """BindError for a name that a user cannot give."""
    if key(name).startswith(RESERVED):
        raise BindError(
            f"cannot create {name!r}: names that begin with {RESERVED} are the engine's own; choose another"
        )
