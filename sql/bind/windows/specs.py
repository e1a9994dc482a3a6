"""What stands in OVER (...), with the named windows put in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from ivm.catalog.names import key
from ivm.sql.words_kept import DIRECTION


@dataclass(frozen=True, slots=True)
class Spec:
    """PARTITION BY, the terms of ORDER BY, and the frame, as written."""

    partition: tuple[exp.Expr, ...] = ()
    order: tuple[exp.Expr, ...] = ()
    frame: exp.Expr | None = None

    def name(self, named: Callable[[exp.Expr], str]) -> str:
        """OVER's parentheses as DuckDB calls them in the name of a column, expressions called as `named` says."""
        parts = []
        if self.partition:
            parts.append(f"PARTITION BY {', '.join(map(named, self.partition))}")
        if self.order:
            parts.append(f"ORDER BY {', '.join(term_name(node, named) for node in self.order)}")
        frame = _frame_name(self.frame, named) if self.frame is not None else _DEFAULT
        if frame != _DEFAULT:
            parts.append(frame)
        return f"({' '.join(parts)})"


_DEFAULT = "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


def _frame_name(frame: exp.Expr, named: Callable[[exp.Expr], str]) -> str:
    ends = []
    for end in ("start", "end"):
        value, side = frame.args.get(end) or "CURRENT ROW", (frame.args.get(f"{end}_side") or "").upper()
        ends.append(f"{named(value) if isinstance(value, exp.Expr) else value} {side}".strip())
    exclude = frame.args.get("exclude")
    left_out = "" if exclude is None or exclude.name.upper() == "NO OTHERS" else f" EXCLUDE {exclude.name}"
    return f"{str(frame.args.get('kind')).upper()} BETWEEN {ends[0]} AND {ends[1]}{left_out}"


def term_name(node: exp.Expr, named: Callable[[exp.Expr], str]) -> str:
    """A term of ORDER BY, with the words behind it that were written."""
    return " ".join([named(node.this), *node.meta.get(DIRECTION, ())])


def resolved(node: exp.Expr) -> Spec | None:
    """The spec of an OVER or of a WINDOW clause, with those of the windows that it names; None if one is not there."""
    order = node.args.get("order")
    own = Spec(
        tuple(node.args.get("partition_by") or ()), tuple(order.expressions) if order else (), node.args.get("spec")
    )
    name = node.args.get("alias")
    if name is None:
        return own
    select = node.find_ancestor(exp.Select)
    for each in (select.args.get("windows") or ()) if select else ():
        if key(each.this.name) == key(name.name) and each is not node:
            base = resolved(each)
            if base is None:
                return None
            return Spec(base.partition or own.partition, base.order or own.order, own.frame or base.frame)
    return None
