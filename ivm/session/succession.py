"""What those are told who listen to a view that is dropped, or whose place another one takes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pyarrow as pa

from catalog.catalog import Catalog
from catalog.schema import View as Definition
from ivm.engine.subscription import Subscription
from ivm.engine.view import Installed
from ivm.session.core import Core


def succession(core: Core, catalog: Catalog, views: Mapping[str, Installed | None]) -> Callable[[], None]:
    """What tells who listens to these views, once they and `catalog` are what there is; None: it is not maintained.

    It may be interrupted, and called again. The caller has the lock, now and then. Cost: that of `Core.difference` for
    views that go on, where somebody listens.
    """
    heard = [(core.catalog.view(name), new) for name, new in views.items() if _heard(core, name)]
    told = [_told(core, old, catalog.find(old.name) if new is None else new.definition, new) for old, new in heard]

    def tell() -> None:
        for each in told:
            each()

    return tell


def _heard(core: Core, view: str) -> bool:
    return bool(core.engine.listeners.of(view))


def _told(core: Core, old: Definition, new: object, installed: Installed | None) -> Callable[[], None]:
    reason = _reason(old, new if isinstance(new, Definition) else None)
    if reason or installed is None:
        return partial(core.end_subscriptions, old.name, reason)
    listeners, changes = core.engine.listeners.of(old.name), core.difference(old.name, installed)
    return partial(_push, listeners, changes, os.urandom(8).hex())  # a view may be made anew several times at one time


def _push(listeners: Sequence[Subscription], changes: Callable[[], pa.Table | None], mark: str) -> None:
    found = changes()
    for each in listeners if found is not None else ():
        each.push(found, mark)


def _reason(old: Definition, new: Definition | None) -> str:
    """Why nobody is told of changes of a view any more; empty if one of the same columns takes its place."""
    what = f"cannot tell more changes of view {old.name}: it was"
    if new is None:
        return f"{what} dropped; subscribe to one that is there"
    if not new.maintained:
        return f"{what} replaced by one that is not MATERIALIZED; create it as that, and subscribe again"
    if _columns(old) != _columns(new):
        return f"{what} replaced by one of other columns, {_columns(new)} in place of {_columns(old)}; subscribe again"
    return ""


def _columns(view: Definition) -> str:
    return f"({', '.join(f'{field.name} {field.type}' for field in view.schema)})"
