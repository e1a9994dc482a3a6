"""What views read, as pg_depend and pg_rewrite tell it: in Postgres a view has a rule, which depends on relations."""

from __future__ import annotations

import pyarrow as pa

from ivm.catalog.names import key
from ivm.catalog.schema import View
from ivm.serve.postgres.catalog import numbers
from ivm.serve.postgres.catalog.asked import Asked, table
from ivm.serve.postgres.catalog.seen import Relation, relations


def rewrite(asked: Asked) -> pa.Table:
    """pg_rewrite: the rule of each view."""
    rows = [
        (_rule(each), "_RETURN", each.oid, "1", "O", True, None, None)
        for each in relations(asked.catalog)
        if isinstance(each.entry, View)
    ]
    return table(rows, "i:oid t:rulename i:ev_class t:ev_type t:ev_enabled b:is_instead t:ev_qual t:ev_action")


def depend(asked: Asked) -> pa.Table:
    """pg_depend: the rule of each view depends on what the view reads, and goes with the view."""
    seen = {key(each.entry.name): each for each in relations(asked.catalog)}
    rows = list[tuple[int, int, int, int, int, int, str]]()
    for each in seen.values():
        if isinstance(each.entry, View):
            rows.append((numbers.REWRITE, _rule(each), 0, numbers.CLASS, each.oid, 0, "i"))
            read = (seen[key(name)] for name in each.entry.uses if key(name) in seen)
            rows += [(numbers.REWRITE, _rule(each), 0, numbers.CLASS, of.oid, 0, "n") for of in read]
    return table(rows, "i:classid i:objid i:objsubid i:refclassid i:refobjid i:refobjsubid t:deptype")


def _rule(view: Relation) -> int:
    return numbers.number("rule", view.schema, view.name)
