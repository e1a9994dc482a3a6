"""What a shard is asked between commits, and answers in Arrow: rows of tables and views, sizes, what it holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """`kind`: "table" and "view" (with the hidden columns, in no order; `as_of` a time that is kept), "changes" (of a
    view in the last commit that watched it), "history" (its changes `after` a time up to `as_of`), "sizes" (name,
    rows), "nulls" (in how many rows of a table a column is NULL, the one of `keys`), "relation" (one of `ivm_*`),
    "meeting" (the rows of a table that meet those of `given`, the bytes of a stream of Arrow's IPC format in
    hexadecimal, on one of `keys`, which are columns; `as_of` as above), "write" (a file of the rows of a query, which
    is `given`, as JSON, with what `ivm.cluster.shard.selecting.written` takes), or "fill" (work for so many `millis` on
    the view that is on its way in, and tell how far it is). `name`: of what.
    """

    kind: str
    name: str = ""
    as_of: int | None = None
    keys: Sequence[Sequence[int]] = ()
    given: str = ""
    after: int = 0
    millis: int = 0

    def text(self) -> bytes:
        """As bytes."""
        return json.dumps(asdict(self)).encode()


def read(text: bytes) -> Question:
    """What `text` made bytes of."""
    return Question(**json.loads(text))
