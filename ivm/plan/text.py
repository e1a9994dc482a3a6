"""One deterministic text form of plans, without ids or addresses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ivm.analysis.fact import fact
from ivm.plan.mfp import Mfp
from ivm.plan.nodes import (
    AggregatePlan,
    ArrangementPlan,
    ConstantPlan,
    JoinPlan,
    MfpPlan,
    Path,
    Plan,
    ReducePlan,
    TablePlan,
    TopKPlan,
    ViewPlan,
    WindowFunctionPlan,
    WindowPlan,
    inputs_of,
)
from ivm.plan.window import REACHES
from sql.ir.relation import UNFRAMED
from sql.ir.scalar import Column, Scalar
from sql.ir.text import frame_text, scalar_text
from sql.ir.tree_text import TreeText

Names = tuple[str, ...]


@dataclass
class _Writer:
    """Collects the lines of one node; `tables` gives the column names of tables and views."""

    tables: Callable[[str], Names]
    lines: list[str] = field(default_factory=list)

    def put(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)


def plan_text(plan: Plan, tables: Callable[[str], Names]) -> str:
    """The plan, a node on each line, inputs indented below; what stands in several places is written once."""

    def lines(node: Plan) -> list[str]:
        writer = _Writer(tables)
        _write(writer, node)
        return writer.lines

    return TreeText(plan, inputs_of, lines).text()


def arrangement_text(arrangement: ArrangementPlan, tables: Callable[[str], Names]) -> str:
    """`orders(o_custkey)` for an index, the kind of node and its key for a derived arrangement; then the order."""
    names = names_of(arrangement.collection, tables)
    parts = [", ".join(names[c] for c in arrangement.key)] if arrangement.key else []
    if arrangement.value is not None:
        parts.append(f"ordered by {_named(arrangement.value, names)}")
    return f"{collection_text(arrangement.collection)}({' '.join(parts)})"


def _named(scalar: Scalar, names: Names) -> str:
    return names[scalar.index] if isinstance(scalar, Column) else scalar_text(scalar, names)


def collection_text(plan: Plan) -> str:
    """A short name of what is arranged."""
    if isinstance(plan, TablePlan | ViewPlan):
        return plan.name
    if isinstance(plan, MfpPlan) and plan.mfp.predicates and isinstance(plan.input, ReducePlan):
        return f"filtered {collection_text(plan.input)}"
    kind = type(plan).__name__.removesuffix("Plan").lower()
    below = ", ".join(_tables_below(plan))
    return f"{kind} of {below}" if below else kind


@fact
def _tables_below(plan: Plan) -> tuple[str, ...]:
    if isinstance(plan, TablePlan | ViewPlan):
        return (plan.name,)
    return tuple(dict.fromkeys(name for each in inputs_of(plan) for name in _tables_below(each)))


def names_of(plan: Plan, tables: Callable[[str], Names]) -> Names:
    """Readable names of a plan's columns: the table's where they are passed on, else their position."""
    known: Names | None = plan.__dict__.get("_names")
    if known is None:
        known = plan.__dict__["_names"] = _names(plan, tables)
    return known


def _names(plan: Plan, tables: Callable[[str], Names]) -> Names:
    match plan:
        case TablePlan() | ViewPlan():
            return tables(plan.name)
        case MfpPlan():
            return _after(plan.mfp, names_of(plan.input, tables))
        case JoinPlan():
            return _after(plan.final, _joined_names(plan, tables))
        case ReducePlan():
            return names_of(plan.input, tables)[: plan.keys] + tuple(
                f"#{plan.keys + i}" for i in range(len(plan.aggregates))
            )
        case WindowPlan():
            known = names_of(plan.input, tables)[: plan.width]
            return known + tuple(f"#{plan.width + i}" for i in range(len(plan.functions)))
        case ConstantPlan():
            return tuple(f"#{i}" for i in range(len(plan.row)))
    return names_of(inputs_of(plan)[0], tables)


def _after(mfp: Mfp, names: Names) -> Names:
    return tuple(names[p] if p < mfp.width else f"#{i}" for i, p in enumerate(mfp.projection))


def _joined_names(plan: JoinPlan, tables: Callable[[str], Names]) -> Names:
    return tuple(name for each in plan.inputs for name in names_of(each, tables))


def _write(writer: _Writer, plan: Plan) -> None:
    match plan:
        case TablePlan() | ViewPlan():
            writer.put(0, f"{'table' if isinstance(plan, TablePlan) else 'view'} {plan.name}{_declared(plan)}")
        case ConstantPlan():
            writer.put(0, f"constant rows={len(plan.rows)}")
        case MfpPlan():
            names = names_of(plan.input, writer.tables)
            writer.put(0, "mfp")
            _write_mfp(writer, plan.mfp, names, 2)
        case JoinPlan():
            _write_join(writer, plan)
        case ReducePlan():
            names = names_of(plan.input, writer.tables)
            keys = ", ".join(names[: plan.keys])
            aggregates = ", ".join(_aggregate_text(a, names) for a in plan.aggregates)
            growing = " of rows that only come" if plan.growing else ""
            writer.put(0, f"reduce keys=[{keys}] aggregates=[{aggregates}]{growing}")
        case TopKPlan():
            names = names_of(plan.input, writer.tables)
            order = ", ".join(names[o.column] + (" desc" if o.descending else "") for o in plan.order)
            offset = f" offset={plan.offset}" if plan.offset else ""
            group = f" group=[{', '.join(names[g] for g in plan.group)}]" if plan.group else ""
            ties, growing = " ties" if plan.ties else "", " of rows that only come" if plan.growing else ""
            writer.put(0, f"top-k{group} order=[{order}] limit={plan.limit}{offset}{ties}{growing}")
        case WindowPlan():
            names = names_of(plan.input, writer.tables)
            order = ", ".join(names[o.column] + (" desc" if o.descending else "") for o in plan.order)
            by = f" by=[{', '.join(names[p] for p in plan.partition)}]" if plan.partition else ""
            writer.put(0, f"window{by} order=[{order}]")
            for each in plan.functions:
                writer.put(2, _window_function_text(each, names))
        case _:
            writer.put(0, type(plan).__name__.removesuffix("Plan").lower())


def _declared(plan: TablePlan | ViewPlan) -> str:
    if isinstance(plan, ViewPlan):
        return ""
    return (" static" if plan.static else "") + (" append-only" if plan.append_only else "")


def _aggregate_text(aggregate: AggregatePlan, names: Names) -> str:
    arguments = () if aggregate.argument is None else (aggregate.argument, *aggregate.others)
    parts = [*(names[c] for c in arguments), *(scalar_text(literal) for literal in aggregate.parameters)]
    terms = ", ".join(names[o.column] + (" desc" if o.descending else "") for o in aggregate.order)
    return f"{aggregate.function}({', '.join(parts)}{f' order by {terms}' if terms else ''})"


def _window_function_text(function: WindowFunctionPlan, names: Names) -> str:
    """The function, its frame, and the rows that a change may concern."""
    parts = [] if function.argument is None else [names[function.argument]]
    if function.function in ("lag", "ntile", "nth_value"):
        parts.append(str(function.number))
    nulls = " ignore nulls" if function.skips_nulls else ""
    framed = f" over {frame_text(function.frame).lower()}" if function.function not in UNFRAMED else ""
    return f"{function.function}({', '.join(parts)}){nulls}{framed}: {REACHES[function.reach]}"


def _write_mfp(writer: _Writer, mfp: Mfp, names: Names, depth: int) -> None:
    known = names + tuple(f"#{mfp.width + i}" for i in range(len(mfp.maps)))
    for predicate in mfp.predicates:
        writer.put(depth, f"filter {scalar_text(predicate, known)}")
    for i, scalar in enumerate(mfp.maps):
        writer.put(depth, f"map #{mfp.width + i} = {scalar_text(scalar, known)}")
    writer.put(depth, f"project [{', '.join(known[p] for p in mfp.projection)}]")


def _write_join(writer: _Writer, plan: JoinPlan) -> None:
    names = _joined_names(plan, writer.tables)
    writer.put(0, "delta join")
    for path in plan.paths:
        _write_path(writer, plan, path, names, 1)
    sources = {path.source for path in plan.paths}
    for silent in (each for i, each in enumerate(plan.inputs) if i not in sources):
        writer.put(1, f"no path of {collection_text(silent)}: its changes meet nothing")
    writer.put(1, "output")
    _write_mfp(writer, plan.final, names, 2)


def _write_path(writer: _Writer, plan: JoinPlan, path: Path, names: Names, depth: int) -> None:
    writer.put(depth, f"path of {collection_text(plan.inputs[path.source])}{_where(path.predicates, names)}")
    for stage in path.stages:
        by = ", ".join(names[c] for c in stage.stream)
        kind = "lookup one" if stage.unique else "lookup"
        seen = "" if stage.inclusive else " before"
        text = arrangement_text(stage.arrangement, writer.tables)
        moved = "; a moved bound visits the rows between" if stage.bound is not None else ""
        writer.put(depth + 1, f"{kind} {text} by [{by}]{seen}{_where(stage.predicates, names)}{moved}")


def _where(predicates: tuple[Scalar, ...], names: Names) -> str:
    return f" where {' and '.join(scalar_text(p, names) for p in predicates)}" if predicates else ""
