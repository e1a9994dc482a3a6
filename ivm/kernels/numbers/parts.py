"""The functions of the calendar and of `elementwise` as parts of generated loops, which import them from here."""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

from catalog import calendar
from ivm.kernels.compiling.part import part
from ivm.kernels.numbers import elementwise


def _define(module: ModuleType) -> None:
    """Define the module's functions here, so that those that they call are the parts of these names."""
    globals().update({name: value for name, value in vars(module).items() if name.isupper() or name == "np"})
    for name, value in vars(module).items():
        if isinstance(value, FunctionType) and value.__module__ == module.__name__:
            globals()[name] = part()(FunctionType(value.__code__, globals(), name))


@part()
def where(condition: bool, a: Any, b: Any) -> Any:
    """The one or the other."""
    return a if condition else b


_define(calendar)
_define(elementwise)
