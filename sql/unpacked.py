"""*COLUMNS(..) among the arguments of a call, which stands for several of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

Build = Callable[..., exp.Expr]
"""What makes a call of its arguments."""


def kept_if_unpacked(name: str, build: Build) -> Build:
    """`build`, but a call with *COLUMNS(..) among its arguments stays as it is: what they are is not known yet."""

    def built(args: Sequence[exp.Expr | None], **more: Any) -> exp.Expr:
        if any(arg is not None and is_unpacked(arg) for arg in args):
            return exp.Anonymous(this=name, expressions=list(args))
        return build(args, **more)

    return built


def unpacked(args: Sequence[exp.Expr]) -> exp.Expr:
    """UNPACK(COLUMNS(..)) is *COLUMNS(..)."""
    if len(args) != 1 or not isinstance(args[0], exp.Columns):
        return exp.Anonymous(this="UNPACK", expressions=list(args))
    args[0].set("unpack", True)
    return args[0]


def is_unpacked(node: exp.Expr) -> bool:
    """Whether this is *COLUMNS(..), which stands for several arguments."""
    return isinstance(node, exp.Columns) and bool(node.args.get("unpack"))
