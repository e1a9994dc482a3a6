"""What the names of subscriptions have acknowledged, in a file of its own, which is replaced as a whole.

It is a page (`ivm.storage.stored.Form`), written once the log is certain up to what is acknowledged, so it never says
more than the log has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ivm.catalog.errors import StorageError
from ivm.storage.storage import Readable, Storage
from ivm.storage.stored import Form
from ivm.subscriptions.names import Named

NAME = "SUBSCRIPTIONS"
_FORM = Form("ivm subscriptions", 1)


def plain_names(names: Mapping[str, Named]) -> dict[str, dict[str, Any]]:
    """What outlives the process of these names, as plain values; `names_of` reads them."""
    return {
        name: {"view": each.view, "chosen": each.chosen, "of": each.of, "time": each.time, "keep": each.keep}
        for name, each in names.items()
    }


def names_of(plain: Mapping[str, Mapping[str, Any]]) -> dict[str, Named]:
    """What `plain_names` made plain values of. KeyError, TypeError or ValueError for anything else."""
    return {
        name: Named(str(each["view"]), str(each["chosen"]), int(each["of"]), int(each["time"]), int(each["keep"]))
        for name, each in plain.items()
    }


def read_names(storage: Readable) -> dict[str, Named]:
    """The names there are. StorageError if the file is damaged, or of another release."""
    if NAME not in storage.names():
        return {}
    try:
        return _FORM.read(storage, NAME, names_of)
    except StorageError as error:
        raise StorageError(
            f"cannot open database {storage.where()}: {error}, or move it away: then named subscriptions begin anew"
        ) from error


def write_names(storage: Storage, names: Mapping[str, Named]) -> None:
    """Let these be the names there are, and return when that survives a loss of power; StorageError if not.

    Cost: two syncs.
    """
    try:
        storage.replace(NAME, _FORM.page(plain_names(names)))
    except OSError as error:
        raise StorageError(
            f"cannot note what subscriptions have acknowledged: {storage.where(NAME)} cannot be written: "
            f"{error.strerror or error}; what was noted before counts. Make room, and try again"
        ) from error
