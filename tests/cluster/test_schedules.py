"""Schedules over a toy of shards: see `tests.cluster.schedule`."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from pyarrow import fs

from ivm.storage.arrow_folder import ArrowFolder
from ivm.storage.directory_folder import DirectoryFolder
from tests.cluster.faulty import CALM
from tests.cluster.schedule import ALL, Dangers, Schedule
from tests.cluster.toy import Toy

SHAPES = [(shards, levels) for shards in (1, 2, 3, 7) for levels in (1, 2, 3, 4)]
KINDS = {
    "nothing": Dangers(),
    "all": ALL,
    "processes": replace(ALL, rates=CALM),
    "folder": Dangers(ALL.rates, ruin=0.5),
    "drivers": Dangers(replace(ALL.rates, garble=0), drivers=0.1, move=0.3),
    "agreement": replace(ALL, rates=replace(ALL.rates, hide=0), drivers=0.05, agreement=True),
}
SEEDS = dict.fromkeys(KINDS, 2) | {"all": 4}


def run(seeds, kinds=KINDS):
    counts: Counter[str] = Counter()
    for kind in kinds:
        for shards, levels in SHAPES:
            for seed in seeds:
                case = f"{kind}, {shards} shards, {levels} levels, seed {seed}"
                try:
                    counts += Schedule(Toy(shards, levels), seed, KINDS[kind]).run()
                except BaseException as error:
                    error.add_note(case)
                    raise
    return counts


@pytest.mark.parametrize("kind", KINDS)
def test_every_batch_counts_once(kind):
    counts = run(range(SEEDS[kind]), [kind])
    assert counts["published"] >= 0.8 * len(SHAPES) * SEEDS[kind] * 8
    if kind == "all":
        assert not [
            each
            for each in (
                *("refused", "superseded", "killed", "interrupted", "task fails", "clean", "ruined", "by file"),
                *("driver dies", "driver dies in a call", "driver stops by an error"),
                *("refuse", "deny", "late", "hide", "garble"),
            )
            if counts[each] < 2
        ], counts


@pytest.mark.parametrize("kind", ["directory", "arrow"])
def test_the_same_where_files_are(kind, tmp_path):
    for seed in range(3):
        path = tmp_path / str(seed)
        inner = DirectoryFolder(path) if kind == "directory" else ArrowFolder(fs.LocalFileSystem(), str(path))
        Schedule(Toy(3, 2), seed, ALL, inner=inner).run()


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_every_batch_counts_once_in_thousands_of_schedules(part):
    run(range(6 * part, 6 * part + 6))
