"""What a crash left behind the last record of a log: kept beside it when it is cut off, for whoever may want to look.

It is of a commit that nobody was told of, as far as that is known. The files are called by the number of the record
that would have been there, as `00000000000000000042.cut`; a few of them are kept, and of each its first part.
"""

from __future__ import annotations

import re
from contextlib import suppress

import pyarrow as pa

from ivm.storage.storage import Storage

_NAME = re.compile(r"\d{20}\.cut", re.ASCII)
_MOST = 3
_MOST_BYTES = 1 << 26


def keep_remains(storage: Storage, number: int, data: pa.Buffer) -> str:
    """Keep what was found where record `number` is expected; the name of the file, empty where there are only zeros.

    It survives a loss of power then. OSError if it cannot be kept.
    """
    found = data.slice(0, min(_MOST_BYTES, data.size)).to_pybytes().rstrip(b"\0")
    if not found:
        return ""
    name = f"{number:020}.cut"
    try:
        storage.put(name, [found])
        storage.sync_names()
    except OSError:
        with suppress(OSError):
            storage.remove(name)
        raise
    kept = [each for each in storage.names() if _NAME.fullmatch(each) and each != name]
    for each in kept[: len(kept) + 1 - _MOST]:
        with suppress(OSError):
            storage.remove(each)
    return name
