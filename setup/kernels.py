"""Compiles the kernels ahead, without what `import ivm` brings along: none of it may be installed yet.

It prints a line for each kernel, `x86-64-v3 7/112 9% groups.emit.emit`, and last on stderr what could not be done.

Usage: `python setup/kernels.py FOLDER_OF_IVM [--baselines all | NAME,NAME] [--into FOLDER]`
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from types import ModuleType


def main(arguments: list[str]) -> int:
    """Compile what is missing; returns the exit code, 1 if a kernel could not be compiled."""
    parser = argparse.ArgumentParser(description="Compiles ivm's kernels ahead.")
    parser.add_argument("package", help="the folder of the package `ivm`")
    parser.add_argument("--baselines", default="", help="names, or `all`; by default the best that this processor fits")
    parser.add_argument("--into", type=Path, help="where the machine code goes, if not beside the kernels")
    asked = parser.parse_args(arguments)

    package = sys.modules["ivm"] = ModuleType("ivm")  # by name and place only
    package.__path__ = [asked.package]
    from ivm.kernels.compiling.building import build  # noqa: PLC0415  there is no such package before
    from ivm.kernels.compiling.sources import FOLDER  # noqa: PLC0415
    from ivm.kernels.compiling.targets import host_target, targets  # noqa: PLC0415

    names = asked.baselines.split(",") if asked.baselines else [best.name for best in (host_target(),) if best]
    wrong = []
    for target in targets():
        if target.name not in names and names != ["all"]:
            continue
        try:
            wrong += build(target, asked.into or FOLDER, partial(print, target.name, flush=True))[1]
        except OSError as error:
            wrong.append(f"{target.name}: {error}")
    for line in wrong:
        print(line.splitlines()[0], file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
