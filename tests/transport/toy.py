"""A task that counts: each shard has, for each level, a number for each key, in a file for each version."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from ivm.spark.worker import place

_copies: dict[tuple[str, int, int], tuple[int, Counter[int]]] = {}
"""By root, shard and level: the version, and the numbers then. They are of one process."""


def order(root: Path, version: int, shards: int, levels: int, **trouble: Any) -> bytes:
    """`trouble`: what goes wrong at the second level: `sleep` seconds, `error` raised, `die`."""
    return json.dumps({"root": str(root), "version": version, "shards": shards, "levels": levels, **trouble}).encode()


def ingest(
    order: bytes, groups: int, table: str, batches: Iterator[pa.RecordBatch], room: int | None
) -> Iterator[tuple[int, bytes]]:
    """Rows (key, n) go to the group of the key's shard, once for each batch and group."""
    shards = json.loads(order)["shards"]
    for batch in batches:
        found: dict[int, Counter[int]] = {}
        for row in batch.to_pylist():
            found.setdefault(row["key"] % shards % groups, Counter())[row["key"]] += row["n"]
        yield from ((to, _payload(numbers)) for to, numbers in found.items())


def task(
    order: bytes, group: int, groups: int, level: int, payloads: list[bytes]
) -> tuple[list[tuple[int, bytes]], bytes]:
    """Add what came to the numbers of the version before; send key + 1 with the same number to its shard's group."""
    what = json.loads(order)
    if level == min(2, what["levels"]):
        _trouble(what)
    came: Counter[int] = Counter()
    for payload in payloads:
        came.update({int(key): n for key, n in json.loads(payload).items()})
    version, loaded = what["version"], []
    for shard in range(group, what["shards"], groups):
        kept = _copies.get((what["root"], shard, level))
        if kept is None or kept[0] != version - 1:
            loaded.append(shard)
            kept = version - 1, numbers(what["root"], version - 1, shard, level)
        now = kept[1] + Counter({key: n for key, n in came.items() if key % what["shards"] == shard})
        _write(_file(what["root"], version, shard, level), now)
        _copies[what["root"], shard, level] = (version, now)
    sent: dict[int, Counter[int]] = {}
    for key, n in came.items():
        sent.setdefault((key + 1) % what["shards"] % groups, Counter())[key + 1] += n
    status = {"pid": os.getpid(), "executor": place().split("/")[1], "loaded": loaded}
    return [(to, _payload(each)) for to, each in sent.items()], json.dumps(status).encode()


def rows(argument: bytes, shard: int) -> Iterator[pa.RecordBatch]:
    """The numbers of a shard at level 1: of the version, in the root, that the argument has."""
    what = json.loads(argument)
    found = numbers(what["root"], what["version"], shard, 1)
    columns = [[shard] * len(found), list(found), list(found.values())]
    yield pa.RecordBatch.from_arrays([pa.array(each, pa.int64()) for each in columns], ["shard", "key", "n"])


def numbers(root: str | Path, version: int, shard: int, level: int) -> Counter[int]:
    """Those that were stored; none at version 0."""
    if not version:
        return Counter()
    return Counter({int(key): n for key, n in json.loads(_file(root, version, shard, level).read_text()).items()})


def _trouble(what: dict[str, Any]) -> None:
    time.sleep(what.get("sleep", 0))
    if "error" in what:
        raise ValueError(what["error"])
    if "die" in what:
        os._exit(3)


def _payload(numbers: Counter[int]) -> bytes:
    return json.dumps(numbers).encode()


def _file(root: str | Path, version: int, shard: int, level: int) -> Path:
    return Path(root) / f"{version}-{shard}-{level}.json"


def _write(path: Path, numbers: Counter[int]) -> None:
    aside = path.with_suffix(f".{os.getpid()}")
    aside.write_bytes(_payload(numbers))
    aside.rename(path)
