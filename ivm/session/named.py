"""Who subscribes by a name: goes on where what was acknowledged by that name has ended."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from typing import Any

from ivm.arguments import at_least_one, whole_number
from ivm.catalog.errors import BindError, InterfaceError, LagError, TypeMismatchError
from ivm.engine.backend import Maintained
from ivm.session.core import Core
from ivm.session.subscribed_queries import Heard, forget_unheard
from ivm.session.subscribing import subscribe
from ivm.subscriptions.names import Named
from ivm.subscriptions.subscription import Subscription
from ivm.subscriptions.unnamed import spoken
from ivm.subscriptions.wish import Wish

_LONGEST = 1000
KEEP = 1_000_000
"""So many changes are kept for a name, unless it is told otherwise."""


def check_name(core: Core, name: Any) -> str:
    """The name of a subscription. TypeMismatchError if it is none, AccessError where nothing may be written."""
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST:
        raise TypeMismatchError(f"name is {name!r:.100}, and must be a text of 1 to {_LONGEST} characters")
    core.check_writable()
    return name


def subscribe_by_name(
    core: Core, of: Heard, wish: Wish, name: str, keep: Any, *, snapshot: bool, from_time: int | None
) -> Subscription:
    """Who is told of what was not acknowledged by a name, then of what changes; whoever listens by it ends.

    A name that is new begins as `subscribe` does. Raises what that raises; BindError if the name is that of another
    view; LagError where what was not acknowledged is not there any more; StorageError.
    """
    names, keep = core.engine.listeners.names, at_least_one(keep, "keep")
    after = None if from_time is None else whole_number(from_time, "from_time")
    with names.turn:
        with core.lock:
            installed = core.maintained(of.view)
        named = _known(core, of, name, installed)
        if named is None or (named.time < 0 and after is None):
            rows_first = after is None and (snapshot or named is not None)
            found = _begun(core, of, wish, name, keep, snapshot=rows_first, after=after)
        else:
            found = _resumed(core, of, wish, name, after)
        now, before = names.get(name), None if named is None else named.listener
        assert now is not None, "it was begun"
        now.keep = keep
        now.is_listened_by(found)
        found.called(name, partial(_acknowledge, core))
    if before is not None:
        before.end(InterfaceError(
            f"cannot tell more changes {spoken(before.view)}: another subscribes by the name {name!r} since; give "
            "each a name of its own"
        ))  # fmt: skip
        core.unsubscribe(before)
    return found


def acknowledge(core: Core, name: str, time: int) -> None:
    """All up to a time has been carried out by whoever listens by a name; BindError if nobody does."""
    named = core.engine.listeners.names.get(check_name(core, name))
    listener = None if named is None else named.listener
    if listener is None:
        raise BindError(f"cannot acknowledge changes by the name {name!r}: nobody listens by it; subscribe first")
    listener.acknowledge(time)


def forget(core: Core, name: str) -> None:
    """Forget what was acknowledged by a name; whoever listens by it goes on without. BindError if there is none."""
    check_name(core, name)
    names = core.engine.listeners.names
    with names.turn:
        core.lock.check_open()
        view = names.forget(name).view
        with core.lock:
            if view in core.engine.views:
                core.engine.hold(view, names.of_view(view))
    forget_unheard(core)


def _known(core: Core, of: Heard, name: str, installed: Maintained) -> Named | None:
    """What there is of a name; BindError if that is of something else."""
    named = core.engine.listeners.names.get(name)
    if named is None:
        return None
    view, chosen = installed.definition.name, _said(of)
    if (named.view, named.chosen) != (view, chosen):
        told = f" where {named.chosen}" if named.chosen else ""
        raise BindError(
            f"cannot subscribe by the name {name!r} to this: it is that of a subscription to changes "
            f"{spoken(named.view)}{told}; give another name, or forget that one with db.forget_subscription({name!r})"
        )
    return named


def _begun(
    core: Core, of: Heard, wish: Wish, name: str, keep: int, *, snapshot: bool, after: int | None
) -> Subscription:
    names = core.engine.listeners.names
    with core.lock:  # kept from now on: what is told from then on is not acknowledged
        installed, time = core.maintained(of.view), core.engine.time
        view = installed.definition.name
        named = Named(view, _said(of), _number_of(installed), -1, keep, time if after is None else after)
        core.engine.hold(view, (*names.of_view(view), named))
    found = None
    try:
        found = subscribe(core, of, wish, snapshot=snapshot, from_time=after)
        begins = -1 if snapshot else found.taken()[0]
        names.put(name, replace(named, time=begins, since=named.since if snapshot else begins))
    except BaseException:
        if found is not None:
            found.close()
        raise
    finally:
        with core.lock:
            for each in core.engine.views:
                core.engine.hold(each, names.of_view(each))
    return found


def _resumed(core: Core, of: Heard, wish: Wish, name: str, after: int | None) -> Subscription:
    names = core.engine.listeners.names
    named = names.get(name)
    assert named is not None, "it is known"
    time = named.time if after is None else after
    what = f"cannot go on with subscription {name!r} after time {time}"
    if time < named.time:
        raise LagError(f"{what}: it has acknowledged all up to {named.time}; leave from_time out")

    def check() -> int:
        wrong, number = _gone(core, of, named, time)
        if wrong:
            raise LagError(
                f"{what}: {wrong}. Forget it with db.forget_subscription({name!r}), and subscribe again, with "
                "snapshot=True to begin with all rows"
            )
        return number

    number = check()
    try:
        found = subscribe(core, of, wish, snapshot=False, from_time=time)
    except BindError:
        check()  # a commit may have let go of what was kept, or another view be there by now
        raise
    if time > named.time:
        try:
            names.acknowledge(name, time, number)
        except BaseException:
            found.close()
            raise
    return found


def _gone(core: Core, of: Heard, named: Named, time: int) -> tuple[str, int]:
    """Why what comes after a time is not there, "" if it is; and the number of the view."""
    with core.lock:
        installed, engine = core.maintained(of.view), core.engine
        since = engine.known_since(installed.definition.name)
        number, present = _number_of(installed), engine.time
    if named.of != number:
        return "the view was replaced by another one since", number
    if time > present:
        return f"the last commit is {present}: some are lost, or were another database's", number
    if time < since:
        return (
            f"changes {spoken(named.view)} are kept from time {since} on, since more than {named.keep} waited to be "
            "acknowledged, or the view was made anew"
        ), number
    return "", number


def _acknowledge(core: Core, subscription: Subscription, time: int | None) -> None:
    """See `Subscription.acknowledge`."""
    names, name = core.engine.listeners.names, subscription.name
    with names.turn:
        core.lock.check_open()
        named, what = names.get(name), f"cannot acknowledge changes {spoken(subscription.view)}"
        if named is None or named.listener is not subscription:
            raise InterfaceError(f"{what}: another subscribes by the name {name!r} since, or it was forgotten")
        number = named.of
        with core.lock:  # before it is asked whether all was taken, what tells a new view from the old one included
            if named.view in core.engine.views:
                number = _number_of(core.engine.views[named.view])
        taken, is_all = subscription.taken()
        upto = taken if time is None else whole_number(time, "time")
        if upto > taken:
            raise BindError(f"{what} up to time {upto}: they were taken up to {taken}")
        if upto < taken or not is_all:
            number = number if upto > names.replaced.get(named.view, -1) else named.of
        if upto > named.time or (upto == named.time and number != named.of):
            names.acknowledge(name, upto, number)


def _said(of: Heard) -> str:
    """What of a view is listened to; all of it: ''."""
    return "" if of.chosen is None else str(of.chosen)


def _number_of(installed: Maintained) -> int:
    """What is another number for another view, of whatever name."""
    definition = installed.definition
    told = definition.sql, definition.zone, [(field.name, str(field.type)) for field in definition.schema]
    return int.from_bytes(hashlib.sha256(repr(told).encode()).digest()[:7], "big")
