"""With `IVM_CHECK=1` compiled code that reads or writes where it should not says so, and memory is spoilt."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from ivm.kernels.compiling.checking import spoil
from tests.house.modules import ROOT

# A kernel, and a loop that it enters by its address, each of which takes an item of an array of three.
ACCESSES = """
import numpy as np
from numba import int64
from ivm.kernels.compiling.calling import address_of
from ivm.kernels.compiling.checking import BEYOND, spoil
from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.memory import at
from ivm.kernels.step.enter import entered

@part()
def item(words, place):
    return at.ints_at(at.address_of(words), len(words))[np.uint64(place)]

@njit(cache=False)
def kernel(words, place):
    return item(words, place)

@njit(int64(int64[::1]), cache=False, _nrt=False)
def loop(words):
    return words[np.uint64(words[0])]

@njit(cache=False)
def entering(address, words):
    return entered(address, at.address_of(words), np.int64(len(words)))

def said(place):
    try:
        return int(kernel(np.arange(3), place))
    except IndexError:
        return "beyond"

inside, outside = np.array([2, 0, 7]), np.array([3, 0, 7])
print(said(2), said(2), said(3), said(1 << 40))
print(entering(address_of(loop), inside), entering(address_of(loop), outside) == BEYOND)
memory = np.arange(4)
spoil(memory)
print(len(set(memory.tolist())))
"""


def test_what_lies_beyond_an_array_is_neither_read_nor_written(tmp_path: Path) -> None:
    """Of kernels, of parts, and of loops that are entered by their address."""
    environment = {**os.environ, "IVM_CHECK": "1", "IVM_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", ACCESSES], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.split("\n")[:3] == ["2 2 beyond beyond", "7 True", "1"]


def test_memory_is_left_as_it_is_otherwise() -> None:
    """Which costs nothing, as it does unless it is asked for."""
    if os.environ.get("IVM_CHECK", "0") in ("", "0"):
        memory = np.arange(3)
        spoil(memory)
        assert memory.tolist() == [0, 1, 2]
