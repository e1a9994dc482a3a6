"""Scripts that the engine does not pass yet, each with the reason. Empty when all is delivered."""

from __future__ import annotations

GAPS: dict[str, str] = {}
