"""Who wants to be told of a view's changes, from when on and how."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

from ivm.arguments import at_least_one, one_of, period, whole_number
from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import BindError, InterfaceError, TypeMismatchError
from ivm.catalog.schema import View as Definition
from ivm.engine.backend import ViewRows
from ivm.results.view_changes import types_of
from ivm.session.core import Core
from ivm.session.row_keys import key_of
from ivm.session.subscribed_queries import Heard, present, unsubscribe
from ivm.subscriptions.backlog import WHEN_FULL, WhenFull
from ivm.subscriptions.chosen import part_of, shown
from ivm.subscriptions.forms import FORMS, Form, FormName, form_of
from ivm.subscriptions.piece import Piece, piece_of
from ivm.subscriptions.subscription import Subscription
from ivm.subscriptions.unnamed import spoken
from ivm.subscriptions.wish import Wish


def wish_of(every: Any, form: FormName, progress: bool, limit: int, when_full: WhenFull) -> Wish:
    """How somebody wants to be told, as given to `Database.subscribe`; TypeMismatchError for what makes no sense."""
    one_of(form, FORMS, "form")
    one_of(when_full, WHEN_FULL, "when_full")
    commits, seconds = _every(every)
    return Wish(form, commits, seconds, bool(progress), at_least_one(limit, "limit"), when_full)


def subscribe(core: Core, of: Heard, wish: Wish, *, snapshot: bool, from_time: int | None) -> Subscription:
    """Who is told of a view's changes from now on, after its rows if `snapshot`, or after what changed since a time.

    Raises BindError for a view that is not there or not maintained, a time that cannot be read any more, and a form by
    key where none is known; InterfaceError for `snapshot` with `from_time`.
    """
    after = None if from_time is None else whole_number(from_time, "from_time")
    if snapshot and after is not None:
        raise InterfaceError(
            f"cannot subscribe to {of.view} with a snapshot and from a time: the one has all rows, the other what "
            "changed since then; leave one of them out"
        )
    known: Definition | None = None
    key: tuple[str, ...] = ()
    while True:
        with core.lock:
            definition, catalog = core.maintained(of.view).definition, core.catalog.fixed()
            if wish.form == "changes" or definition == known:
                held, time = core.engine.contents(definition.name), core.engine.time
                form = form_of(wish.form, key)
                subscription = _listening(core, of, held, wish, form, after, -1 if snapshot else time)
                begins = present(core, of, held, time) if snapshot else None
                break
        known, key = definition, _key(definition, catalog, wish, of)  # without the lock: its text is read
    if begins is not None:
        subscription.begin(begins())
    return subscription


def _key(view: Definition, catalog: Catalog, wish: Wish, of: Heard) -> tuple[str, ...]:
    key = key_of(view, catalog)
    if key is None:
        raise BindError(
            f"cannot tell changes {spoken(view.name)} as {wish.form}: nothing is known that tells its rows apart. Have "
            "it show the primary key of what it reads, or all that it groups by; or take form='changes'"
        )
    shown = [field.name for field in view.schema[: of.width(view)]]
    return tuple(name for name in key if name in shown)


def _listening(
    core: Core, of: Heard, held: ViewRows, wish: Wish, form: Form, after: int | None, begins: int
) -> Subscription:
    """Who is told from now on, and first of what has changed `after` a time; the caller has the lock."""
    listeners, time, definition = core.engine.listeners, core.engine.time, held.definition
    missed = None if after is None else _missed(core, of, after, time)
    if missed is not None and after is not None:
        begins = after
    listeners.reached.time = time
    width, view = of.width(definition), definition.name
    subscription = Subscription(
        view, shown(held.no_changes(), width), types_of(definition.schema[:width]), partial(unsubscribe, core),
        core.certain, listeners.feed(view, of.chosen), listeners.reached, begins, wish, form, of.chosen,
    )  # fmt: skip
    if missed is not None:
        subscription.begin(missed)
    listeners.hold(subscription)
    return subscription


def _missed(core: Core, of: Heard, after: int, time: int) -> Piece | None:
    changes = core.view(of.view).changes(after, time)
    if not changes.num_rows:
        return None
    missed = piece_of(changes, time)
    return missed if of.chosen is None else part_of(missed, of.chosen)


def _every(given: Any) -> tuple[int, float]:
    """In how many commits and in how many seconds somebody wants to be told at most once; 0: no matter."""
    if given is None:
        return 0, 0.0
    if isinstance(given, timedelta):
        return 0, period(given.total_seconds(), "every")
    if isinstance(given, str):
        return 0, period(given, "every")
    if isinstance(given, float):
        raise TypeMismatchError(f"every is {given}, and must be a number of commits, or a length of time: '{given}s'")
    return at_least_one(given, "every"), 0.0
