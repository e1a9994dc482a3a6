"""Another process: restores every kind of state from the files of a folder and goes on; prints the names of kinds."""

from __future__ import annotations

import pickle
import sys
from itertools import groupby
from pathlib import Path

import pyarrow as pa

from tests.contract.test_contract import KINDS, Life


def _main(folder: Path) -> None:
    for name, kind in KINDS.items():
        life = Life(kind, 7)
        files = sorted((folder / name).glob("*.arrow"))
        written = [[_read(file) for file in each] for _, each in groupby(files, lambda file: file.name.split("-")[0])]
        life.history, life.time = pickle.loads((folder / name / "history").read_bytes())
        life.restore(written)
        life.go_on(20)
        print(name)


def _read(file: Path) -> pa.RecordBatch:
    return pa.ipc.open_file(pa.memory_map(str(file))).get_batch(0)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
