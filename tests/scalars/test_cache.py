"""The cache of compiled code runs what it wrote itself, whole, into a folder of this user; all else is made anew."""

from __future__ import annotations

import os
import pickle
import stat
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ivm.kernels.compiling import compiled, folder
from ivm.kernels.compiling.calling import dispatcher_of
from ivm.kernels.compiling.folder import SEAL, cache_directory, private_folder
from ivm.render.scalars.cache import load

TEXT = """
from numba import int64
from ivm.kernels.compiling.compiled import njit

SIGNATURE = int64(int64)

@njit(cache=True, nogil=True, fastmath=False)
def loop(n):
    return n + {}
"""
pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have owners")


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("IVM_CACHE_DIR", str(tmp_path / "cache"))
    folder._private.cache_clear()
    yield tmp_path / "cache"
    folder._private.cache_clear()


def is_found(number: int = 1) -> bool:
    """Load a loop, see that it is right, and say whether it was found rather than compiled."""
    folder._private.cache_clear()  # as in another process
    kernel: Any = load(TEXT.format(number))
    assert kernel(40) == 40 + number
    return bool(sum(dispatcher_of(kernel).stats.cache_hits.values()))


def entries(base: Path) -> list[Path]:
    return sorted((base / "compiled").glob(f"*{compiled.SUFFIX}"))


class Bomb:
    """Unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def test_what_was_compiled_is_kept_for_this_user_alone(base: Path) -> None:
    assert not is_found()
    assert is_found()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (base, base / "compiled")] == [0o700, 0o700]
    assert {stat.S_IMODE(path.stat().st_mode) for path in (base / "compiled").iterdir()} == {0o600}
    assert len(entries(base)) == 1
    assert is_found(1)
    assert not is_found(2)


def test_a_damaged_or_planted_entry_is_replaced_and_never_run(base: Path, tmp_path: Path) -> None:
    is_found(1)
    (entry,) = entries(base)
    whole = entry.read_bytes()
    is_found(2)
    (other,) = [path for path in entries(base) if path != entry]
    mark = tmp_path / "run"
    bomb = pickle.dumps(Bomb(mark))
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    stranger = folder.Folder(entry.parent, b"x" * SEAL)
    planted = [b"", b"no", whole[: SEAL - 1], whole[:SEAL], whole[:-1], whole[: len(whole) // 2], whole + b"\0"]
    planted += [bytes(flipped), bytes(len(whole)), bomb, whole[:SEAL] + bomb, other.read_bytes()]
    planted += [stranger._seal(entry.name, bomb) + bomb]
    for content in planted:
        entry.write_bytes(content)
        assert not is_found(1), content[:80]
        assert is_found(1), content[:80]
    assert not mark.exists()
    assert not list(base.rglob("*.tmp"))


def test_an_entry_that_another_may_have_made_is_replaced(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_found()
    (entry,) = entries(base)
    entry.chmod(0o666)
    assert not is_found()
    assert is_found()
    kept = tmp_path / "kept"
    entry.rename(kept)
    entry.symlink_to(kept)
    assert not is_found()
    assert is_found()
    assert not entry.is_symlink()
    entry.unlink()
    os.mkfifo(entry)
    assert not is_found()
    assert is_found()
    own = private_folder()
    assert own is not None
    assert own.read(entry.name) is not None
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert own.read(entry.name) is None


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * SEAL, b"x" * (SEAL + 1)])
def test_without_its_key_the_folder_begins_anew(base: Path, damage: bytes) -> None:
    is_found()
    key = base / "compiled" / "key"
    key.write_bytes(damage)
    assert not is_found()
    assert is_found()
    assert len(key.read_bytes()) == SEAL


def make_open(base: Path) -> None:
    base.chmod(0o777)


def make_open_for_a_group(base: Path) -> None:
    (base / "compiled").chmod(0o770)


def make_readable(base: Path) -> None:
    (base / "compiled").chmod(0o755)


def make_link(base: Path) -> None:
    (base / "compiled").rename(base / "elsewhere")
    (base / "compiled").symlink_to(base / "elsewhere")


def make_link_to_all(base: Path) -> None:
    base.rename(base.with_name("elsewhere"))
    base.symlink_to(base.with_name("elsewhere"))


def make_file(base: Path) -> None:
    base.rename(base.with_name("elsewhere"))
    base.mkdir()
    (base / "compiled").touch()


@pytest.mark.parametrize(
    "spoil", [make_open, make_open_for_a_group, make_readable, make_link, make_link_to_all, make_file]
)
def test_a_folder_that_lets_others_in_is_not_used_which_is_said_once(base: Path, spoil: Any) -> None:
    is_found()
    before = {path: path.read_bytes() for path in base.rglob("*.loop")}
    spoil(base)
    with pytest.warns(RuntimeWarning, match=r"compiled code is not kept.*IVM_CACHE_DIR.*chmod 700") as told:
        assert not is_found(1)
    kernel: Any = load(TEXT.format(3))
    assert kernel(1) == 4
    assert len(told) == 1
    assert {path: path.read_bytes() for path in before if path.exists()} == {p: before[p] for p in before if p.exists()}
    assert not list(base.rglob("*.tmp"))


def test_a_folder_of_another_user_is_not_used(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_found()
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert not is_found()


def test_where_nothing_can_be_written_each_process_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("IVM_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not is_found()
        assert not is_found()


def test_an_entry_is_of_one_version(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_found()
    monkeypatch.setattr(compiled, "_version", lambda name: "99" if name == "ivm-engine" else "1")
    compiled._versions.cache_clear()
    assert not is_found()
    compiled._versions.cache_clear()


def test_readers_meet_whole_entries_while_writers_replace_them(base: Path) -> None:
    own = private_folder()
    assert own is not None
    bodies = [bytes([n]) * 100_000 for n in range(4)]
    found = []

    def write(body: bytes) -> None:
        for _ in range(50):
            assert own.write("a", body)
            found.append(own.read("a"))

    threads = [threading.Thread(target=write, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 200
    assert set(found) <= set(bodies)


def kept(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"key"}


def test_what_was_not_used_for_the_longest_time_is_removed(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "MOST_BYTES", 10_000)
    monkeypatch.setenv("IVM_CACHE_DIR", str(base / "small"))
    own = private_folder()
    assert own is not None
    for age, name in enumerate("abcdefgh"):
        assert own.write(name, bytes(1_000))
        os.utime(own.path / name, (1_000_000 + age, 1_000_000 + age))
    assert own.read("a") is not None  # which was used just now
    assert own.write("i", bytes(2_500))
    assert kept(own.path) == {"a", "f", "g", "h", "i"}
    assert own.read("b") is None
    assert all(own.read(name) is not None for name in "afghi")


def test_nothing_is_removed_that_fits_and_nobody_minds_what_is_gone(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_bytes(bytes(100))
    (tmp_path / "key").write_bytes(bytes(1_000))
    folder.prune(tmp_path, 300)
    assert kept(tmp_path) == {"a", "b", "c"}
    folder.prune(tmp_path, 0)
    assert kept(tmp_path) == set()
    assert (tmp_path / "key").exists()
    folder.prune(tmp_path / "gone", 0)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="they have other variables")
@pytest.mark.parametrize("given", ["", "somewhere"])
def test_a_variable_that_names_no_directory_is_passed_over(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.delenv("IVM_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", given)
    assert cache_directory() == Path.home() / ".cache" / "ivm"
