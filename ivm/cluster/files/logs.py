"""Logs: what came in at a group of shards at a level, in files. What is large has a file of its own from the beginning.

A large payload is written where the logs are, and whoever carries messages is given only its name: so its
bytes are written once and read once, and no exchange copies them, or has to have room for them. The log of the level
names such files, and they go when the log does. Of a task that runs twice each try writes files of its own; those that
no log names do no harm.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor

from ivm.cluster.files.files import Files, fresh
from ivm.cluster.protocol.terms import Message
from ivm.storage.stored import Stored

LOGS = "logs"
LARGE = 1 << 18
"""A payload of so many bytes has a file of its own: less is carried in less time than a file takes to be certain."""
_WRITING = 4
"""So many files are written at once."""
_MARK = b"ivm file\0"
"""What stands for such a payload begins with this, and no payload does."""


def log_name(version: int, level: int, group: int) -> str:
    """A name for what a group is given at a level of a try of a version, which nobody else draws."""
    return f"{LOGS}/{version:020}.{level:03}.{group}.{fresh()}"


def by_file(
    files: Files,
    messages: Sequence[Message],
    version: int,
    level: int,
    large: int = LARGE,
    beside: Executor | None = None,
) -> Sequence[Message]:
    """Messages for a level, of which those that are large have become names of files, which are certain on return.

    They are written by `beside`, or else by threads that end with this.
    """
    if not any(len(each.payload) >= large for each in messages):
        return messages
    if beside is None:
        with writers() as threads:
            return by_file(files, messages, version, level, large, threads)
    return written(begun(files, messages, version, level, large, beside))


def writers() -> Executor:
    """Threads that write files."""
    return ThreadPoolExecutor(_WRITING, "ivm-files")


def begun(
    files: Files, messages: Sequence[Message], version: int, level: int, large: int, beside: Executor
) -> Sequence[Message | Future[Message]]:
    """What `by_file` gives, while files are being written; `written` waits for them."""

    def write(message: Message) -> Message:
        stored = files.write(log_name(version, level, message.to), message.payload)
        return message._replace(payload=_MARK + json.dumps(stored).encode())

    return [beside.submit(write, each) if len(each.payload) >= large else each for each in messages]


def written(said: Iterable[Message | Future[Message]]) -> list[Message]:
    """The messages, whose files are certain on return. StorageError for one that cannot be written."""
    return [each.result() if isinstance(each, Future) else each for each in said]


def in_full(files: Files, payloads: Iterable[bytes]) -> list[bytes]:
    """Payloads, those that were written to files read from there. StorageError for one that cannot be read."""
    return [_read(files, each) if each.startswith(_MARK) else each for each in payloads]


def _read(files: Files, payload: bytes) -> bytes:
    return files.bytes_of(Stored(*json.loads(payload[len(_MARK) :])))
