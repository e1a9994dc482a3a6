"""The directory in which DuckDB may put what does not fit into memory."""

import os
import signal
import subprocess
import sys

from tests.house.modules import ROOT

CODE = "from ivm.spill import spill_directory as made; print(made(), flush=True); "


NO_LOCKS = """
import fcntl
def flock(handle, operation):
    raise OSError(37, "No locks available")
fcntl.flock = flock
"""


def test_without_locks_it_is_there_all_the_same(tmp_path):
    command = [sys.executable, "-c", NO_LOCKS + CODE]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"TMPDIR": str(tmp_path)}, check=True)
    assert os.listdir(tmp_path) == []


def test_it_goes_with_its_process_also_with_one_that_was_killed(tmp_path):
    def begin(then):
        command = [sys.executable, "-c", CODE + then]
        environment = os.environ | {"TMPDIR": str(tmp_path)}
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def left():
        return sorted(os.listdir(tmp_path))

    (tmp_path / "ivm-duckdb-letter").write_text("dear")
    with begin("input()") as killed, begin("input()") as living:
        names = [os.path.basename(each.stdout.readline().decode().strip()) for each in (killed, living)]
        assert left() == sorted([*names, "ivm-duckdb-letter"])
        assert all((tmp_path / name).stat().st_mode & 0o777 == 0o700 for name in names)
        (tmp_path / names[0] / "spilled").write_text("rows")
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        with begin("") as third:
            third.communicate()
        assert left() == sorted([names[1], "ivm-duckdb-letter"])
        living.communicate(b"\n")
    assert left() == ["ivm-duckdb-letter"]
