"""What holds for every test."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext

import pytest
from hypothesis import HealthCheck, settings

from ivm.kernels.compiling.building import read_signatures, write_signatures
from ivm.session.statements import MOST_FRAMES
from tests.kernel_calls import noted_calls
from tests.sweeps import PACES, sweeping

# Never a deadline: the first call of a kernel compiles it. The same examples every time, so that a change which breaks
# a test is the change that broke it; HYPOTHESIS_PROFILE=search looks for new ones.
settings.register_profile(
    "default", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("search", parent=settings.get_profile("default"), derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# As the first statement of a database would raise it; hypothesis does not like that within a test.
sys.setrecursionlimit(MOST_FRAMES)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-kernels", action="store_true", help="add to the list of signatures what is called")
    parser.addoption("--sweeps", choices=tuple(PACES), help="free texts all the time: as fast or as slowly as can be")


def pytest_collection_finish() -> None:
    """What is imported by now stays, and is much: the collector of cycles need not look at it again and again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def sweeps(request: pytest.FixtureRequest) -> Iterator[None]:
    """With `--sweeps` every test is one of freeing texts."""
    wanted = request.config.getoption("--sweeps")
    with nullcontext() if wanted is None else sweeping(wanted):
        yield


@pytest.fixture(scope="session", autouse=True)
def kernel_calls(request: pytest.FixtureRequest) -> Iterator[None]:
    """What kernels are called with, is what they are compiled for ahead."""
    listed = read_signatures()
    with noted_calls({kernel for kernel, _ in listed}) as called:
        yield
    new = sorted(called - set(listed))
    if request.config.getoption("--record-kernels"):
        write_signatures([*listed, *new])
    elif new:
        lines = "".join(f"\n{kernel}({types})" for kernel, types in new)
        pytest.fail(f"kernels are called with what they are not compiled for ahead; `make kernels` lists it:{lines}")
