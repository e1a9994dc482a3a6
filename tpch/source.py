"""The tables of TPC-H from the official generator, run part by part inside Spark tasks."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ivm.tpch.errors import GenerateError, SetupError
from ivm.tpch.schema import relations

ROW = "_row"
_ROWS_AT_SCALE_1 = {
    "supplier": 10_000,
    "customer": 150_000,
    "part": 200_000,
    "partsupp": 800_000,
    "orders": 1_500_000,
    "lineitem": 6_000_000,
}
_ROWS_PER_PART = 750_000


@dataclass(frozen=True, slots=True)
class Part:
    """Part `number` (from 1) of `of` parts of a relation."""

    relation: str
    number: int
    of: int

    @property
    def file_name(self) -> str:
        """The name that the generator gives to this part's file."""
        return f"{self.relation}.{self.number}.parquet"


@dataclass(frozen=True, slots=True)
class Generated:
    """Generated tables in a directory, with the number of rows of each part, in the generator's order."""

    spark: SparkSession
    directory: Path
    rows_of_part: dict[Part, int]

    def rows(self, relation: str) -> int:
        """The number of rows of a relation."""
        return sum(rows for part, rows in self.rows_of_part.items() if part.relation == relation)

    def frame(self, relation: str) -> DataFrame:
        """A relation's rows with `_row`, the row's position (from 0) in the generator's order, whatever the parts.

        A partition of the frame is a part of the relation, with its rows in order.
        """
        read = self.spark.read.parquet(str(self.directory / relation))
        row = self._start_of_file(relation) + F.col("_metadata.row_index")
        return read.select(*relations()[relation].columns, row.alias(ROW))

    def _start_of_file(self, relation: str) -> Column:
        starts: list[Column] = []
        start = 0
        for part, rows in self.rows_of_part.items():
            if part.relation == relation:
                starts += [F.lit(part.file_name), F.lit(start).cast("bigint")]
                start += rows
        return F.element_at(F.create_map(*starts), F.col("_metadata.file_name"))


def generate_tables(spark: SparkSession, sf: float, directory: Path, parts: int | None = None) -> Generated:
    """Generate all eight relations at scale factor `sf` into `directory`, a Spark task for parts of equal number.

    A run of the generator costs most of a second before its first row, so one run makes what one command can make.
    `parts` splits each of the larger relations (default: by their size). The rows and their order do not depend on it.
    Raises GenerateError if the generator fails, SetupError if it is not installed. Cost: about 8 s of one core at
    scale factor 1.
    """
    wanted = [part for relation in relations() for part in _parts(relation, sf, parts)]
    runs: dict[tuple[int, int], list[Part]] = {}
    for part in wanted:
        runs.setdefault((part.of, part.number), []).append(part)
    target = str(directory)
    tasks = spark.sparkContext.parallelize(list(runs.values()), len(runs))
    counted = tasks.flatMap(lambda together: _generate(together, sf, target)).collectAsMap()
    return Generated(spark, directory, {part: counted[part] for part in wanted})


def _parts(relation: str, sf: float, parts: int | None) -> list[Part]:
    if relation not in _ROWS_AT_SCALE_1:  # the fixed relations are generated whole
        return [Part(relation, 1, 1)]
    rows = int(_ROWS_AT_SCALE_1[relation] * sf)
    wanted = -(-rows // _ROWS_PER_PART) if parts is None else parts
    count = max(1, min(wanted, rows))
    return [Part(relation, number, count) for number in range(1, count + 1)]


def _generate(parts: Sequence[Part], sf: float, directory: str) -> list[tuple[Part, int]]:
    """Run the generator for parts of equal number; each with its number of rows."""
    tables, number, of = ",".join(part.relation for part in parts), parts[0].number, parts[0].of
    command = [generator(), "parquet", "-s", str(sf), "--tables", tables, "--parts", str(of), "--part", str(number)]
    command += ["-n", "1", "-q", "-o", directory]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        reason = done.stderr.strip()
        raise GenerateError(f"the TPC-H generator failed on part {number} of {of} of {tables}: {reason}")
    return [(part, _count(part, Path(directory, part.relation, part.file_name))) for part in parts]


def _count(part: Part, file: Path) -> int:
    if part.relation == "partsupp":
        _drop_repeated_keys(file)
    return int(pq.read_metadata(file).num_rows)


def _drop_repeated_keys(file: Path) -> None:
    """Keep the first row of each key of partsupp.

    At scale factors whose number of suppliers the specification did not foresee (0.001, 0.015), its formula for a
    part's four suppliers names some of them twice. A part's rows are always in one file.
    """
    keys = ["ps_partkey", "ps_suppkey"]
    rows = pq.read_table(file, columns=keys)
    rows = rows.append_column("row", pa.array(np.arange(rows.num_rows)))
    first = rows.group_by(keys).aggregate([("row", "min")])["row_min"].to_numpy()
    if len(first) < rows.num_rows:
        table = pq.read_table(file).cast(relations()["partsupp"].schema)  # from views of text, which has no take
        pq.write_table(table.take(pa.array(np.sort(first))), file)


@cache
def generator() -> str:
    """The path of the `tpchgen-cli` program: beside this Python, else on PATH. Raises SetupError if there is none."""
    beside = Path(sysconfig.get_path("scripts"), "tpchgen-cli")
    found = str(beside) if beside.is_file() else shutil.which("tpchgen-cli")
    if found is None:
        raise SetupError("generating TPC-H data needs the program tpchgen-cli: run pip install tpchgen-cli")
    return found
