"""How setuptools builds a wheel of this project: with machine code of the kernels in it, for its baselines.

`pyproject.toml` names these commands. A wheel with machine code is for one version of Python and one platform; where
nothing could be compiled it is for all, and kernels are compiled when they are first called. `IVM_BASELINES` names the
baselines, with commas between them, or `none`; by default all of the kind of machine that builds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent.parent
MACHINE = Path("ivm", "kernels", "machine")


class BuildPy(build_py):  # type: ignore[misc]
    """Copies the modules, and compiles the kernels; what a set-up of the checkout compiled is taken over."""

    def run(self) -> None:
        """See above. A kernel that cannot be compiled is warned of."""
        super().run()
        baselines = os.environ.get("IVM_BASELINES", "all")
        if self.editable_mode or baselines == "none":
            return
        built = Path(self.build_lib)
        if (ROOT / MACHINE).is_dir():
            shutil.copytree(ROOT / MACHINE, built / MACHINE, dirs_exist_ok=True)
        self.announce("compiling kernels", level=2)
        program = [sys.executable, str(ROOT / "setup" / "kernels.py"), str(ROOT / "ivm")]
        asked = ["--baselines", baselines, "--into", str(built / MACHINE.parent)]
        done = subprocess.run([*program, *asked], stderr=subprocess.PIPE, text=True, check=False)
        for line in done.stderr.splitlines() if done.returncode else ():
            self.warn(f"a kernel is not compiled ahead, but when it is first called: {line}")


class BdistWheel(bdist_wheel):  # type: ignore[misc]
    """A wheel that is for one platform if there is machine code in it."""

    skip_build: bool

    def run(self) -> None:
        """Build first, to see what there is."""
        if not self.skip_build:
            self.run_command("build")
        self.skip_build = True
        built = Path(self.get_finalized_command("build_py").build_lib)
        self.root_is_pure = not any((built / MACHINE).glob("*.kernels"))
        # What setuptools asks to tell which of Python's two folders the packages go to.
        self.distribution.has_ext_modules = lambda: not self.root_is_pure
        super().run()

    def get_tag(self) -> tuple[str, str, str]:
        """The version of Python and the platform; no binary interface of C extensions, since there are none."""
        python, _, platform = super().get_tag()
        return python, "none", platform
