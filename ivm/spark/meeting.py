"""Whether driver and workers have the same folder: each writes a file that the other has to find.

What is on the driver's disk alone would do for a while, as copies of shards live in memory: until one is to be loaded.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from ivm.catalog.errors import ClusterError, StorageError
from ivm.cluster.files.files import Files, fresh
from ivm.spark.failure import as_one_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SAID = "shard int, host string, wrong string"
"""The columns of what workers answer: what is wrong, or nothing."""
_SAID = pa.schema([("shard", pa.int32()), ("host", pa.string()), ("wrong", pa.string())])


@as_one_error("cannot see whether the executors have the folder")
def meet(files: Files, ask: Callable[[str], DataFrame]) -> None:
    """Have each worker find a file of the driver's, and the driver one of each shard's.

    `ask`: what the workers answer, by `answer_of`, when they are told where. StorageError: the driver cannot write.
    ClusterError: the first machine that has another folder, or cannot write there. Cost: a job, and a file or two for
    each shard.
    """
    name = f"tried/{fresh()}"
    try:
        files.write(f"{name}/driver", b"")
        answers = sorted(ask(name).collect())
        there = files.names(name)
    finally:
        files.remove_under([name])
    for shard, host, wrong in answers:
        if wrong or f"{name}/{shard}" not in there:
            what = wrong or f"the driver does not see what {host} writes there"
            raise ClusterError(
                f"cannot use {files.where()} as a cluster's folder: {what}; give a directory that all machines share "
                "and may write, such as one of a network's file system, or a URI such as s3a://bucket/shop"
            )


def answer_of(files: Files, name: str, shard: int) -> Iterator[pa.RecordBatch]:
    """What a worker says of a folder in which the driver has written a file under this name: a row of `SAID`."""
    host, wrong = socket.gethostname(), None
    try:
        if f"{name}/driver" not in files.names(name):
            wrong = f"an executor on {host} does not see what the driver writes there"
        else:
            files.write(f"{name}/{shard}", b"")
    except StorageError as error:
        wrong = f"an executor on {host} {str(error).partition(';')[0]}"
    yield pa.RecordBatch.from_pydict({"shard": [shard], "host": [host], "wrong": [wrong]}, _SAID)
