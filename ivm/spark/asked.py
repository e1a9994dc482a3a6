"""What somebody asks for who reads a view by the data source `ivm`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ivm.arguments import MOST
from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import BindError
from ivm.catalog.schema import View
from ivm.cluster.files.folders import address_of
from ivm.intake.change_feed import CHANGE, VERSION
from ivm.trace.columns.arrow import numbers_from

_OPTIONS = {"path", "view", "readchangefeed", "startingversion", "endingversion"}
BEFORE_ALL = -1
"""As a time: the view is given as it is, before its changes."""


@dataclass(frozen=True)
class Asked:
    """What the options say: of which view, and whether its changes are wanted, from which time on, up to which."""

    path: str
    view: str
    changes: bool
    starting: int | None
    latest: bool
    ending: int | None

    @classmethod
    def of(cls, options: Any) -> Asked:
        """The options of a `read` or a `readStream`. BindError for those that are missing, unknown or no numbers.

        A relative path is that of this process, and not that of whoever reads.
        """
        given = {str(name).lower(): str(value) for name, value in options.items()}
        unknown = sorted(given.keys() - _OPTIONS)
        if unknown:
            raise refusal(f"there is no option {unknown[0]!r}; options are path, view, readChangeFeed, "
                          "startingVersion and endingVersion")  # fmt: skip
        for name in ("path", "view"):
            if name not in given:
                raise refusal(f"option {name!r} is missing; write .option({name!r}, ...)")
        start = given.get("startingversion")
        changes = given.get("readchangefeed", "false").lower()
        if changes not in ("true", "false"):
            raise refusal(f"option 'readChangeFeed' is {changes!r}, and must be 'true' or 'false'")
        starting = None if start == "latest" else _number(start, "startingVersion")
        ending = _number(given.get("endingversion"), "endingVersion")
        return cls(address_of(given["path"]), given["view"], changes == "true", starting, start == "latest", ending)

    def view_of(self, catalog: Catalog) -> View:
        """The view that is asked for. BindError for none that is maintained."""
        view = catalog.view(self.view)
        if not view.maintained:
            raise BindError(
                f"cannot read view {view.name}: it is registered, not maintained; create it as MATERIALIZED"
            )
        return view

    def created_anew(self) -> BindError:
        """What is wrong where the view is another one than before."""
        return BindError(
            f"cannot go on reading view {self.view} of {self.path}: it was created anew, and what came between is not "
            "known; begin anew with an empty checkpoint"
        )


def marked(rows: pa.Table, times: Any, diffs: Any) -> pa.Table:
    """Each row as often as its diff says, with what happened to it and when; at each time first what goes."""
    order = np.lexsort((diffs > 0, times))
    repeated = np.repeat(order, np.abs(diffs[order]))
    kinds = pa.array(["delete", "insert"]).take(pa.array((diffs[repeated] > 0).astype(np.int8)))
    return (
        rows.take(numbers_from(repeated))
        .append_column(CHANGE, kinds)
        .append_column(VERSION, numbers_from(times[repeated]))
    )


def marked_changes(changes: pa.Table) -> pa.Table:
    """The same of changes with their `_time` and `_diff`."""
    times, diffs = (changes.column(name).to_numpy() for name in ("_time", "_diff"))
    return marked(changes.drop_columns(["_time", "_diff"]), times, diffs)


def refusal(wrong: str) -> BindError:
    """What is wrong with the options."""
    return BindError(f"cannot read a database with format('ivm'): {wrong}")


def _number(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and int(text) <= MOST):
        raise refusal(f"option {name!r} is {text!r}, and must be a logical time, a whole number")
    return int(text)
