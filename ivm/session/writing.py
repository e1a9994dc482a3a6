"""COPY of rows to a file, or to a folder of files, which is there whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex

from ivm.catalog.errors import StorageError
from ivm.catalog.names import as_literal
from ivm.catalog.zones import UTC
from ivm.results.result import Result, counted
from ivm.session.adhoc import told_of_columns, wrote
from ivm.session.core import Core
from ivm.sql.changes import without_hugeints
from ivm.sql.statements import Copy, Query

PREFIX = "data_"
"""How the names of the files of a folder begin; a number follows, and what kind of file it is."""


def write(core: Core, statement: Copy, query: Query) -> Result:
    """Write the rows of a query; how many. A folder is written beside, and has its name once all is there.

    StorageError where it cannot be written, or is there already, and not empty.
    """
    options = ", ".join((f"FORMAT {statement.format}", *(f"{name} {text}" for name, text in statement.options)))
    rows, path = query.text, statement.path
    if statement.format == "parquet":
        rows = without_hugeints(rows, told_of_columns(core, query, "duckdb").to_pylist())
    if not statement.is_folder:
        return counted(wrote(core, text_of_file(rows, path, options), query.names))
    if "://" in path:  # where nothing is renamed
        return counted(wrote(core, _to_folder(rows, path, options), query.names))
    with _folder(path) as made:
        written = None
        if core.loads is not None and core.settings.zone == UTC:
            written = core.loads.write(rows, options, made, statement.format)
        if written is None:
            _empty(made)
            written = wrote(core, _to_folder(rows, made, options), query.names)
    return counted(written)


def file_in(folder: str, number: int, format: str) -> str:
    """What a file of a folder is called."""
    return f"{folder}/{PREFIX}{number}.{format}"


def text_of_file(rows: str, path: str, options: str) -> str:
    """The COPY of rows to a file."""
    return f"COPY ({rows}) TO {as_literal(path)} ({options})"


def _to_folder(rows: str, path: str, options: str) -> str:
    return text_of_file(rows, path, f"{options}, PER_THREAD_OUTPUT true")


@contextmanager
def _folder(path: str) -> Iterator[str]:
    """A new, empty folder, which is the one at `path` if all goes well, and else is gone."""
    path = os.path.abspath(os.path.expanduser(path))
    made = f"{path}.{token_hex(4)}.part"
    try:
        _check_free(path)
        os.mkdir(made)
        try:
            yield made
            _empty(made, but=PREFIX)  # of somebody who died, and was made up for
            os.rename(made, path)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise StorageError(
            f"cannot copy to folder {path!r}: {error.strerror or error}; see that there is room and the folder above "
            "it, and name one that is not there"
        ) from error


def _empty(folder: str, but: str | None = None) -> None:
    """Remove the files of a folder, `but` those whose names begin so."""
    for name in os.listdir(folder):
        if but is None or not name.startswith(but):
            os.remove(os.path.join(folder, name))


def _check_free(path: str) -> None:
    if os.path.lexists(path) and not (os.path.isdir(path) and not os.listdir(path)):
        raise StorageError(
            f"cannot copy to folder {path!r}: it is there already, and not empty; name another, or remove it"
        )
