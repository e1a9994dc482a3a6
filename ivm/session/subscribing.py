"""Who wants to be told of a view's changes, from when on and how."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from catalog.catalog import Catalog
from catalog.errors import BindError, InterfaceError, TypeMismatchError
from catalog.schema import View as Definition
from ivm.arguments import at_least_one, one_of, period, whole_number
from ivm.engine.view import Contents
from ivm.results.view_changes import types_of
from ivm.session.core import Core
from ivm.session.row_keys import key_of
from ivm.subscriptions.backlog import WHEN_FULL, WhenFull
from ivm.subscriptions.forms import FORMS, Form, FormName, form_of
from ivm.subscriptions.subscription import Subscription, Wish


def wish_of(every: Any, form: FormName, progress: bool, limit: int, when_full: WhenFull) -> Wish:
    """How somebody wants to be told, as given to `Database.subscribe`; TypeMismatchError for what makes no sense."""
    one_of(form, FORMS, "form")
    one_of(when_full, WHEN_FULL, "when_full")
    commits, seconds = _every(every)
    return Wish(form, commits, seconds, bool(progress), at_least_one(limit, "limit"), when_full)


def subscribe(core: Core, view: str, wish: Wish, *, snapshot: bool, from_time: int | None) -> Subscription:
    """Who is told of a view's changes from now on, after its rows if `snapshot`, or after what changed since a time.

    Raises BindError for a view that is not there or not maintained, a time that cannot be read any more, and a form by
    key where none is known; InterfaceError for `snapshot` with `from_time`.
    """
    after = None if from_time is None else whole_number(from_time, "from_time")
    if snapshot and after is not None:
        raise InterfaceError(
            f"cannot subscribe to {view} with a snapshot and from a time: the one has all rows, the other what changed "
            "since then; leave one of them out"
        )
    known: Definition | None = None
    key: tuple[str, ...] = ()
    while True:
        with core.lock:
            definition, catalog = core.maintained(view).definition, core.catalog.fixed()
            if wish.form == "changes" or definition == known:
                held, time = core.engine.contents(definition.name), core.engine.time
                form = form_of(wish.form, key)
                subscription = _listening(core, definition.name, held, wish, form, after, -1 if snapshot else time)
                break
        known, key = definition, _key(definition, catalog, wish)  # without the lock: its text is read
    if snapshot:
        subscription.begin(held.changes(time), time)
    return subscription


def _key(view: Definition, catalog: Catalog, wish: Wish) -> tuple[str, ...]:
    key = key_of(view, catalog)
    if key is None:
        raise BindError(
            f"cannot tell changes of view {view.name} as {wish.form}: nothing is known that tells its rows apart. Have "
            "it show the primary key of what it reads, or all that it groups by; or take form='changes'"
        )
    return key


def _listening(
    core: Core, view: str, held: Contents, wish: Wish, form: Form, after: int | None, begins: int
) -> Subscription:
    """Who is told from now on, and first of what has changed `after` a time; the caller has the lock."""
    listeners, time = core.engine.listeners, core.engine.time
    missed = None if after is None else core.view(view).changes(after, time)
    if missed is not None and missed.num_rows and after is not None:
        begins = after
    listeners.reached.time = time
    subscription = Subscription(
        view, held.no_changes(), types_of(held.definition.schema), core.unsubscribe, core.certain, listeners.feed(view),
        listeners.reached, begins, wish, form,
    )  # fmt: skip
    if missed is not None and missed.num_rows:
        subscription.begin(missed, time)
    listeners.hold(subscription)
    return subscription


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
