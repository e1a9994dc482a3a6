"""Views by plain Flight: their rows, and their changes as they come, with what to ask next in each batch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow import flight

from ivm.catalog.errors import Error, InterfaceError, TypeMismatchError
from ivm.serve.flight.call_limit import CallLimit
from ivm.serve.inside import Inside, Session
from ivm.subscriptions.subscription import Subscription

_LOOK_SECONDS = 0.2
"""So often it is looked whether the client is still there, and the server goes on."""
_TAKES = {"changes", "snapshot", "from_time", "every", "form", "limit", "when_full", "name", "keep"}


def streamed(inside: Inside, places: CallLimit, session: Session, ticket: bytes, context: Any) -> Any:
    """What a ticket asks for: a view by its name, or its changes by an object of JSON. TypeMismatchError, BindError.

    `{"changes": "revenue", "snapshot": true}` takes what `Database.subscribe` does. The metadata of each batch is the
    ticket with which to go on behind it; where there is a name, that acknowledges what came before.
    """
    text = ticket.decode(errors="replace")
    if not text.startswith("{"):
        return flight.RecordBatchStream(session.db.view(text).arrow())
    wish = _wish(text)
    view = wish.pop("changes")
    subscription = session.db.subscribe(view, **wish)
    first = subscription.fetch()
    again = {name: value for name, value in wish.items() if name not in ("snapshot", "from_time")} | {"changes": view}
    batches = _batches(inside, places, subscription, first, again, context)
    next(batches)  # so that it ends as it should, though nobody may ask it for any more
    return flight.GeneratorStream(first.schema, batches)


def _wish(text: str) -> dict[str, Any]:
    try:
        wish = json.loads(text)
    except ValueError as error:
        raise TypeMismatchError(f"cannot read the ticket: it is no JSON: {error}") from error
    if not isinstance(wish.get("changes"), str) or not wish.keys() <= _TAKES:
        raise TypeMismatchError(
            f"cannot read the ticket: it is the name of a view, or has changes, and of {sorted(_TAKES)}"
        )
    if wish.get("when_full") == "block":
        raise TypeMismatchError("when_full is 'block', which would let a client hold up commits; take coalesce or fail")
    return dict(wish)


def _batches(
    inside: Inside, places: CallLimit, subscription: Subscription, first: pa.Table, again: dict[str, Any], context: Any
) -> Iterator[tuple[pa.RecordBatch, bytes]]:
    """What changes, behind one item that is none."""
    inside.meter.add("streams", 1, door="flight")
    places.keep()
    try:
        yield pa.RecordBatch.from_pylist([], first.schema), b""
        table, has_begun = first, False
        while not context.is_cancelled():
            ticket = json.dumps(again | {"from_time": subscription.time}).encode()
            batches = table.combine_chunks().to_batches() if table.num_rows else []
            for batch in batches[:-1]:
                yield batch, b""
            if batches:
                yield batches[-1], ticket
            elif not has_begun:  # so that the client knows from where on it is told
                yield pa.RecordBatch.from_pylist([], first.schema), ticket
            has_begun = True
            if inside.ending.is_set() or inside.db.closed:
                raise InterfaceError("cannot tell more changes: the server ends; ask again with the last ticket")
            table = subscription.fetch(timeout=_LOOK_SECONDS)
    except Error as error:
        raise flight.FlightServerError(str(error)) from None
    finally:
        inside.meter.add("streams", -1, door="flight")
        places.leave()
        subscription.close()
