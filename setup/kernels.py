"""Compiles the kernels ahead, without what `import ivm` brings along: none of it may be installed yet.

Usage: `python setup/kernels.py FOLDER_OF_IVM [--all] [--into FOLDER]`. It compiles for the best baseline that this
processor fits, with `--all` for all baselines of this kind of machine; `--into` names another folder than that of the
kernels. It prints a line for each kernel, `x86-64-v3 7/112 emit.emit`, and last on stderr what could not be done.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from types import ModuleType


def main(arguments: list[str]) -> int:
    """Compile what is missing; returns the exit code, 1 if a kernel could not be compiled."""
    package = sys.modules["ivm"] = ModuleType("ivm")  # by name and place only
    package.__path__ = arguments[:1]
    from ivm.kernels.building import build  # noqa: PLC0415  there is no such package before
    from ivm.kernels.sources import FOLDER  # noqa: PLC0415
    from ivm.kernels.targets import host_target, targets  # noqa: PLC0415

    into = Path(arguments[arguments.index("--into") + 1]) if "--into" in arguments else FOLDER
    best = host_target()
    wrong = []
    for target in targets() if "--all" in arguments else [best] if best else []:
        try:
            wrong += build(target, into, partial(print, target.name, flush=True))[1]
        except OSError as error:
            wrong.append(f"{target.name}: {error}")
    for line in wrong:
        print(line.splitlines()[0], file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
