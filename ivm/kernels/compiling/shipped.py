"""Kernels that were compiled when the package was built or set up, for a baseline of the processor."""

from __future__ import annotations

import os
from functools import cache, partial
from typing import Any

from ivm.kernels.compiling.archive import ABOUT, BITCODE, CODE, Archive, key, open_archive, path_for
from ivm.kernels.compiling.linked import linked
from ivm.kernels.compiling.notation import as_text
from ivm.kernels.compiling.sources import FOLDER
from ivm.kernels.compiling.targets import Target, host_target

_OTHERWISE = (
    "NUMBA_CPU_NAME",
    "NUMBA_CPU_FEATURES",
    "NUMBA_ENABLE_AVX",
    "NUMBA_OPT",
    "NUMBA_LOOP_VECTORIZE",
    "NUMBA_SLP_VECTORIZE",
    "NUMBA_BOUNDSCHECK",
    "NUMBA_DEBUGINFO",
    "NUMBA_DISABLE_JIT",
)
"""With one of these set, other machine code is wanted than what was shipped."""


def find(kernel: str, types: Any, target: Any) -> Any:
    """The `CompileResult` of a kernel (`folder.module.function`) for these types; None if none came with the code."""
    shelf = _shelf()
    text = as_text(types) if shelf is not None else None
    if shelf is None or text is None:
        return None
    archive, baseline = shelf
    name = key(kernel, text, baseline)
    about, code = archive.part(name, ABOUT), archive.part(name, CODE)
    return None if about is None or code is None else linked(target, about, code, partial(_bitcode, archive, name))


def _bitcode(archive: Archive, key: str) -> bytes:
    bitcode = archive.part(key, BITCODE)
    if bitcode is None:
        raise OSError("the file of the kernels' machine code is damaged; `make setup` or installing anew mends it")
    return bitcode


@cache
def _shelf() -> tuple[Archive, Target] | None:
    """The archive for this processor, and its baseline; None if there is none, or it is not wanted."""
    if any(name in os.environ for name in _OTHERWISE):
        return None
    baseline = host_target()
    archive = None if baseline is None else open_archive(path_for(baseline), FOLDER)
    return None if archive is None or baseline is None else (archive, baseline)
