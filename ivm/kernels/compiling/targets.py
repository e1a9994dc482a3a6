"""The baselines that kernels are compiled for ahead, each with what a processor must have to run its code."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass

import llvmlite.binding as llvm


@dataclass(frozen=True, slots=True)
class Target:
    """A baseline; `cpu` is LLVM's name for it, `features` what LLVM calls that which it needs."""

    name: str
    cpu: str
    features: frozenset[str]

    def fits(self, host: Mapping[str, bool]) -> bool:
        """Whether a processor with these features runs code for this baseline."""
        return all(host.get(feature, False) for feature in self.features)


_SECOND = frozenset({"cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"})
_THIRD = _SECOND | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}
_X86 = (Target("x86-64-v3", "x86-64-v3", _THIRD), Target("x86-64-v2", "x86-64-v2", _SECOND))
_ARM = (Target("aarch64", "generic", frozenset()),)
_BY_MACHINE = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}


def targets() -> tuple[Target, ...]:
    """The baselines of this kind of machine, the best one first; none where kernels are compiled for the host alone."""
    return _BY_MACHINE.get(platform.machine().lower(), ())


def host_target() -> Target | None:
    """The best baseline that this processor fits; None if there is none."""
    try:
        host = llvm.get_host_cpu_features()
    except RuntimeError:  # LLVM does not know how to ask this kind of machine
        return None
    return next((target for target in targets() if target.fits(host)), None)
