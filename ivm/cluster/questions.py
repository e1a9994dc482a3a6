"""What a shard is asked between commits, and answers in Arrow: rows of tables and views, sizes, what it holds."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """`kind`: "table", "view" (with the hidden columns, in no order; `as_of` a time that is kept), "changes" (of a view
    in the last commit that watched it), "sizes" (name, rows), or "relation" (one of `ivm_*`). `name`: of what.
    """

    kind: str
    name: str = ""
    as_of: int | None = None

    def text(self) -> bytes:
        """As bytes."""
        return json.dumps(asdict(self)).encode()


def read(text: bytes) -> Question:
    """What `text` made bytes of."""
    return Question(**json.loads(text))
