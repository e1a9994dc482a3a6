"""The page of DuckDB's functions: which are maintained, found out by binding a call of each, and why the others are not.

`python -m tests.docs.functions` writes docs/functions.md anew; a test compares it with what DuckDB says that it has.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import Error
from ivm.catalog.types import SqlType
from ivm.sql.bind import bind
from ivm.sql.ir.functions.function import Function
from ivm.sql.ir.functions.json import TRANSFORMS
from ivm.sql.ir.functions.nested import FUNCTIONS, LAMBDAS, VECTORS
from ivm.sql.sql_text import SqlText
from ivm.sql.types.declared import declared_type

PAGE = Path(__file__).parents[2] / "docs" / "functions.md"

_VALUES = {"VARCHAR": "'a'", "BOOLEAN": "true", "ANY": "1", "DOUBLE": "0.5", "FLOAT": "0.5"}


@dataclass(frozen=True)
class Overload:
    """One of a function's signatures."""

    takes: tuple[str | None, ...]
    gives: str | None

    @property
    def foreign(self) -> list[str]:
        """The types in it that columns cannot have."""
        return [t for t in (*self.takes, self.gives) if t is not None and not _is_held(concrete(t))]


def concrete(type_: str | None) -> str:
    """A type in which INTEGER stands for any."""
    return re.sub(r"\b(ANY|T|K|V)\b", "INTEGER", type_ or "ANY")


def _is_held(type_: str) -> bool:
    """Whether columns may have the type."""
    try:
        declared_type(exp.DataType.build(type_, dialect="duckdb"), SqlText(""), "it")
    except (Error, SqlglotError):
        return False
    return True


def _plain(type_: str) -> str:
    return type_.partition("(")[0]


def declared() -> dict[str, tuple[str, list[Overload]]]:
    """DuckDB's functions of expressions: of each name whether it is an aggregate, and its overloads."""
    rows = duckdb.connect().execute(
        "SELECT function_name, function_type, parameter_types, return_type FROM duckdb_functions() WHERE "
        "schema_name = 'main' AND database_name = 'system' AND function_type IN ('scalar', 'aggregate', 'macro') "
        "ORDER BY ALL"
    )
    found: dict[str, tuple[str, list[Overload]]] = {}
    for name, kind, takes, gives in rows.fetchall():
        found.setdefault(name, (kind, []))[1].append(Overload(tuple(takes), gives))
    return found


_OPERATORS = {
    "!=": "1 != 2", "!~~": "'a' !~~ 'b'", "!~~*": "'a' NOT ILIKE 'b'", "%": "1 % 2", "&": "1 & 2", "*": "1 * 2",
    "**": "2 ** 2", "+": "1 + 2", "-": "1 - 2", "/": "1 / 2", "//": "1 // 2", "<": "1 < 2", "<<": "1 << 2",
    "<=": "1 <= 2", "=": "1 = 2", ">": "1 > 2", ">=": "1 >= 2", ">>": "1 >> 2", "^": "2 ^ 2", "^@": "'a' ^@ 'b'",
    "||": "'a' || 'b'", "~": "~1", "~~": "'a' LIKE 'b'", "~~*": "'a' ILIKE 'b'", "~~~": "'a' GLOB 'b'", "|": "1 | 2",
    "IS DISTINCT FROM": "1 IS DISTINCT FROM 2", "IS NOT DISTINCT FROM": "1 IS NOT DISTINCT FROM 2",
    "__between": "1 BETWEEN 0 AND 2", "__cast": "CAST(1 AS DOUBLE)", "@": "@ 1", "<->": "[1] <-> [2]", "<=>": "[1] <=> [2]", "->>": "'{}' ->> 'a'",
    "!__postfix": "4 !",
}  # fmt: skip
_DAY = "DATE '2020-01-31'"
_EXAMPLES = {
    **_OPERATORS,
    **{name: f"{name}('day', {_DAY}, {_DAY})" for name in ("date_diff", "datediff", "date_sub", "datesub")},
    **{name: f"{name}('day', {_DAY})" for name in ("date_part", "datepart", "date_trunc", "datetrunc")},
    **{name: f"{name}({_DAY}, INTERVAL 1 DAY)" for name in ("date_add",)},
    **{name: f"{name}('2020', '%Y')" for name in ("strptime", "try_strptime")},
    **{
        f"to_{unit}": f"{_DAY} + to_{unit}(1)"
        for unit in ("centuries", "days", "decades", "hours", "microseconds", "millennia", "milliseconds", "minutes")
    },
    **{f"to_{unit}": f"{_DAY} + to_{unit}(1)" for unit in ("months", "quarters", "seconds", "weeks", "years")},
    **{name: f"{name}(2.5, 0)" for name in ("round_even", "roundbankers")},
    **{name: f"{name}('abc', 1, 2)" for name in ("array_slice", "list_slice")},
    **{name: f"{name}([1], lambda x: x)" for name, plain in LAMBDAS.items() if plain != "list_reduce"},
    **{name: f"{name}([1], lambda x, y: x + y)" for name, plain in LAMBDAS.items() if plain == "list_reduce"},
    **{name: f"{name}([1], 'sum')" for name in ("list_aggregate", "array_aggregate", "list_aggr", "array_aggr")},
    "aggregate": "aggregate([1], 'sum')", "cardinality": "cardinality(map {1: 2})", "row": "row(1, 2)",
    "struct_pack": "struct_pack(a := 1)", "struct_extract": "struct_extract({'a': 1}, 'a')",
    "struct_insert": "struct_insert({'a': 1}, b := 2)", "struct_update": "struct_update({'a': 1}, a := 2)",
    "struct_concat": "struct_concat({'a': 1}, {'b': 2})", "struct_keys": "struct_keys({'a': 1})",
    "list_value": "list_value(1)", "list_pack": "list_pack(1)", "&&": "[1] && [2]", "@>": "[1] @> [2]", "<@": "[1] <@ [2]",
    "strftime": f"strftime({_DAY}, '%Y')", "time_bucket": f"time_bucket(INTERVAL 1 DAY, {_DAY})",
    "days_in_month": f"days_in_month({_DAY})", "format": "format('{}', 1)", "printf": "printf('%d', 1)",
    "quantile": "quantile(1, 0.5)", "split_part": "split_part('a', 'b', 1)", "position": "position('a' IN 'b')",
    "count_star": "count(*)", "list": "list(1)", "array_agg": "array_agg(1)", "like_escape": "'a' LIKE 'b' ESCAPE '$'",
    "json_group_object": "json_group_object('a', 1)", "row_to_json": "row_to_json({'a': 1})",
    "json": "json('{}')", "to_json": "to_json(1)", "json_quote": "json_quote(1)", "array_to_json": "array_to_json([1])", "json_object": "json_object('a', 1)", "json_array": "json_array(1)",
    **{name: f"{name}('{{}}', '\"JSON\"')" for name in TRANSFORMS},
    "histogram": "histogram(1)", "histogram_exact": "histogram_exact(1, [1])", "list_zip": "list_zip([1], ['a'])",
    "array_zip": "array_zip([1], ['a'])", "struct_values": "struct_values({'a': 1})",
    "struct_extract_at": "struct_extract_at({'a': 1}, 1)", "generate_subscripts": "generate_subscripts([1], 1)",
    **{name: f"{name}(row(1, 2), 1)" for name in ("struct_contains", "struct_has", "struct_position", "struct_indexof")},
    **{name: f"{name}('a'::ENUM ('a'))" for name in ("enum_code", "enum_first", "enum_last", "enum_range")},
    "enum_range_boundary": "enum_range_boundary('a'::ENUM ('a'), NULL)", "switch": "switch(1, map {1: 2})",
    "regexp_split_to_table": "regexp_split_to_table('a', 'b')", "generate_series": "generate_series(1, 2)", "range": "range(2)", "apply": "apply([1], lambda x: x)",
    **{f"array_{name}": f"array_{name}([1, 2]::FLOAT[2], [1, 2]::FLOAT[2])" for name in VECTORS}, "array_value": "array_value(1, 2)",
    "md5_number_lower": "md5_number_lower('a')", "md5_number_upper": "md5_number_upper('a')",
}  # fmt: skip
"""Calls of those of which a call of any values says little, or is written otherwise."""


def _of_nested(function: Function) -> str:
    """The arguments of a call."""
    takes = [type_ for type_ in function.takes if isinstance(type_, SqlType)]
    written = (str(type_).replace('"NULL"', "INTEGER") for type_ in takes)
    return ", ".join(f"CAST(NULL AS {'INTEGER' if type_ == 'NULL' else type_})" for type_ in written)


_NESTED = {
    name: f"{name}({_of_nested(each)})" for each in FUNCTIONS for name in each.names if each.asked == each.names[0]
}


def example_calls(name: str, overloads: list[Overload]) -> Iterator[str]:
    """Calls of the function over the types that columns may have."""
    if name in _NESTED:
        yield _NESTED[name]
    if name in _EXAMPLES:
        yield _EXAMPLES[name]
        return
    for overload in overloads:
        if overload.foreign:
            continue
        args = (f"CAST({_VALUES.get(t or 'ANY', 'NULL')} AS {concrete(t)})" for t in overload.takes)
        yield f"{name}({', '.join(args)})"


def is_maintained(call: str) -> bool:
    """Whether a view may hold the call."""
    try:
        bind(f"SELECT {call} AS x", Catalog())
    except Error:
        return False
    return True


_CLOCK, _CHANCE = "changes by itself", "another value at each call"
_SESSION = "of the connection, not of the rows"
_INSIDE = "of DuckDB's own inside"
_WHY: tuple[tuple[str, str], ...] = (
    (r"(icu_)?collate_.*|icu_sort_key", "not supported: collations"),
    (
        r"__internal.*|combine.*|finalize|create_sort_key|stats|vector_type|can_cast_implicitly|cast_to_type|replace_type"
        r"|cardinality|is_histogram_other_bin|remap_struct|in_search_path|hive_partition_component|alias|invoke"
        r"|parse_duckdb_log_message|constant_or_null|get_block_size|.*byte_comparable|to_aggregate_state"
        r"|decimal_(average|division)|unpivot_list|index_key",
        _INSIDE,
    ),
    (r"current_date|current_local.*|get_current_.*|now|today|transaction_timestamp|ago", _CLOCK),
    (r"random|setseed|uuid(v\d)?|gen_random_uuid", _CHANCE),
    (r"nextval|currval", _CHANCE),
    (r"setval", "CREATE OR REPLACE SEQUENCE begins anew"),
    (r"write_log|sleep_ms", "does something beside its value"),
    (r"current_.*|txid_current|version|getvariable|user|session_user", _SESSION),
    (r"error|assert_true", "an error of its own; leave the rows out with WHERE"),
    (r"(list_)?approx_.*|reservoir_quantile", "not exact; write count(DISTINCT x), quantile_cont(x, 0.5) or GROUP BY"),
    (r"json_(de)?serialize_.*", "of a statement, not of rows"),
    (r"json_copy_strftime_.*", _INSIDE),
    (r"equi_width_bins|lttb", "for pictures of many values; write their bins, or time_bucket(..) and GROUP BY"),
    (r"hash", "its values differ between versions; write md5(x)"),
    (r"variant_.*", "not supported: VARIANT"),
)
"""By the whole name, what is the matter with those that no type of theirs rules out."""
_NAMES = {'"NULL"': "NULL", "INVALID": "INVALID", "V": "MAP"}


def reason(name: str, overloads: list[Overload]) -> str:
    """Why no view holds the function."""
    inside = next((why for pattern, why in _WHY[:2] if re.fullmatch(pattern, name)), None)
    if inside is not None:
        return inside
    foreign = [overload.foreign for overload in overloads]
    if all(foreign) and any(t not in ('"NULL"', "INVALID") for types in foreign for t in types):
        types = {"LIST" if t.endswith("]") else _NAMES.get(_plain(t), _plain(t)) for each in foreign for t in each}
        return f"not supported: {', '.join(sorted(types))}"
    return next(why for pattern, why in _WHY if re.fullmatch(pattern, name))


def page() -> str:
    """The text of the page."""
    maintained: dict[str, list[str]] = defaultdict(list)
    others: dict[str, list[str]] = defaultdict(list)
    for name, (kind, overloads) in declared().items():
        if any(map(is_maintained, example_calls(name, overloads))):
            maintained["aggregates" if kind == "aggregate" else "of a row"].append(name)
        else:
            others[reason(name, overloads)].append(name)
    lines = [*_HEAD, *_TABLE, *(_row(kind, names) for kind, names in sorted(maintained.items(), reverse=True))]
    lines += [*_AD_HOC, *_REASONS, *(_row(why, names) for why, names in sorted(others.items()))]
    return "\n".join(lines) + "\n"


def _row(first: str, names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" if name.isidentifier() else f"`` {name} ``" for name in _gathered(names))
    return f"| {first} | {shown.replace('|', chr(92) + '|')} |"


def _gathered(names: list[str]) -> list[str]:
    """Of families with hundreds of members the name of the family."""
    plain = [name for name in names if not re.match(_FAMILIES, name)]
    return plain + sorted({f"{found[1]}…" for name in names if (found := re.match(_FAMILIES, name))})


_OWN = """\
## Your own

A function of Python's is created as in DuckDB's client, and stands in views, in what changes rows and in queries alike:

```python
import ivm

db = ivm.connect()
db.sql("CREATE TABLE page (id BIGINT PRIMARY KEY, title VARCHAR)")


def slug(title: str) -> str:
    return "-".join(title.lower().split())


db.create_function("slug", slug)
db.sql("CREATE MATERIALIZED VIEW address AS SELECT id, slug(title) AS path FROM page")
db.sql("INSERT INTO page VALUES (1, 'Hello there'), (2, NULL)")
print(db.sql("SELECT * FROM address ORDER BY id").fetchall())  # [(1, 'hello-there'), (2, None)]
print(db.sql("SELECT slug('A B')").fetchall())  # [('a-b',)]
```

Types are those of the annotations, or given: `db.create_function("f", f, ["VARCHAR", "INTEGER[]"], "DOUBLE")`. With
`type="arrow"` the function takes Arrow arrays. See [create_function](api.md) for what else can be said.

A view calls a function once for each combination of arguments that comes, and **remembers the answer** until the last row that
has these is gone. So what it said of a row that goes is what it said when that came, whatever it would say by now. All views
are told the same, and so are queries and `verify()`. What must not be computed is not: in a branch of CASE, behind AND, OR and
COALESCE it is called for the rows that get there; in WHERE after what can be told without it.

An error in a function fails the commit, shows the arguments, and nothing has changed; so does a value that is not of its type.
A function that uses the database which calls it gets an error. One that never returns keeps commits waiting: Ctrl-C ends it,
and the commit with it; in a query, which DuckDB runs, Ctrl-C is heard when the function returns. Views refuse functions with `side_effects=True`, and any function within a loop of WITH RECURSIVE;
CHECK, DEFAULT and generated columns refuse all of them, and so does Spark. There are no aggregates and no table functions of
Python's. `db.remove_function("slug")` is refused while a view calls it.

No log has functions, only how those that views call were declared. Give them when a database on disk is opened,
`ivm.connect("site.ivm", functions={"slug": slug})`, or later: it opens without them, as the shell does, and views can be read.
What needs an answer that is not remembered fails, and says which function is missing (MissingFunctionError); after
`db.create_function` with the same types all goes on. Checkpoints have the answers, also that which `close` makes; what came
since is asked again. So after a crash, or beside a process that writes, a database may need its functions to be opened, and says
so. To have all asked anew, as after a correction, drop the view and create it again.

Cost: beside what the function takes, 0.1 ms for a commit, one or two microseconds for each row that comes or goes, and ten for
arguments that are new or gone: 100,000 rows with new ones take 1.4 s, with known ones 0.15 s. 300 bytes for each combination of
arguments that is there. A query that calls one takes some tens of milliseconds more, since DuckDB gets an instance of its own.
""".splitlines()
_FAMILIES = "(collate_|icu_collate_|__internal_)"
_HEAD = (
    "# Functions",
    "",
    "Each function of DuckDB's that stands in expressions, and what becomes of it here. A test writes this page anew and",
    "compares; it takes a function for maintained if a view may hold a call of it over some of the types that there are.",
    "",
    *_OWN,
    "",
    "## In views",
    "",
    "They are maintained, and stand in INSERT, UPDATE and DELETE, too. Those without a line of code here are computed by",
    "DuckDB, for the distinct arguments of a batch.",
    "",
)
_TABLE = ("| | functions |", "|---|---|")
_REASONS = ("| why | functions |", "|---|---|")
_AD_HOC = (
    "",
    "## In SELECT alone",
    "",
    "DuckDB computes them when a SELECT is run; a view with one is refused.",
    "",
)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
