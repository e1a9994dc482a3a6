"""What those are told who listen to a view that is dropped, or whose place another one takes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import ViewDroppedError
from ivm.catalog.schema import View as Definition
from ivm.engine.backend import Maintained
from ivm.session.core import Core
from ivm.session.row_keys import is_key
from ivm.subscriptions.audience import Audience
from ivm.subscriptions.piece import piece_of
from ivm.subscriptions.subscription import Subscription
from ivm.subscriptions.unnamed import is_unnamed, spoken


def succession(core: Core, catalog: Catalog, views: Mapping[str, Maintained | None]) -> Callable[[], None]:
    """What tells who listens to these views, once they and `catalog` are what there is; None: it is not maintained.

    It may be interrupted, and called again. The caller has the lock, now and then. Cost: that of
    `Backend.difference` for views that go on, where somebody listens.
    """
    heard = [(core.catalog.view(name), new) for name, new in views.items() if _heard(core, name)]
    told = [
        _told(core, catalog, old, catalog.find(old.name) if new is None else new.definition, new) for old, new in heard
    ]

    def tell() -> None:
        for each in told:
            each()

    return tell


def _heard(core: Core, view: str) -> bool:
    return bool(core.engine.listeners.of(view))


def _told(
    core: Core, catalog: Catalog, old: Definition, new: object, installed: Maintained | None
) -> Callable[[], None]:
    reason = reason_to_end(old, new)
    audience = core.engine.listeners.to(old.name)
    if reason or installed is None or audience is None:
        return partial(core.end_subscriptions, old.name, reason)
    changes, mark = (
        core.engine.difference(old.name, installed),
        os.urandom(8).hex(),
    )  # it may be made anew twice at one time
    keyless = [each for each in audience.each() if each.key and not _tells_apart(installed.definition, catalog, each)]
    return partial(_tell, audience, changes, core.engine.time, mark, keyless)


def _tells_apart(view: Definition, catalog: Catalog, each: Subscription) -> bool:
    return is_key(view, catalog, (*each.key, *(() if each.chosen is None else each.chosen.named)))


def _tell(
    audience: Audience, changes: Callable[[], pa.Table | None], time: int, mark: str, keyless: Sequence[Subscription]
) -> None:
    for each in keyless:
        each.end(ViewDroppedError(
            f"cannot tell more changes of view {each.view} by {', '.join(each.key)}: it was replaced by one of which "
            "these columns do not tell the rows apart; subscribe again"
        ))  # fmt: skip
    found = changes()
    if found is not None:
        audience.push(piece_of(found, time), mark)


def reason_to_end(old: Definition, new: object) -> str:
    """Why nobody is told of changes of a view any more; empty if one of the same columns takes its place."""
    what = f"cannot tell more changes {spoken(old.name)}: {'what it reads' if is_unnamed(old.name) else 'it'} was"
    if new is None:
        gone = "dropped or replaced; subscribe again to one" if is_unnamed(old.name) else "dropped; subscribe to one"
        return f"{what} {gone} that is there"
    if not isinstance(new, Definition) or not new.maintained:
        return f"{what} replaced by one that is not MATERIALIZED; create it as that, and subscribe again"
    if _columns(old) != _columns(new):
        return f"{what} replaced by one of other columns, {_columns(new)} in place of {_columns(old)}; subscribe again"
    return ""


def _columns(view: Definition) -> str:
    return f"({', '.join(f'{field.name} {field.type}' for field in view.schema)})"
