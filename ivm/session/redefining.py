"""Views that are planned again, because what they read is another by now: all are there at once, in place of those
that were there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import BindError, Error
from ivm.catalog.names import listed
from ivm.catalog.schema import View
from ivm.engine.backend import NewView
from ivm.engine.installing import Pause
from ivm.plan.renamed import Renaming
from ivm.session.core import Core
from ivm.sql.bind import BoundQuery, bind, with_names
from ivm.trace.turns import Aside, at_once

_NO_TABLES: Mapping[str, Any] = MappingProxyType({})
_NO_SIZES: Mapping[str, float] = MappingProxyType({})
_EXPECTED = 1000.0
"""So many rows has a view that has not been maintained so far."""


@dataclass(slots=True)
class Redefining:
    """What exists, and what of it is to be another.

    `catalog`: what is to exist. `bound`: the queries of views, each after those that it reads. `planned`: how those
    that are maintained are filled anew, if they are. `renaming`: what is called otherwise, and stays as it is.
    """

    old: Catalog
    catalog: Catalog
    bound: dict[str, BoundQuery] = field(default_factory=dict)
    planned: dict[str, Any] = field(default_factory=dict)
    renaming: Renaming | None = None

    @classmethod
    def of(cls, core: Core) -> Redefining:
        """Nothing is another yet."""
        return cls(core.catalog.fixed(), core.catalog.fixed())

    def rename(self, core: Core, old: str, new: str) -> Any:
        """Let what is called `old` stay as it is under its `new` name; what renders then, if anything does."""
        if old == new:
            return None
        renaming = Renaming({old: new})
        renderer = core.engine.renamed(renaming)
        self.renaming = None if renderer is None else renaming
        return renderer

    def readers(self, name: str, gone: Collection[str] = ()) -> Sequence[View]:
        """The views that read what is called so, also through others, each after those that it reads; none of those
        that are `gone`.
        """
        return [view for view in reversed(self.old.dependents(name)) if view.name not in gone]

    def redefine(self, view: View, text: str, *, renames: bool = False) -> None:
        """Let a view have this text from now on. Its columns stay what they were: called so, if it `renames` them.

        BindError if the text cannot be read, or its columns would be others.
        """
        bound, names = bind(text, self.catalog, zone=view.zone), [each.name for each in view.schema]
        unnamed = text if view.unnamed or (renames and [each.name for each in bound.schema] != names) else ""
        if unnamed:
            bound = with_names(bound, view.name, names)
        if [(each.name, each.type) for each in bound.schema] != [(each.name, each.type) for each in view.schema]:
            raise BindError(f"its columns would be {_columns(bound)}")
        self.bound[view.name] = bound
        redefined = replace(view, sql=bound.text, schema=bound.schema, uses=bound.uses, unnamed=unnamed)
        self.have(replace(redefined, order=bound.order, hidden=bound.hidden))

    def redefine_each(
        self, texts: Iterable[tuple[View, str]], what: str, remedy: str, *, renames: bool = False
    ) -> None:
        """Let views have these texts; see `redefine`. BindError that names all that would break, `what` before it."""
        broken = dict[str, Error]()
        for view, text in texts:
            try:
                self.redefine(view, text, renames=renames)
            except Error as error:
                broken[view.name] = error
        if broken:
            why, *_ = broken.values()
            raise BindError(
                f"{what}: it would break {listed('view', [*broken])}, which read{'s' * (len(broken) == 1)} it: {why}; "
                f"{remedy}"
            )

    def have(self, view: View) -> None:
        """Have a view of this definition, in the place of the one of its name, if there is one; else behind all."""
        if self.catalog.find(view.name) is None:
            self.catalog.add_view(view)
            for entry, column, said in self.old.comments:
                if entry.name == view.name:
                    self.catalog.comment(view.name, column, said)
        else:
            self.catalog.alter(view.name, view)

    def plan(self, core: Core, sizes: Mapping[str, float] = _NO_SIZES, only: Collection[str] | None = None) -> None:
        """Have the views that are maintained filled anew, all or `only` these; `sizes`: of what has a name that nothing
        has yet.
        """
        maintained = {name: bound for name, bound in self.bound.items() if self.catalog.view(name).maintained}
        new = dict.fromkeys((name for name in maintained if name not in core.engine.views), _EXPECTED)
        for name, bound in maintained.items():
            if only is None or name in only:
                self.planned[name] = core.engine.planned(bound.relation, {**new, **sizes})

    def installed(
        self, core: Core, renderer: Any, pause: Pause | None = None, aside: Aside = at_once
    ) -> dict[str, NewView]:
        """What the views are to be; those that are planned are installed by `renderer`, see `Engine.beside`.

        Others commit at each `pause`; None: nobody is let in. On any error nothing is left behind.
        """
        puts: dict[str, NewView] = {}
        for name, bound in self.bound.items():
            definition, there = self.catalog.view(name), core.engine.views.get(name)
            if name in self.planned and renderer is not None:
                there = core.engine.installed(definition, self.planned[name], pause or _alone, aside, renderer)
            elif self.renaming is not None and (whole := core.engine.whole_view(name)) is not None:
                there = whole.called(definition, self.renaming)
            elif there is not None:
                there = there.of(definition) if definition.maintained else None
            puts[name] = there, bound.oracle_sql
        return puts

    def put(
        self,
        core: Core,
        views: Mapping[str, NewView],
        renderer: Any,
        tables: Mapping[str, Any] = _NO_TABLES,
    ) -> None:
        """From now on these are what exists, None: there is none. It may be interrupted, and called again."""
        for name, declared in tables.items():
            core.engine.put_table(name, declared)
        core.engine.put_all(views, renderer)
        core.catalog.become(self.catalog)


def _columns(bound: BoundQuery) -> str:
    return f"({', '.join(f'{each.name} {each.type}' for each in bound.schema)})"


def _alone(progress: object) -> None:
    """Nobody is let in."""
