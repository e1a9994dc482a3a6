"""Files that the shell reads rows from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from rich.console import Console

from catalog.errors import Error
from catalog.names import as_literal, key, quoted
from catalog.schema import Table
from ivm.database import Database
from ivm.duck import Use, connection
from ivm.progress import A_MOMENT, progress

_AT_ONCE = 100_000
_PACKED = (".gz", ".zst")
_READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".txt": "read_csv",
    ".parquet": "read_parquet",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}


def read_changes(path: Path, schema: pa.Schema) -> pa.Table:
    """The rows of a Parquet file, or of a CSV file with a header, its fields read as the table's types.

    Raises:
        Error: the file cannot be read, or is of another kind.
    """
    if path.suffix not in (".parquet", ".csv"):
        raise Error(f"cannot apply {path}: its name must end in .parquet or .csv")
    try:
        if path.suffix == ".parquet":
            return pyarrow.parquet.read_table(path)
        types = {**{field.name: field.type for field in schema}, "_time": pa.int64(), "_diff": pa.int64()}
        return pyarrow.csv.read_csv(
            path, convert_options=pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=True)
        )
    except (OSError, pa.ArrowException) as error:
        raise Error(f"cannot apply {path}: {error}") from error


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did; `created` is the statement that made the table, if there was none."""

    rows: int
    created: str | None


def import_file(db: Database, path: Path, table: Table | str, err: Console) -> Imported:
    """Insert the rows of a CSV, Parquet or JSON file at one logical time, all or none; how many there were.

    Fields are found by name (of CSV the first line has the names) and read as the types of the table's columns. A table
    that is given by name only does not exist, and is made with the file's columns and the types that DuckDB finds in
    it. The file is read in batches; `err` shows how many rows there were so far, if it is a terminal.

    Raises:
        Error: the file cannot be read, or its rows do not fit the table; nothing is changed then.
    """
    call = _reader(path)
    try:
        with connection(Use.OPEN) as duck:
            found = _columns(duck, f"{call})")
            if isinstance(table, Table):
                query = _typed(duck, call, table, found)
                return Imported(_insert(db, duck, query, table.name, err), None)
            columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in found.items())
            created = f"CREATE TABLE {quoted(table)} ({columns})"
            db.sql(created)
            try:
                return Imported(_insert(db, duck, f"SELECT * FROM {call})", table, err), created)
            except BaseException:
                db.sql(f"DROP TABLE {quoted(table)}")
                raise
    except duckdb.Error as error:
        raise Error(f"cannot import {path}: {error}") from error


def _reader(path: Path) -> str:
    """The call that reads a file, open for more arguments."""
    suffix = Path(path.stem).suffix if path.suffix in _PACKED else path.suffix
    if suffix.lower() not in _READERS:
        raise Error(
            f"cannot import {path}: its name must end in {', '.join(_READERS)}, or one of these and .gz or .zst"
        )
    if not path.is_file():
        raise Error(f"cannot import {path}: there is no such file")
    call = _READERS[suffix.lower()]
    return f"{call}({as_literal(str(path))}{', header = true' if call == 'read_csv' else ''}"


def _columns(duck: duckdb.DuckDBPyConnection, source: str) -> dict[str, str]:
    relation = duck.sql(f"SELECT * FROM {source} LIMIT 0")
    return {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}


def _typed(duck: duckdb.DuckDBPyConnection, call: str, table: Table, found: dict[str, str]) -> str:
    """The query that reads a file's columns as those of the table: no text is first taken for anything else."""
    names = {key(name): name for name in found}
    wanted = {names[key(field.name)]: str(field.type) for field in table.fields if key(field.name) in names}
    if call.startswith("read_csv"):
        types = ", ".join(f"{as_literal(name)}: {as_literal(kind)}" for name, kind in wanted.items())
        call += f", types = {{{types}}}" if wanted else ""
    if call.startswith("read_json"):
        types = ", ".join(f"{as_literal(name)}: {as_literal(kind)}" for name, kind in {**found, **wanted}.items())
        call += f", columns = {{{types}}}"
    columns = [f"CAST({quoted(n)} AS {wanted[n]}) AS {quoted(n)}" if n in wanted else quoted(n) for n in found]
    return f"SELECT {', '.join(columns)} FROM {call})"


def _insert(db: Database, duck: duckdb.DuckDBPyConnection, query: str, table: str, err: Console) -> int:
    rows = 0
    with progress(err, after=A_MOMENT) as tell, db.transaction() as tx:
        for batch in duck.sql(query).to_arrow_reader(_AT_ONCE):
            tx.insert(table, batch)
            rows += batch.num_rows
            tell(f"{rows:,} rows read", 0, 0)
    return rows
