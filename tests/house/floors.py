"""The floors of the house as data: DESIGN section 2, and beside it the few things that follow from other sections."""

from __future__ import annotations

from dataclasses import dataclass

from tests.house.modules import is_within


@dataclass(frozen=True)
class Place:
    """A package or subpackage: the floor it stands on, and the third-party packages it may import."""

    prefix: str
    floor: int
    third_party: frozenset[str] = frozenset()


def _place(prefix: str, floor: int, *third_party: str) -> Place:
    return Place(prefix, floor, frozenset(third_party))


# numpy is at home in the catalog, in the columnar half and in render, where the halves meet.
PLACES = (
    # Both halves count days, and so do kernels.
    _place("ivm.catalog.calendar", -1),
    _place("ivm.catalog", 0, "pyarrow", "numpy"),
    # llvmlite is what numba's intrinsics are written in, and comes with it.
    _place("ivm.kernels", 0, "numba", "llvmlite", "numpy"),
    # Section 11: the log and its files know nothing of engines.
    _place("ivm.storage", 1, "pyarrow"),
    _place("ivm.sql.ir", 1),
    _place("ivm.sql", 2, "sqlglot"),
    _place("ivm.analysis", 2),
    _place("ivm.trace", 2, "pyarrow", "numpy"),
    # DuckDB, and functions of which it is asked.
    _place("ivm.duck", 3, "duckdb", "pyarrow"),
    _place("ivm.rows_of_duckdb", 3, "duckdb", "pyarrow"),
    _place("ivm.asked", 3, "duckdb", "pyarrow", "numpy"),
    # The same of functions that the application has written.
    _place("ivm.called", 3, "pyarrow"),
    _place("ivm.called_by_duckdb", 4, "duckdb", "pyarrow"),
    _place("ivm.zones", 2, "numpy"),
    _place("ivm.spill", 0),
    _place("ivm.transform", 3),
    _place("ivm.plan", 3),
    _place("ivm.operators", 3, "numpy"),
    # A pass over relations that the transforms have brought into shape.
    _place("ivm.distribute", 4),
    _place("ivm.render", 4, "numpy"),
    _place("ivm.dataflow", 4, "numpy"),
    # Section 4: exchange with the outside is Arrow, which the face takes and gives, and in which streams are read.
    # pandas and polars are the types of what .df() and .pl() return; they are optional.
    _place("ivm", 5, "duckdb", "typer", "rich", "prompt_toolkit", "pyarrow", "numpy", "pandas", "polars"),
    # What writes tables of Delta's; it is optional.
    _place("ivm.deliveries", 4, "pyarrow", "deltalake"),
    # What a server speaks by; it stands around the face, and nothing else of the engine knows of it.
    _place("ivm.serve", 6, "duckdb", "numpy", "pyarrow", "starlette", "typer", "rich", "uvicorn", "h11"),
    # Dialects of SQLAlchemy's, which it finds by itself; nothing else of the engine knows of them.
    _place("ivm.sqlalchemy", 6, "sqlalchemy"),
    # Section 12: Spark's own interfaces, which nothing else of the engine sees. py4j is what pyspark raises errors of.
    _place("ivm.spark", 6, "pyspark", "py4j", "pyarrow", "numpy"),
    # Section 7: the sub-commands of `ivm tpch` are a typer application with progress bars.
    # DuckDB is what a run is compared with.
    _place("ivm.tpch", 7, "duckdb", "pyspark", "pyarrow", "numpy", "typer", "rich"),
    _place("ivm.benchmarks", 8, "duckdb", "matplotlib", "numpy", "psutil", "psycopg", "pyarrow", "rich", "typer"),
)

# The pairs on one floor: render turns a plan into a dataflow, so it must know what a dataflow is made of; and DuckDB is
# asked for functions by the connections that all share.
SAME_FLOOR = frozenset({("ivm.render", "ivm.dataflow"), ("ivm.asked", "ivm.duck"), ("ivm.duck", "ivm.rows_of_duckdb")})

# The rooms of the face, and those of a database over shards: each imports none of those behind it.
ROOMS = (
    ("ivm.results", "ivm.subscriptions", "ivm.engine", "ivm.intake", "ivm.session"),
    (
        "ivm.cluster.protocol", "ivm.cluster.planning", "ivm.cluster.files", "ivm.cluster.queries", "ivm.cluster.shard",
        "ivm.cluster.following", "ivm.cluster.driver",
    ),
)  # fmt: skip

EXPRESSION_HALF = ("ivm.sql", "ivm.analysis", "ivm.transform", "ivm.plan", "ivm.distribute")
COLUMNAR_HALF = ("ivm.kernels", "ivm.trace", "ivm.operators", "ivm.dataflow")
ARRAYS = frozenset({"numba", "numpy", "pyarrow"})


def place_of(name: str) -> Place | None:
    """The place with the longest prefix that holds the module; None for a name that is not ours."""
    fitting = [place for place in PLACES if is_within(name, place.prefix)]
    return max(fitting, key=lambda place: len(place.prefix), default=None)


def may_import(importer: Place, imported: Place) -> bool:
    """True if a module of the one place may import a module of the other."""
    below = imported.floor < importer.floor
    return below or imported == importer or (importer.prefix, imported.prefix) in SAME_FLOOR


def is_in_half(name: str, half: tuple[str, ...]) -> bool:
    """True if the module lies in that half of the engine."""
    return any(is_within(name, prefix) for prefix in half)
