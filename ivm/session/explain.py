"""EXPLAIN: the relation as written, as transformed, its plan and dataflow, the state that it would add or share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from textwrap import indent

from ivm.catalog.catalog import Catalog
from ivm.catalog.names import key, reached
from ivm.catalog.schema import Table
from ivm.dataflow.loop import Iterate
from ivm.engine.engine import Engine
from ivm.engine.sampled import sampled
from ivm.operators.arrange import ArrangeTable
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.estimate import Estimate, rounded, total
from ivm.plan.existing import question
from ivm.plan.iterate import IteratePlan
from ivm.plan.join import JoinPlan, arrangements_of
from ivm.plan.lower import lower
from ivm.plan.mfp import MfpPlan
from ivm.plan.node import Plan, nodes_of
from ivm.plan.table import TablePlan, ViewPlan
from ivm.plan.text import change_lines, costs, flow_lines, plan_text, remarks
from ivm.session.core import Core
from ivm.sql.bind import bind, registered
from ivm.sql.ir.relation import Relation
from ivm.sql.ir.text import relation_text
from ivm.sql.syntax import Syntax
from ivm.transform.pipeline import optimize

MOST_DESCRIBED = 30
"""So many registered views, the nearest, does EXPLAIN say what became of: each is planned by itself for that."""


def explain(
    core: Core, text: str, dialect: str = "duckdb", origin: tuple[int, int] = (1, 1), syntax: Syntax | None = None
) -> str:
    """The EXPLAIN text of a SELECT: deterministic, without ids or addresses.

    `origin` is where it begins in what the user wrote. `syntax`: see `bind`. It is planned without the lock.
    """
    if core.distribution is not None:
        return _distributed(core, core.distribution, text, dialect, origin, syntax)
    with core.lock:
        catalog, existing = core.catalog.fixed(), core.engine.existing().fixed()
    bound = bind(text, catalog, dialect, origin, syntax, core.settings.zone)
    names = partial(_column_names, catalog)
    optimized = optimize(bound.relation)
    plan = lower(optimized, existing)
    part = _part_of(bound.uses, catalog)
    nearest = {name: optimize(registered(catalog, catalog.view(name))) for name in part[-MOST_DESCRIBED:]}
    held = {name: _core(lower(relation, existing)) for name, relation in nearest.items()}
    further = [f"and {len(part) - len(held)} views below these"] if len(part) > len(held) else []
    with core.lock:
        views = [*_registered_lines(core.engine, plan, held), *further]
        sections = (
            ("logical", relation_text(bound.relation)),
            ("optimized", relation_text(optimized)),
            ("plan", plan_text(plan, names)),
            ("dataflow", "\n".join(flow_lines(plan, names, partial(_runs, core.engine)))),
            ("state", "\n".join([*views, *_state_lines(core.engine, plan, names)])),
            ("changes", "\n".join(_change_lines(core.engine, plan))),
        )
    core.certain()
    return _titled(sections)


def _distributed(
    core: Core,
    distribution: Callable[[Relation], str],
    text: str,
    dialect: str,
    origin: tuple[int, int],
    syntax: Syntax | None,
) -> str:
    """Of a database over shards: what each fragment is, and where its rows go; each shard plans them for itself."""
    with core.lock:
        bound = bind(text, core.catalog.fixed(), dialect, origin, syntax, core.settings.zone)
        distributed = distribution(bound.relation)
    sections = (
        ("logical", relation_text(bound.relation)),
        ("optimized", relation_text(optimize(bound.relation))),
        ("distributed", distributed),
    )
    return _titled(sections)


def _titled(sections: Sequence[tuple[str, str]]) -> str:
    return "\n\n".join(f"{title}:\n{indent(section, '  ')}" for title, section in sections)


def _column_names(catalog: Catalog, name: str) -> tuple[str, ...]:
    entry = catalog.lookup(name)
    return tuple(field.name for field in (entry.fields if isinstance(entry, Table) else entry.columns))


def _runs(engine: Engine, plan: Plan | ArrangementPlan) -> bool:
    """Whether the dataflow has the node of a plan already."""
    if isinstance(plan, ViewPlan):
        return True
    if isinstance(plan, TablePlan):
        return plan.name in engine.renderer.sources
    return plan in engine.renderer.rendered


def _state_lines(engine: Engine, plan: Plan, names: Callable[[str], tuple[str, ...]]) -> list[str]:
    added = engine.estimate(plan)
    lines = [f"{each.kind} {each.text(names)}: {_shared(engine, each, added)}" for each in arrangements_of(plan)]
    stateful = dict.fromkeys(node for node in nodes_of(plan) if node.state_kind)
    lines += [f"{each.short_text()}: {_shared(engine, each, added)}{_rounds(engine, each)}" for each in stateful]
    lines.append(f"view contents: {_new(added.get(None))}")
    if (in_all := total(added.values())).bytes:  # of tables without rows nothing is known
        lines.append(f"added in all: {in_all}")
    lines += remarks(plan)
    return lines + ([f"not incremental: {cost}" for cost in costs(plan)] or ["every operator is incremental"])


def _change_lines(engine: Engine, plan: Plan) -> list[str]:
    expected = sampled(engine.sizes(), engine.tables)
    sized = any(expected.rows.get(each.name) for each in nodes_of(plan) if isinstance(each, TablePlan | ViewPlan))
    return change_lines(plan, expected if sized else None) or ["no table that it reads directly"]


def _registered_lines(engine: Engine, plan: Plan, registered: Mapping[str, Plan]) -> list[str]:
    """Of each view that is only registered, by the plan of what it holds, whether it is a collection of the plan, and
    who else has that.

    Equal plans are one node. So it is what the same query alone would be, or else it has gone into what is around it.
    """
    users = engine.users_of_nodes()
    lines: list[str] = []
    for name, core in registered.items():
        node = engine.renderer.rendered.get(core)
        views = ", ".join(users.get(id(node), ())) if node is not None else ""
        if isinstance(core, TablePlan | ViewPlan) or not _contains(plan, core):
            how = "merged into the plan; indexes of its tables are shared"
        else:
            how = f"shared as a collection, with {views}" if views else "a collection, so far of this plan alone"
        lines.append(f"view {name}: {how}")
    return lines


def _core(plan: Plan) -> Plan:
    """What is below the map-filter-projects at the top: these hold nothing, and are part of whatever reads them."""
    while isinstance(plan, MfpPlan):
        plan = plan.input
    return plan


def _contains(plan: Plan, part: Plan) -> bool:
    if isinstance(part, JoinPlan):
        return any(isinstance(each, JoinPlan) and question(each) == question(part) for each in nodes_of(plan))
    return part in nodes_of(plan)


def _rounds(engine: Engine, plan: Plan) -> str:
    """Of a loop how many rounds one time takes at most, so far; of a new one, about how many."""
    if not isinstance(plan, IteratePlan):
        return ""
    node = engine.renderer.rendered.get(plan)
    if node is None:
        return f", about {rounded(plan.rounds(sampled(engine.sizes(), engine.tables)))} rounds"
    assert isinstance(node.operator, Iterate), "it carries out a loop"
    return f", {node.operator.longest} rounds at most so far"


def _new(estimate: Estimate | None) -> str:
    return f"new, {estimate}" if estimate is not None and estimate.bytes else "new"


def _shared(
    engine: Engine, plan: Plan | ArrangementPlan, added: Mapping[Plan | ArrangementPlan | None, Estimate]
) -> str:
    if isinstance(plan, ArrangementPlan) and plan.kind == "groups":
        return "the reduce's own"
    node = engine.renderer.rendered.get(plan)
    if node is None:
        return _new(added.get(plan))
    if isinstance(node.operator, ArrangeTable) and node.operator.primary:
        return "the table's own"
    size = node.operator.size()
    return f"shared, {size.rows + size.entries} rows, {size.bytes} bytes"


def _part_of(names: Sequence[str], catalog: Catalog) -> list[str]:
    """The views among `names`, and those that they read in turn, that are not maintained: texts within a text."""
    texts = {key(view.name): view for view in catalog.views if not view.maintained}
    found = reached(names, lambda name: texts[name].uses if name in texts else ())
    return [view.name for name, view in texts.items() if name in found]
