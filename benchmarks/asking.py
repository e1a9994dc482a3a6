"""What benchmarks are asked for on the command line, and what they say on the terminal while they measure."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console

from ivm.benchmarks.process import measure
from ivm.progress import progress

Data = Annotated[Path | None, typer.Option("--data", help="Where streams are. Default: ./data/sf<SF>.")]
ScaleFactor = Annotated[float, typer.Option("--sf", min=0.001, help="Scale factor.")]
Views = Annotated[str, typer.Option("--views", help="'all' that are delivered, or names such as q1,q3.")]
Threads = Annotated[int, typer.Option("--threads", min=1, help="Threads of the engine.")]
Coalesce = Annotated[bool, typer.Option("--coalesce/--keep-times", help="Make each batch one time.")]

N = TypeVar("N", int, float)

_err = Console(stderr=True)


def say(text: str) -> None:
    """A line about what is being done."""
    _err.print(text, highlight=False, soft_wrap=True)


def shown(module: str, task: Any, what: str = "", unit: str = "steps") -> dict[str, Any]:
    """What `measure` answers, while a bar shows how far it is with `what`, in so many of a `unit`."""
    before = f"{what}: " if what else ""
    with progress(_err, unit) as tell:
        return measure(module, task, lambda step, done, total: tell(f"{before}{step}", done, total))


def chosen(text: str, known: Collection[str], kind: str) -> list[str]:
    """The names that a text lists, or all that are known. BadParameter for one that is no such `kind`."""
    names = list(known) if text == "all" else [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise typer.BadParameter(f"there is no {kind} {name}; there are {', '.join(known)}")
    return names


def numbers(text: str, of: Callable[[str], N], option: str) -> list[N]:
    """The numbers above zero that a text lists. BadParameter if it is something else, or empty."""
    try:
        found = [of(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) <= 0:
        raise typer.BadParameter(f"{text!r} is not a list of positive numbers", param_hint=option)
    return found
