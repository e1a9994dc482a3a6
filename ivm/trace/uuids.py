"""UUIDs in Arrow data: as texts, in which they are kept, and as 16 bytes, in which others have them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as arrow

from catalog.uuids import uuid_of

BYTES = 16


def to_uuids(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts, or 16 bytes each, as UUIDs in their one form; ValueError for a text that is none.

    Cost: a pass in Python.
    """
    plain = values.to_pylist()
    if arrow.is_fixed_size_binary(values.type):
        plain = [None if value is None else value.hex() for value in plain]
    return pa.chunked_array([pa.array([None if text is None else uuid_of(text) for text in plain], pa.string())])


def as_bytes(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """UUIDs in their one form as Arrow's own type of them. Cost: a pass in Python."""
    raw = [None if text is None else bytes.fromhex(text.replace("-", "")) for text in texts.to_pylist()]
    storage = pa.array(raw, pa.binary(BYTES))
    return pa.chunked_array([pa.ExtensionArray.from_storage(pa.uuid(), storage)], pa.uuid())
