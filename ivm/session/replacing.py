"""A view that takes the place of one that others read: these are planned again, filled beside those there are, and all
are there at one time.
"""

from __future__ import annotations

from collections.abc import Sequence

from ivm.catalog.catalog import Catalog
from ivm.catalog.schema import View
from ivm.engine.rehearsal import rehearse
from ivm.session.core import Core
from ivm.session.freeing import dropping
from ivm.session.redefining import Redefining
from ivm.session.succession import succession
from ivm.sql.bind import BoundQuery


def replace_below(core: Core, catalog: Catalog, definition: View, bound: BoundQuery, gone: Sequence[str] = ()) -> None:
    """Let `catalog`, which has the new view and none of those that read the old one, be what exists, with these too,
    but for those that are `gone`.

    Others commit and read meanwhile, as before. BindError that names the views that cannot read the new one, or would
    have other columns; on any error nothing has changed. Cost: that of filling all of them.
    """
    work = Redefining(core.catalog.fixed(), catalog)
    work.bound[definition.name] = bound
    readers = ((view, view.unnamed or view.sql) for view in work.readers(definition.name))
    what = f"cannot replace view {definition.name!r}"
    work.redefine_each(readers, what, "keep the columns that it has, or drop what reads it first")
    work.plan(core)
    for name, planned in work.planned.items():
        rehearse(core.engine, catalog.view(name), planned, core.lock)
    with dropping(core), core.lock:
        renderer = core.engine.beside({}, set(work.bound)) if work.planned or core.engine.plans_again else None
        views = work.installed(core, renderer, core.pause, core.lock.aside)
        now = {name: installed for name, (installed, _) in views.items()}
        tell = succession(core, catalog, {**dict.fromkeys(gone), **now})

        def carry_out() -> None:
            for name in gone:
                core.engine.put(name, None, None)
            work.put(core, views, renderer)
            tell()

        core.carry_out(carry_out, catalog)
    core.tidy_texts()
