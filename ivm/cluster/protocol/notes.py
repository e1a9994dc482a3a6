"""Notes: what a task tells the tasks of the next level besides messages, by the same way.

A task of a group tells the one after it which logs there are, and one that fails tells all of them to stop.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ivm.catalog.errors import StorageError
from ivm.cluster.protocol.terms import Group, Status

_MARK = b"ivm note\0"
"""What notes begin with, and no other message does."""


def note_of(status: Status) -> bytes:
    """What a task tells the one after it on how it went."""
    return _MARK + json.dumps(status).encode()


def without_notes(group: Group, level: int, payloads: Sequence[bytes]) -> tuple[Status, list[bytes]]:
    """What a task was told: how its group has fared below its level, and what messages there are, sorted.

    StorageError if the exchange has lost or doubled something.
    """
    found = [_status_of(each) for each in payloads if each.startswith(_MARK)]
    rest = sorted(each for each in payloads if not each.startswith(_MARK))
    own = [each for each in found if each.group == group]
    if len(own) != (level > 1) or any(each.level != level - 1 for each in found):
        raise StorageError(
            f"cannot go through level {level} of group {group.number}: {len(own)} notes of its tasks of the level "
            "below have come in, and not one of each; the exchange has lost or doubled messages: try again"
        )
    below = own[0] if own else Status(group, 0, ())
    failed = min((each for each in found if each.failure is not None), key=lambda each: each.group, default=below)
    return below._replace(failure=failed.failure), rest


def _status_of(payload: bytes) -> Status:
    return Status.of(json.loads(payload[len(_MARK) :]))
