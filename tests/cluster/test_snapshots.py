"""Snapshots: when they are taken, what is read in place of one that is damaged, and what is removed."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from ivm.catalog.errors import StorageError
from ivm.cluster.files.cleaning import clean
from ivm.cluster.files.snapshots import pieces_under, read_snapshot, snapshots_of, write_snapshot
from ivm.cluster.files.versions import number_of
from tests.cluster.cases import Cluster
from tests.cluster.test_copies import ONE, TWO
from tests.cluster.toy import Known, read_pieces
from tests.cluster.toy import Pieces as Texts


def many(count=20, **more):
    cluster = Cluster(**{"shards": 2, "levels": 2, "every": 4, **more})
    for i in range(count):
        cluster.commit(TWO if i % 3 == 1 else ONE)
    return cluster


def numbers(cluster, under):
    return sorted({number_of(name) for name in cluster.folder.inner.names(under)})


def gets(cluster, process):
    """What a process that has nothing reads."""
    got = []
    read = cluster.folder.inner.read

    def noted(name):
        got.append(name)
        return read(name)

    with patch.object(cluster.folder.inner, "read", noted):
        cluster.compare(process)
    return got


def logs(names, group):
    """The versions of the logs of a group among files."""
    return {number_of(name) for name in names if name.startswith("logs/") and name.split(".")[2] == str(group)}


def test_each_shard_is_saved_in_its_turn():
    cluster = many()
    assert numbers(cluster, "snapshots/0") == [4, 8, 12, 16]
    assert numbers(cluster, "snapshots/1") == [1, 5, 9, 13, 17]
    got = gets(cluster, cluster.process())
    assert logs(got, 0) == {17, 18, 19, 20}
    assert logs(got, 1) == {18, 19, 20}


def write(files, known, version, texts):
    """Write a snapshot of texts, of a shard that knows of others."""
    write_snapshot(files, 0, version, "a", Texts(known, texts))
    return newest(files, version)


def newest(files, version=99):
    return read_snapshot(files, snapshots_of(files, 0, version)[0])


def texts(files, snapshot):
    """What a snapshot has."""
    return read_pieces(files.bytes_of(snapshot.pieces[0]), files.within(pieces_under(0)))[1:]


def test_pieces_that_are_as_before_are_not_written_again():
    cluster = Cluster(shards=1, levels=2)
    files, known = cluster.versions.files, Known()
    given = [["one", "two", "one"], ["two", "three"], ["two", "four", "one"], ["three", "four"]]
    seen: list[set[str]] = [set(), set()]
    for version, (pieces, new) in enumerate(zip(given, (2, 2, 1, 1), strict=True), 1):
        snapshot = write(files, known, version, pieces)
        assert texts(files, snapshot) == pieces
        seen.append({each.file for each in snapshot.pieces[1:]})
        assert not seen[-1] & seen[-2], "one that is damaged is not to take two"
        assert len(seen[-1] - seen[-3]) == new
    assert [number_of(name) for name in snapshots_of(files, 0, 2)] == [2, 1]


def test_a_piece_that_is_lost_is_written_again():
    cluster = Cluster(shards=1, levels=2)
    files, known = cluster.versions.files, Known()
    for version in (1, 2, 3):
        write(files, known, version, ["one", "two"])
        if version == 2:
            first = read_snapshot(files, snapshots_of(files, 0, 1)[0])
            files.remove(first.pieces[1].file)
    assert texts(files, newest(files)) == ["one", "two"]


@pytest.mark.parametrize("what", ["page", "piece"])
def test_a_snapshot_that_cannot_be_read_is_made_up_for_by_the_one_before(what):
    cluster = many()
    files = cluster.versions.files
    newest = snapshots_of(files, 0, 20)[0]
    cluster.folder.ruined |= {newest} if what == "page" else {each.file for each in read_snapshot(files, newest).pieces}
    got = gets(cluster, cluster.process())
    assert logs(got, 0) == set(range(13, 21))
    for name in files.names("snapshots/0"):
        cluster.folder.ruined.add(name)
    cluster.compare()


def test_what_cannot_be_made_up_for_is_named():
    cluster = many()
    log = cluster.last.logs_of(0)[1].file
    cluster.folder.ruined.add(log)
    process = cluster.process()
    with pytest.raises(
        StorageError, match=f"cannot load shard 0 at version 20: cannot read memory/{log}: it is damaged"
    ):
        cluster.contents(process)
    cluster.folder.ruined.clear()
    clean(cluster.versions.files, cluster.last)
    pages = cluster.folder.inner.names("snapshots/0")
    assert len(pages) == 2
    cluster.folder.ruined |= set(pages)
    with pytest.raises(StorageError) as error:
        cluster.contents(process)
    assert all(f"cannot read memory/{name}" in str(error.value) for name in pages)
    assert "the first logs are removed" in str(error.value)


def test_what_nobody_needs_is_removed():
    cluster = many(30, every=4)
    files, last = cluster.versions.files, cluster.last
    files.write(f"commits/{3:020}.bids/1.claim", b"")
    files.write(f"commits/{29:020}.bids/1.claim", b"")
    for _ in range(2):
        assert clean(files, last) == 24
        assert numbers(cluster, "snapshots/0") == [24, 28]
        assert numbers(cluster, "snapshots/1") == [25, 29]
        for group in range(2):
            assert logs(cluster.folder.inner.names("logs"), group) == set(range(25, 31))
        assert numbers(cluster, "commits") == list(range(24, 31))
        assert not files.names(f"commits/{3:020}.bids")
        assert files.names(f"commits/{29:020}.bids")
        pieces = [each.file for name in files.names("snapshots/0") for each in read_snapshot(files, name).pieces]
        assert set(files.names("pieces/0")) == set(pieces)
        cluster.compare()
    cluster.commit(ONE)
    cluster.compare()


def test_the_first_cleaning_may_come_at_any_time():
    cluster = Cluster(shards=2, levels=2, every=3)
    assert clean(cluster.versions.files, cluster.last) == 0
    for _ in range(15):
        cluster.commit(ONE)
        clean(cluster.versions.files, cluster.last)
        cluster.compare(cluster.process())


def test_a_snapshot_whose_files_are_not_all_there_does_not_count_as_kept():
    cluster = many(20)
    files = cluster.versions.files
    newest = read_snapshot(files, snapshots_of(files, 0, 20)[0])
    cluster.folder.inner.remove(next(each.file for each in newest.pieces if number_of(each.file) == newest.version))
    clean(files, cluster.last)
    assert numbers(cluster, "snapshots/0") == [8, 12, 16]
    cluster.compare()


def test_a_snapshot_that_cannot_be_read_now_keeps_its_files():
    cluster = Cluster(shards=1, levels=2)
    files, known = cluster.versions.files, Known()
    for i in range(12):
        cluster.commit(ONE)
        if i % 3 == 0:
            write(files, known, i + 1, ["the same", f"of {i}"])
    pages = snapshots_of(files, 0, 12)
    assert [number_of(name) for name in pages] == [10, 7, 4, 1]
    before = [read_snapshot(files, name) for name in pages]
    assert number_of(before[1].pieces[1].file) == 1, "it is shared with the one that is to go"
    cluster.folder.ruined.add(pages[1])
    assert clean(files, cluster.last) == 4
    assert numbers(cluster, "snapshots/0") == [4, 7, 10]
    cluster.folder.ruined.clear()
    assert [texts(files, each)[0] for each in before[:3]] == ["the same"] * 3
    assert clean(files, cluster.last) == 7
    assert numbers(cluster, "pieces/0") == [1, 4, 7, 10]


def test_nothing_is_used_again_while_the_last_snapshot_cannot_be_read():
    cluster = Cluster(shards=1, levels=2)
    files, known = cluster.versions.files, Known()
    for version in (1, 2, 3):  # the last has that of version 1
        write(files, known, version, ["one"])
    last = newest(files, 2)
    cluster.folder.ruined.add(newest(files).name)
    pieces = write(files, known, 4, ["one"]).pieces
    assert pieces != last.pieces
    assert number_of(pieces[1].file) == 4


def test_nothing_is_used_again_of_what_another_process_has_gone_on_from():
    cluster = Cluster(shards=1, levels=2)
    files, known, other = cluster.versions.files, Known(), Known()
    for version in (1, 2):
        write(files, known, version, ["one"])
    for version in (3, 4, 5):  # the last has that of version 3
        write(files, other, version, ["one"])
    files.remove_all([piece.file for each in (1, 2) for piece in newest(files, each).pieces])
    snapshot = write(files, known, 6, ["one"])
    assert texts(files, snapshot) == ["one"]
    assert number_of(snapshot.pieces[1].file) == 6


def test_cleaning_while_a_snapshot_is_written_leaves_it_its_files():
    cluster = many(12, shards=1)
    files = cluster.versions.files

    class Cleaned(list[str]):
        def __iter__(self):
            for each in list.__iter__(self):
                yield each
                clean(files, cluster.last)

    saving = Texts(Known(), Cleaned(["one", "two"]))
    write_snapshot(files, 0, 12, cluster.last.id, saving)
    clean(files, cluster.last)
    assert texts(files, newest(files, 12)) == ["one", "two"]


def test_loading_begins_anew_if_what_it_reads_is_removed():
    cluster = many(11, shards=1, every=3)
    names = cluster.folder.names
    old: list[str] = []

    def at_first_old(under):
        found = names(under)
        if under == "snapshots/0" and not old:
            old.append(found[0])
            clean(cluster.versions.files, cluster.last)
            return old
        return found

    with patch.object(cluster.folder, "names", at_first_old):
        cluster.compare(cluster.process())
    assert numbers(cluster, "snapshots/0") == [6, 9]


def test_a_snapshot_that_cannot_be_written_is_made_up_for_by_the_next():
    cluster = Cluster(shards=1, levels=2, every=2)

    def before(call):
        if call == "put" and refusing:
            raise OSError(28, "No space left on device")

    refusing = False
    cluster.folder.before = before
    for _ in range(2):
        cluster.commit(ONE)
    with cluster.one.reading(0, cluster.last.version, cluster.last.id):
        pass
    refusing = True
    order, inputs = cluster.order(ONE, "id 3")
    with pytest.raises(StorageError, match=r"cannot write memory/logs/0+3.001.0"):
        cluster.run(cluster.one, order, 0, 1, inputs[0])
    refusing = False
    for _ in range(3):
        cluster.commit(ONE)
    assert numbers(cluster, "snapshots/0") == [4]
    cluster.compare()
