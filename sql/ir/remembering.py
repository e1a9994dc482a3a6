"""Values with room for what is found out about them."""

from __future__ import annotations

from functools import cached_property
from typing import Any


class Remembering:
    """An immutable value that remembers what was computed of it, for as long as it lives; its fields see none of it."""

    @cached_property
    def found(self) -> dict[str, Any]:
        """What was found out, by a name for the question."""
        return {}
