"""The array types that kernels take, for signatures. Items are Any: compiled code has but one integer type, int64."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Ints = npt.NDArray[Any]
Int32s = npt.NDArray[Any]
Hashes = npt.NDArray[Any]
Bools = npt.NDArray[Any]
Floats = npt.NDArray[Any]
