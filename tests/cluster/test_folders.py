"""Every form of a folder keeps what `ivm.storage.storage.Shared` promises."""

from __future__ import annotations

import errno
import os
import random
import threading

import pytest
from pyarrow import fs

from ivm.catalog.errors import StorageError
from ivm.cluster.files.folders import folder_of
from ivm.storage.arrow_folder import ArrowFolder
from ivm.storage.directory_folder import DirectoryFolder
from ivm.storage.within import Within
from tests.cluster.faulty import Faulty
from tests.cluster.memory import MemoryFolder


def folders(tmp_path):
    yield "memory", MemoryFolder()
    yield "faulty", Faulty(random.Random(0))
    yield "directory", DirectoryFolder(tmp_path / "one" / "two")
    yield "arrow, local", ArrowFolder(fs.LocalFileSystem(), str(tmp_path / "three"))
    yield "arrow, subtree", ArrowFolder(fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), "four/five/")
    yield "arrow, put_new", ArrowFolder(fs.LocalFileSystem(), str(tmp_path / "six"), put_new=exclusively)


def exclusively(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(path, "xb") as file:
            file.write(data)
    except FileExistsError:
        return False
    return True


KINDS = ("memory", "faulty", "directory", "arrow, local", "arrow, subtree", "arrow, put_new")


@pytest.fixture(params=KINDS)
def folder(request, tmp_path):
    return dict(folders(tmp_path))[request.param]


def test_what_is_put_is_there(folder):
    folder.put("a/1/x.y-z", [b"one"])
    folder.put("a/1/x2", [b""])
    folder.put("a/2", [b"two" * 100_000])
    folder.put("b", [b"three"])
    assert folder.names("a/1") == ["a/1/x.y-z", "a/1/x2"]
    assert folder.names("a") == ["a/2"]
    assert folder.names("nowhere") == []
    found = [folder.read(name).to_pybytes() for name in ("a/1/x.y-z", "a/1/x2", "b")]
    assert found == [b"one", b"", b"three"]
    assert folder.read("a/2").to_pybytes() == b"two" * 100_000
    folder.put("b", [b"three"])  # again: the answer was lost
    folder.remove("a/1/x2")
    folder.remove("a/1/x2")
    folder.remove("nowhere/at/all")
    assert folder.names("a/1") == ["a/1/x.y-z"]
    for name in ("a/1/x2", "nowhere/at/all"):
        with pytest.raises(FileNotFoundError):
            folder.read(name)
    assert folder.where("b").endswith("b")


def test_all_under_a_name_goes_and_nothing_is_left_of_it(folder, tmp_path):
    for name in ("d/1", "d/2.bids/x", "d/2.bids/y", "d/2", "d/3/z"):
        folder.put(name, [b"one"])
    for within in (folder, Within(folder, "d")):
        under = "2.bids" if within is not folder else "d/3"
        within.remove_under(under)
        within.remove_under(under)
    assert [*folder.names("d"), *folder.names("d/2.bids"), *folder.names("d/3")] == ["d/1", "d/2"]
    assert not [*tmp_path.rglob("2.bids"), *tmp_path.rglob("d/3")], "or each list of what is beside has it, for ever"


def test_what_is_there_is_not_put_anew(folder):
    assert folder.put_new("c/1", b"one")
    assert not folder.put_new("c/1", b"two")
    assert not folder.put_new("c/1", b"one")
    folder.put("c/2", [b"three"])
    assert not folder.put_new("c/2", b"four")
    assert (folder.read("c/1").to_pybytes(), folder.read("c/2").to_pybytes()) == (b"one", b"three")
    assert folder.names("c") == ["c/1", "c/2"]
    folder.remove("c/1")
    assert folder.names("c") == ["c/2"]


@pytest.mark.parametrize("same", [False, True])
def test_of_many_who_put_one_is_told_so(folder, same):
    told = []
    go = threading.Barrier(6)

    def put(i):
        data = b"same" if same else b"%d" % i
        go.wait()
        told.append((folder.put_new("d/1", data), data))

    threads = [threading.Thread(target=put, args=(i,)) for i in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    winners = [data for is_ours, data in told if is_ours]
    assert len(told) == 6
    # By agreement a writer may have its file written by another, and be told that it was there.
    assert len(winners) == 1 or (not winners and isinstance(folder, ArrowFolder))
    assert folder.read("d/1").to_pybytes() in (winners or [data for _, data in told])


def test_a_directory_made_while_it_is_listed(tmp_path):
    """Arrow raises if the directory is not there when it lists it, and is there when it looks why."""

    class MadeMeanwhile:
        type_name = "local"

        def __init__(self):
            self.real = fs.LocalFileSystem()

        def get_file_info(self, where):
            if not os.path.exists(where.base_dir):
                os.makedirs(where.base_dir)
                raise FileNotFoundError(where.base_dir)
            return self.real.get_file_info(where)

    assert ArrowFolder(MadeMeanwhile(), str(tmp_path / "root")).names("a") == []
    assert (tmp_path / "root" / "a").is_dir()


def test_a_call_that_overwrites_is_not_believed(tmp_path):
    def put_new(path, data):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        return True

    with pytest.raises(StorageError, match="writes over a file that is there"):
        ArrowFolder(fs.LocalFileSystem(), str(tmp_path), put_new=put_new)


def test_a_file_system_without_links_is_refused_by_name(tmp_path, monkeypatch):
    def link(old, new, **more):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(StorageError, match="a file system with hard links"):
        DirectoryFolder(tmp_path).put_new("a/1", b"one")
    assert DirectoryFolder(tmp_path).names("a") == []
    assert os.listdir(tmp_path / "a") == []


@pytest.mark.parametrize("address", ["a\0b", "file://a\0b", "a\ud800b", ""])
def test_what_can_be_no_directory_is_refused(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match=r"cannot use .* as a cluster's folder: its name"):
        folder_of(address).names("a")


def test_where_files_are_there_as_a_whole_they_are_written_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("ivm.storage.arrow_folder._WHOLE", {"local"})
    (tmp_path / "a" / "2.bids").mkdir(parents=True)  # object stores have no directories
    (tmp_path / "a" / "b").mkdir()
    folder = ArrowFolder(fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), "a")
    folder.put("b/1", [b"one"])
    assert folder.put_new("2", b"two")
    assert (folder.read("b/1").to_pybytes(), folder.read("2").to_pybytes(), folder.names("b")) == (
        b"one",
        b"two",
        ["b/1"],
    )
    assert folder.where("2") == "local:a/2"
    with pytest.raises(FileNotFoundError):  # nothing is written aside, which would have made the directory
        folder.put("c/1", [b"three"])


@pytest.mark.parametrize("kind", ["directory", "arrow, local"])
def test_what_could_not_be_written_leaves_nothing_that_is_seen(kind, tmp_path, monkeypatch):
    folder = dict(folders(tmp_path))[kind]
    folder.put("a/1", [b"one"])
    monkeypatch.setattr(os, "fdatasync", no_room)
    if kind == "directory":
        for put, what in ((folder.put, [b"two"]), (folder.put_new, b"two")):
            with pytest.raises(OSError, match="No space"):
                put("a/2", what)
        assert os.listdir(tmp_path / "one" / "two" / "a") == ["1"]
    assert folder.names("a") == ["a/1"]


def no_room(handle):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("address", "uri"),
    [
        ("s3a://bucket/shop", "s3://bucket/shop?allow_delayed_open=true"),
        ("s3n://bucket/shop?region=x", "s3://bucket/shop?region=x&allow_delayed_open=true"),
        ("s3://bucket/shop?allow_delayed_open=false", "s3://bucket/shop?allow_delayed_open=false"),
        ("gs://bucket/shop", "gs://bucket/shop"),
    ],
)
def test_addresses_as_arrow_has_them(address, uri, monkeypatch):
    """A small file goes to S3 by one request: Arrow makes it three, unless it is told to wait for what there is."""
    told = []

    class FileSystem:
        type_name = "s3"

        @staticmethod
        def from_uri(uri):
            told.append(uri)
            return FileSystem(), "bucket/shop"

    monkeypatch.setattr(fs, "FileSystem", FileSystem)
    assert folder_of(address).where("x") == "s3:bucket/shop/x"
    assert told == [uri]
