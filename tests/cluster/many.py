"""Few shards that plan as many do."""

from __future__ import annotations

from contextlib import AbstractContextManager
from unittest.mock import patch

from ivm.distribute import exchange


def planned_as_many(shards: int = 2) -> AbstractContextManager[object]:
    """So many shards, and more, are many: parts that meet at few of them do so in two steps."""
    return patch.object(exchange, "MANY", shards)
