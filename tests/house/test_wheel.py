"""The wheel works outside of a checkout: the README's first example and the command line run from it alone."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ivm.kernels.compiling.targets import host_target
from tests.docs.examples import blocks, promised
from tests.house.modules import ROOT

MACHINE = ROOT / "ivm" / "kernels" / "machine"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
"""What the wheel is tried on, as far as this machine has it."""


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, so that nothing of an earlier build gets in and nothing is left behind."""
    place = tmp_path_factory.mktemp("source")
    tracked = run("git", "ls-files", "-z", "-co", "--exclude-standard", cwd=ROOT).split("\0")
    for name in filter(None, tracked):
        if (ROOT / name).is_file() or (ROOT / name).is_symlink():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name, follow_symlinks=False)
    # With the machine code that the set-up made, if it did: to compile takes a minute or two.
    if MACHINE.is_dir():
        shutil.copytree(MACHINE, place / "ivm" / "kernels" / "machine")
    return place


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For this version of Python."""
    place = tmp_path_factory.mktemp("wheel")
    baselines = ",".join(path.stem for path in MACHINE.glob("*.kernels")) or "none"
    run(
        "env", f"IVM_BASELINES={baselines}",
        sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation", "-w", str(place),
        cwd=source,
    )  # fmt: skip
    (made,) = place.glob("*.whl")
    return made


def test_it_holds_what_runs_and_no_more(wheel: Path) -> None:
    assert wheel.name.startswith("ivm_engine-")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"ivm"}
    assert "ivm/py.typed" in names
    assert {"ivm/tpch/schema.sql", "ivm/sql/ir/relation.py", "ivm/benchmarks/anchors.json"}.issubset(names)
    compiled = {f"ivm/kernels/machine/{path.name}" for path in MACHINE.glob("*.kernels")}
    assert {name for name in names if name.startswith("ivm/kernels/machine/")} == compiled
    tag = f"cp3{sys.version_info.minor}-none-linux" if compiled else "py3-none-any"
    assert f"-{tag}" in wheel.name


def test_the_first_example_runs_from_it(wheel: Path, tmp_path: Path) -> None:
    """With the packages of this environment, but without the checkout."""
    installed = tmp_path / "installed"
    run(sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(installed), str(wheel), cwd=tmp_path)
    first = blocks(ROOT / "README.md")[0]
    start = f"import sys; sys.path.insert(0, {str(installed)!r})\n"
    where = f"assert ivm.__file__.startswith({str(installed)!r}), ivm.__file__\n"
    printed = run(sys.executable, "-I", "-W", "error", "-c", start + first + where, cwd=tmp_path)
    assert printed.splitlines() == promised(first)


def test_type_checkers_find_an_editable_installation(source: Path, tmp_path: Path) -> None:
    """It is a path, not a finder, which they cannot follow; what they find there says that it is typed."""
    program = "from setuptools.build_meta import build_editable; import sys; build_editable(sys.argv[1])"
    run(sys.executable, "-c", program, str(tmp_path), cwd=source)
    (made,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(made) as archive:
        (name,) = (name for name in archive.namelist() if ".dist-info/" not in name)
        assert name.endswith(".pth")
        assert archive.read(name).decode().split() == [str(source.resolve())]
    assert (source / "ivm" / "py.typed").is_file()


@pytest.mark.slow
def test_mypy_knows_the_types_of_an_editable_installation(source: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "there"), cwd=tmp_path)
    (site,) = (tmp_path / "there" / "lib").glob("python*/site-packages")
    (site / "editable.pth").write_text(f"{source.resolve()}\n")
    (tmp_path / "user.py").write_text("import ivm\nreveal_type(ivm.connect().tables)\n")
    python = str(tmp_path / "there" / "bin" / "python")
    told = run(sys.executable, "-m", "mypy", "--python-executable", python, "user.py", cwd=tmp_path)
    assert "list[ivm.session.introspection.TableInfo]" in told


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_it_runs_in_an_empty_environment(source: Path, tmp_path: Path, version: str) -> None:
    """Built and installed by pip, with what pip installs for it, on each version of Python that is there."""
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"there is no python{version} here")
    run(python, "-m", "venv", str(tmp_path / "empty"), cwd=tmp_path)
    there = tmp_path / "empty" / "bin"
    one = [target.name for target in (host_target(),) if target]  # all baselines would take twice the time
    run(
        "env",
        f"IVM_BASELINES={','.join(one) or 'none'}",
        str(there / "pip"),
        "install",
        "-q",
        str(source),
        cwd=tmp_path,
    )
    if one:
        assert list((tmp_path / "empty").rglob(f"ivm/kernels/machine/{one[0]}.kernels"))
    readme = "\n".join(blocks(ROOT / "README.md"))
    assert run(str(there / "python"), "-c", readme, cwd=tmp_path).splitlines() == promised(readme)
    assert re.match(r"ivm \d", run(str(there / "ivm"), "--version", cwd=tmp_path))
    piped = subprocess.run(
        [str(there / "ivm"), "shell"], cwd=tmp_path, input="SELECT 41 + 1 AS answer;\n", capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert piped.returncode == 0, piped.stderr
    assert "42" in piped.stdout
