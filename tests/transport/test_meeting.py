"""Driver and workers that do not share a folder are told before anything is committed; none of this starts Spark."""

from __future__ import annotations

import os
import random

import pytest

from ivm.catalog.errors import ClusterError, StorageError
from ivm.cluster.files.files import Files
from ivm.cluster.files.folders import address_of
from ivm.spark.meeting import answer_of, meet
from tests.cluster.faulty import Faulty, Rates
from tests.cluster.memory import MemoryFolder


class Answers(list[tuple[int, str, str | None]]):
    """As a DataFrame has them."""

    def collect(self) -> Answers:
        return self


def asked(*workers):
    def ask(name):
        return Answers(
            tuple(row.values())
            for shard, files in enumerate(workers)
            for batch in answer_of(files, name, shard)
            for row in batch.to_pylist()
        )

    return ask


def test_those_who_share_a_folder_leave_nothing_there():
    folder = MemoryFolder()
    meet(Files(folder), asked(*[Files(folder)] * 3))
    assert folder.all() == []


class Silent(MemoryFolder):
    """What is written there is not there."""

    def put(self, name, pieces):
        pass


class Shows(Silent):
    """It shows what another one has."""

    def __init__(self, other):
        super().__init__()
        self._folders = other._folders


@pytest.mark.parametrize(
    ("worker", "says"),
    [
        (lambda folder: MemoryFolder(), "an executor on .* does not see what the driver writes there"),
        (Shows, "the driver does not see what .* writes there"),
        (
            lambda folder: Faulty(random.Random(0), Rates(refuse=1)),
            "an executor on .* cannot list memory/tried/.*: refused",
        ),
    ],
)
def test_who_has_another_folder_is_named_with_what_to_do(worker, says):
    folder = MemoryFolder()
    with pytest.raises(
        ClusterError,
        match=f"cannot use memory as a cluster's folder: {says}; give a directory that all machines share and may write",
    ):
        meet(Files(folder), asked(Files(folder), Files(worker(folder), ())))
    assert folder.all() == []


def test_a_driver_that_cannot_write_is_told_at_once():
    folder = Faulty(random.Random(0), Rates(refuse=1))
    with pytest.raises(StorageError, match=r"cannot write memory/tried/.*: refused; see to it that it can be reached"):
        meet(Files(folder, ()), asked())


def test_a_directory_is_the_same_for_processes_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert address_of("shop") == address_of(tmp_path / "shop") == os.path.join(os.getcwd(), "shop")
    assert address_of("s3a://b/shop") == "s3a://b/shop"
    for path in ("file:/shared/shop", "dbfs:/shop"):
        with pytest.raises(StorageError, match=r"neither a path nor a whole URI; write (file|dbfs)://"):
            address_of(path)
