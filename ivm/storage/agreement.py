"""To put a file once where the place for files cannot: writers agree by files of their own, which all can list.

It is Disk Paxos (Gafni and Lamport, 2003) over the one disk that there is. Each writer makes *bids*; later ones have
higher numbers. A bid is made known (`claim`); then the value of the highest bid that has written one is written once
more under this bid, or the writer's own if there is none; and if no higher bid is known after that, that value is what
the name has, for ever. For whoever bids higher later finds it, and takes it over. A writer that dies keeps nobody
waiting; writers that bid against each other all the time keep each other waiting, so they pause for random times.

What it needs of the place: a file is there as a whole or not at all, and once written it is found by all who read or
list later. Amazon S3, Google Cloud Storage, Azure's stores and HDFS are so; caches in front of them need not be.
"""

from __future__ import annotations

import random
import time
import zlib
from secrets import token_hex

from ivm.storage.storage import Shared

_TOKEN = 16
_TRIES = 100
_PAUSE = 0.05


def put_by_agreement(folder: Shared, name: str, data: bytes) -> bool:
    """See `Shared.put_new`, of which only the other calls of `folder` are used. OSError if others bid all the time.

    Cost, where nobody else bids: three files are written, and three lists and a file looked at.
    """
    bids = bids_under(name)
    own = token_hex(8).encode() + data  # so that of two who put the same bytes one is told so
    for again in range(_TRIES):
        if _is_there(folder, name):
            return False
        if again:
            time.sleep(random.uniform(0, _PAUSE))
        known = folder.names(bids)
        bid = f"{1 + max(map(_number, known), default=0):09}-{token_hex(8)}"
        folder.put(f"{bids}/{bid}.claim", [])
        value = _last_value(folder, folder.names(bids)) or own
        folder.put(f"{bids}/{bid}.value", [b"%08x" % zlib.crc32(value), value])
        if _highest(folder.names(bids)) != bid:
            continue
        folder.put(name, [value[_TOKEN:]])  # whoever else does so puts the same
        return value == own
    raise OSError(f"{folder.where(name)}: others have tried to write it all the time")


def bids_under(name: str) -> str:
    """Where the bids for a name are. They can be removed when nobody puts it any more, or is believed who does."""
    return f"{name}.bids"


def _is_there(folder: Shared, name: str) -> bool:
    try:
        folder.read(name)
    except FileNotFoundError:
        return False
    return True


def _number(name: str) -> int:
    return int(_bid(name)[:9])


def _bid(name: str) -> str:
    return name.rpartition("/")[2].partition(".")[0]


def _highest(known: list[str]) -> str:
    return max(map(_bid, known))


def _last_value(folder: Shared, known: list[str]) -> bytes | None:
    """The value of the highest bid that has written one."""
    for name in sorted((each for each in known if each.endswith(".value")), reverse=True):
        found = folder.read(name).to_pybytes()
        if len(found) >= 8 and b"%08x" % zlib.crc32(found[8:]) == found[:8]:
            return found[8:]
        # Otherwise it was cut short while it was written, and its writer has not gone on from there.
    return None
