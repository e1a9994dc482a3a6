"""Compiled kernels do not outlive the sources that they were made from."""

from __future__ import annotations

import os

from ivm.kernels import _digest, _forget_stale


def test_a_change_of_any_file_forgets_all_compiled_kernels(tmp_path) -> None:
    caller, callee = tmp_path / "caller.py", tmp_path / "callee.py"
    for path in (caller, callee):
        path.write_text("one")
    _forget_stale(tmp_path, _digest(tmp_path))
    compiled = tmp_path / "__pycache__" / "caller.f-1.loop"
    compiled.write_bytes(b"code")
    os.utime(callee, ns=(1, 1))
    _forget_stale(tmp_path, _digest(tmp_path))
    assert compiled.exists()
    callee.write_text("two")
    _forget_stale(tmp_path, _digest(tmp_path))
    assert not compiled.exists()
