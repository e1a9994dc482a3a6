"""Queries that are subscribed to: what those have in common that differ in a value alone is one view."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial

from ivm.arguments import sql_text
from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import BindError, Error, InterfaceError
from ivm.catalog.names import key, quoted
from ivm.catalog.schema import View
from ivm.catalog.types import SqlType
from ivm.engine.backend import ViewRows
from ivm.render.scalars.columns import column_of_literals
from ivm.session.core import Core
from ivm.session.defining import create_view, put
from ivm.session.freeing import dropping
from ivm.session.statements import make_room, renamed
from ivm.session.succession import succession
from ivm.sql.bind.query import bind
from ivm.sql.bind.rows import bind_rows
from ivm.sql.by_value import ByValue, by_value
from ivm.sql.ir.scalar import Literal
from ivm.sql.macros import with_macros
from ivm.sql.named_types import with_types
from ivm.sql.parameters import Parameters, filled
from ivm.sql.parse import parse
from ivm.sql.plain_rows import plain_rows
from ivm.sql.statements import CreateView, Query
from ivm.subscriptions.chosen import Chosen, Place, can_choose, chosen_rows, keys_of, part_of, shown
from ivm.subscriptions.piece import Piece, piece_of
from ivm.subscriptions.subscription import Subscription
from ivm.subscriptions.unnamed import free_name, unnamed
from ivm.trace.columns.arrow import to_arrow
from ivm.trace.text.dictionary import Literals, TextDictionary

_IS_QUERY = re.compile(r"\s*(?:\(|(?:SELECT|WITH|FROM|VALUES|TABLE|PIVOT|UNPIVOT)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Heard:
    """A maintained view that somebody wants to listen to, or the rows of it that have some values."""

    view: str
    chosen: Chosen | None = None
    values: tuple[Literal, ...] = ()

    def width(self, view: View) -> int:
        """How many of the view's columns are told."""
        return len(view.schema) if self.chosen is None else self.chosen.place.width


@contextmanager
def heard(core: Core, of: str, params: Parameters | None, *, lasts: bool = False) -> Iterator[Heard]:
    """What a name or a query means. A view that is made for it stays as long as somebody listens, or has a name, and
    meanwhile; if it `lasts`, also when the database is opened again.

    BindError for a query that is none; what CREATE MATERIALIZED VIEW raises for one that cannot be maintained.
    """
    if core.catalog.find(of) is not None or (params is None and _IS_QUERY.match(of) is None):
        if params is not None:
            filled(sql_text(of), params)  # which says that a name has no parameters
        yield Heard(core.settings.names.given(of))
        return
    make_room()
    text = _read(core, filled(sql_text(of), params))
    cut = by_value(text)
    found = None if cut is None else _of_view(core, cut)
    if found is not None:
        yield found
        return
    if cut is None:
        _check_query(text)
    with _making(core):
        yield (None if cut is None else _of_unnamed(core, cut, lasts)) or Heard(_unnamed(core, text, lasts))


@contextmanager
def unnamed_view(core: Core, text: str) -> Iterator[str]:
    """The name of an unnamed view of a query, in DuckDB's dialect, which is there meanwhile. Raises as `heard` does."""
    with _making(core):
        yield _unnamed(core, text, lasts=core.engine.is_remote)


@contextmanager
def _making(core: Core) -> Iterator[None]:
    """Unnamed views are made, which are there meanwhile, and for as long as somebody listens."""
    with core.definitions:
        core.check_writable()
        core.begin_defining(None)
        try:
            yield
        finally:
            forget_unheard(core)


def present(core: Core, heard: Heard, held: ViewRows, time: int) -> Callable[[], Piece]:
    """What gives the rows that are heard of, at present, as changes at a time, without the lock, which the caller has.

    Cost: that of all rows of the view, where all are heard of, or over shards; else see `chosen_rows`.
    """
    chosen = heard.chosen
    whole = core.engine.whole_view(heard.view)
    if chosen is None or whole is None:
        return partial(_all_or_some, held, chosen, time)
    dictionary, schema = core.engine.dictionary, held.definition.schema
    texts = Literals(dictionary)
    types = [schema[column].type for column in chosen.place.columns]
    wanted = [column_of_literals([value], type_, texts) for value, type_ in zip(heard.values, types, strict=True)]
    log = whole.log
    sealed, strings = log.sealed, dictionary.now()

    def make() -> Piece:
        assert texts.held is not None, "the codes of what is wanted stay until it is found"
        return chosen_rows(log, sealed, schema, strings, wanted, chosen, time)

    return make


def _all_or_some(held: ViewRows, chosen: Chosen | None, time: int) -> Piece:
    rows = held.changes(time)
    found = piece_of(rows, time)
    if chosen is None:
        return found
    return part_of(found, chosen) or piece_of(shown(rows.slice(0, 0), chosen.place.width), time)


def forget_unheard(core: Core) -> None:
    """Drop the unnamed views to which nobody listens, unless somebody creates or drops something just now.

    In a database that is only read they are the writer's, who knows for whom they are.
    """
    if core.read_only:
        return
    with core.lock:
        if not _unheard(core, core.catalog):
            return
    if not core.definitions.acquire(blocking=False):
        return  # whoever subscribes or unsubscribes next does it
    try:
        if not core.engine.is_installing:
            with core.definitions, dropping(core), core.lock:
                _drop_unheard(core)
    finally:
        core.definitions.release()


def unsubscribe(core: Core, subscription: Subscription) -> None:
    """Tell it no more. Whoever listened to a query and went without a word is missed then."""
    core.unsubscribe(subscription)
    with suppress(InterfaceError):
        forget_unheard(core)


def _drop_unheard(core: Core) -> None:
    catalog = core.catalog.fixed()
    gone = dict.fromkeys(catalog.drop_view(name).name for name in _unheard(core, catalog))
    if gone:
        core.carry_out(partial(put, core, catalog, gone, tell=succession(core, catalog, gone)), catalog)


def _unheard(core: Core, catalog: Catalog) -> list[str]:
    """The unnamed views to which nobody listens, and for which nobody has a name to come back by."""
    heard_of = core.engine.listeners
    return [
        each.name for each in unnamed(catalog) if not heard_of.to(each.name) and not heard_of.names.of_view(each.name)
    ]


def _read(core: Core, text: str) -> str:
    """The text of a query as those of views are kept."""
    names = core.settings.names
    return renamed(with_macros(with_types(text, names), names, "duckdb"), names, "duckdb").strip().rstrip("; \n\t")


def _check_query(text: str) -> None:
    statements = parse(text)
    if len(statements) != 1 or not isinstance(statements[0], Query):
        raise BindError("cannot subscribe to this: give the name of a maintained view, or one SELECT")


def _of_view(core: Core, cut: ByValue) -> Heard | None:
    """The rows of a maintained view, where it is asked for all of its columns."""
    view = core.catalog.find(cut.of) if cut.of else None
    if not isinstance(view, View) or not view.maintained:
        return None
    places = {key(field.name): place for place, field in enumerate(view.schema)}
    columns = [places.get(key(name), -1) for name in cut.compared]
    return None if min(columns) < 0 else _chosen(core, core.catalog, view, columns, len(view.schema), cut.values)


def _of_unnamed(core: Core, cut: ByValue, lasts: bool) -> Heard | None:
    """The rows of a view of what many queries have in common."""
    try:
        view, catalog = _known(core, cut.text, lasts), core.catalog.fixed()
        if view is None:
            bound = bind(cut.text, catalog, zone=core.settings.zone)
            view = View(free_name(catalog), bound.text, bound.schema, bound.uses, maintained=True, temporary=not lasts)
            catalog.add_view(view)
        width = len(view.schema) - len(cut.columns)
        found = _chosen(core, catalog, view, range(width, len(view.schema)), width, cut.values)
        return None if found is None else replace(found, view=_unnamed(core, cut.text, lasts))
    except Error:  # the query as a whole may do, or says better what is wrong
        return None


def _known(core: Core, text: str, lasts: bool) -> View | None:
    """The unnamed view of a query, if there is one that lasts as long."""
    same = [each for each in unnamed(core.catalog) if each.sql == text and each.zone == core.settings.zone]
    return next((each for each in same if not (lasts and each.temporary)), None)


def _is_of(value: Literal, type_: SqlType) -> bool:
    return can_choose(type_) and value.value is not None and value.type == type_


def _unnamed(core: Core, text: str, lasts: bool) -> str:
    """The unnamed view of a query, which is made if it is not there; its name."""
    known = _known(core, text, lasts)
    if known is not None:
        return known.name
    name = free_name(core.catalog)
    create_view(core, CreateView(name, text, maintained=True, temporary=not lasts), "duckdb")
    return name


def _chosen(
    core: Core, catalog: Catalog, view: View, columns: Sequence[int], width: int, values: Sequence[str]
) -> Heard | None:
    """The rows on which columns have these values; None where they are not compared with values of their own types."""
    fields = [view.schema[column] for column in columns]
    terms = " AND ".join(f"{quoted(field.name)} = {value}" for field, value in zip(fields, values, strict=True))
    plain = plain_rows(f"SELECT * FROM {quoted(view.name)} WHERE {terms}")
    bound = None if plain is None else bind_rows(plain, catalog, core.settings.zone, core.clock.present())
    known = {} if bound is None else bound.fixed
    literals = [each[1][0] for column in columns if (each := known.get(column)) is not None and len(each[1]) == 1]
    are_told = len(literals) == len(fields) == len(known) and bound is not None and len(bound.predicates) == len(fields)
    if not are_told or not all(_is_of(each, field.type) for each, field in zip(literals, fields, strict=True)):
        return None
    dictionary = TextDictionary()
    texts = Literals(dictionary)
    arrays = [
        to_arrow(column_of_literals([each], field.type, texts), field.type, dictionary.now())
        for each, field in zip(literals, fields, strict=True)
    ]
    named = tuple(field.name for field in fields)
    return Heard(view.name, Chosen(Place(tuple(columns), width), keys_of(arrays)[0], named), tuple(literals))
