"""What is read of each kind of node of sqlglot's trees; whatever else was written there is refused.

What sqlglot says that a kind requires is read. One table says for expressions, clauses, items of FROM, types and
statements what else is, another what to write in place of what is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NoReturn

from sqlglot import exp

from ivm.sql.aggregate_nodes import OWN
from ivm.sql.ir.functions import FUNCTIONS, Function
from ivm.sql.past_words import AS_OF
from ivm.sql.reader import AS_WRITTEN, LOST
from ivm.sql.sql_text import SqlText, offset_of, text_of
from ivm.sql.tree import ENDINGS

PLAIN: dict[str, tuple[Function, ...]] = {
    name: tuple(function for function in FUNCTIONS.values() if name in function.names)
    for name in dict.fromkeys(name for function in FUNCTIONS.values() for name in function.names)
}
"""Their declarations by each name that SQL calls them by."""

KINDS: dict[type[exp.Expr], tuple[str, tuple[str, ...]]] = {
    kind: (functions[0].names[0], tuple(kind.arg_types)[: max(len(function.takes) for function in functions)])
    for name, functions in PLAIN.items()
    if name.upper() not in AS_WRITTEN and (kind := exp.FUNCTION_BY_NAME.get(name.upper())) is not None
}
"""Of each class the function's first name, and under which names its arguments stand in a node."""


_TIMES = ("year", "month", "day", "hour", "min", "sec")

_MORE: tuple[tuple[tuple[str, ...], tuple[type[exp.Expr], ...]], ...] = (
    ((), (exp.All, exp.Any, exp.AtTimeZone, exp.Between, exp.Boolean, exp.Bracket, exp.ByteString, exp.CTE,
          exp.CheckColumnConstraint, exp.CollateColumnConstraint, exp.Constraint, exp.Credentials, exp.DataTypeParam,
          exp.DefaultColumnConstraint, exp.Describe, exp.Filter, exp.From, exp.GroupingSets, exp.Having,
          exp.HexString, exp.Identifier, exp.IgnoreNulls, exp.Literal, exp.MaterializedProperty, exp.Null, exp.Offset,
          exp.PartitionedByProperty, exp.PrimaryKey, exp.PrimaryKeyColumnConstraint, exp.Properties, exp.Property,
          exp.Qualify, exp.RespectNulls,
          exp.Returning, exp.Summarize, exp.TemporaryProperty, exp.TruncateTable, exp.Var, exp.Where,
          exp.WithDataProperty, exp.ToMap, exp.Dot, exp.PositionalColumn, exp.PropertyEQ)),
    (("keys", "values"), (exp.Map,)),
    (("this",), (exp.ColumnConstraint, exp.Count, exp.Mode, exp.Ntile, exp.Order, exp.RowNumber,
                 exp.UniqueColumnConstraint)),
    (("expression",), (exp.CopyParameter, exp.Log, exp.PercentileCont, exp.PercentileDisc, exp.WithinGroup)),
    (("expressions",), (exp.Anonymous, exp.Array, exp.Coalesce, exp.Cube, exp.Explode, exp.Format, exp.Greatest,
                        exp.GroupingId, exp.Least, exp.Rollup, exp.Struct, exp.Tuple, exp.CumeDist,
                        exp.PercentRank, exp.Rank)),
    (("expression",), (exp.RegrCount, exp.RegrIntercept, exp.RegrR2, exp.RegrSlope)),
    (("alias",), (exp.Alias,)),
    (("alias", "ordinality"), (exp.Lateral,)),
    (("alias", "offset"), (exp.Unnest,)),
    (("this", "expression", "step"), (exp.Slice,)),
    (("this", "expressions"), (exp.Lambda,)),
    (("expression", "position", "iterator", "condition"), (exp.Comprehension,)),
    (("this", "expressions"), (exp.Schema,)),
    (("expressions", "kind", "values"), (exp.DataType,)),
    # expressions
    (("catalog", "db", "table"), (exp.Column,)),
    (("decimals",), (exp.Round, exp.Trunc)),
    (("count",), (exp.ArgMax, exp.ArgMin, exp.Max, exp.Min)),
    (("default", "offset"), (exp.Lag, exp.Lead)),
    (("expressions", "query", "field"), (exp.In,)),
    (("expression", "position"), (exp.Trim,)),
    (("false",), (exp.If,)),
    (("fill_pattern",), (exp.Pad,)),
    (("flag",), (exp.RegexpLike,)),
    (("group", "parameters"), (exp.RegexpExtract,)),
    (("is_literal",), (exp.ParseJSON,)),
    (("this",), (exp.Date,)),
    (("length",), (exp.SHA2,)),
    (("modifiers", "replacement"), (exp.RegexpReplace,)),
    (("negate",), (exp.ILike, exp.Like)),
    (("options",), (exp.Reference, exp.RegexpFullMatch)),
    (("scale",), (exp.UnixToTime,)),
    (("separator",), (exp.GroupConcat,)),
    (("step", "is_end_exclusive"), (exp.GenerateSeries,)),
    (("this", "default"), (exp.Case,)),
    (("this", "unit"), (exp.Interval,)),
    (("unit",), (exp.DateDiff,)),
    (_TIMES, (exp.TimestampFromParts,)),
    (_TIMES[:3], (exp.DateFromParts,)),
    # clauses
    (("with_", "expressions", "distinct", "from_", "joins", "where", "group", "having", "windows", "qualify", *ENDINGS),
     (exp.Select,)),
    (("with_", "distinct", "by_name", *ENDINGS), (exp.Union, exp.Intersect, exp.Except)),
    (("alias", *ENDINGS), (exp.Values,)),
    (("alias", "with_", "joins", *ENDINGS), (exp.Subquery,)),
    (("this", "alias", "db", "joins", "ordinality"), (exp.Table,)),
    (("this", "columns"), (exp.TableAlias,)),
    (("on", "side", "kind", "using", "method"), (exp.Join,)),
    (("expressions", "recursive"), (exp.With,)),
    (("expressions", "all"), (exp.Group,)),
    (("desc",), (exp.Ordered,)),
    (("limit_options",), (exp.Limit,)),
    (("count", "limit_options"), (exp.Fetch,)),
    (("percent", "with_ties"), (exp.LimitOptions,)),
    (("expressions", "on"), (exp.Distinct,)),
    (("except_", "replace", "rename", "ilike"), (exp.Star,)),
    (("partition_by", "order", "spec", "alias"), (exp.Window,)),
    (("kind", "start", "start_side", "end", "end_side", "exclude"), (exp.WindowSpec,)),
    # statements
    (("expression", "exists", "replace", "properties", "unique"), (exp.Create,)),
    (("tables", "kind", "exists", "cascade"), (exp.Drop,)),
    (("with_", "this", "expression", "by_name", "default", "alternative", "conflict", "returning"), (exp.Insert,)),
    (("action", "conflict_keys", "expressions", "where"), (exp.OnConflict,)),
    (("with_", "this", "expressions", "from_", "where", "returning"), (exp.Update,)),
    (("with_", "this", "using", "where", "returning"), (exp.Delete,)),
    (("with_", "returning"), (exp.Merge,)),
    (("source", "condition"), (exp.When,)),
    ((), (exp.Whens,)),
    (("files", "params"), (exp.Copy,)),
    (("this", "table", "params"), (exp.Index,)),
    (("columns", "where"), (exp.IndexParameters,)),
    (("delete",), (exp.OnCommitProperty,)),
    (("kind", "constraints"), (exp.ColumnDef,)),
    (("allow_null",), (exp.NotNullColumnConstraint,)),
    (("expression",), (exp.GeneratedAsIdentityColumnConstraint,)),
    (("this", "persisted"), (exp.ComputedColumnConstraint,)),
    (("expressions", "reference"), (exp.ForeignKey,)),
)  # fmt: skip
"""What is read of kinds of nodes beyond what they require; functions and operators of which no more is are not here."""

MORE: dict[type[exp.Expr], tuple[str, ...]] = {
    **{kind: args for kind, (_, args) in KINDS.items()},
    **{kind: tuple(kind.arg_types) for kind in OWN.values()},
    **{kind: args for args, kinds in _MORE for kind in kinds},
}


_KNOWN: dict[type[exp.Expr], frozenset[str]] = {}


def read_of(kind: type[exp.Expr]) -> frozenset[str] | None:
    """The arguments that are read of a kind of node, or refused by their own name where they are met.

    None for a kind that nobody reads. Of a function or an operator that the binder has no handler for, it says so.
    """
    if kind not in _KNOWN:
        if kind not in MORE and not issubclass(kind, exp.Func | exp.Binary | exp.Unary):
            return None
        required = {arg for arg, is_required in kind.arg_types.items() if is_required}
        _KNOWN[kind] = frozenset(required.difference(IMPLIED.get(kind, ())).union(MORE.get(kind, ())))
    return _KNOWN[kind]


IMPLIED: dict[type[exp.Expr], frozenset[str]] = {
    exp.Array: frozenset(["value_constructor", "bracket_notation"]),
    exp.Bracket: frozenset(["offset"]),  # from what positions are counted, which is what was written
    exp.CTE: frozenset(["materialized"]),  # how DuckDB is to compute it, not what
    exp.Coalesce: frozenset(["is_nvl", "is_null"]),  # IFNULL
    exp.Column: frozenset(["shadow"]),
    exp.Concat: frozenset(["safe", "coalesce"]),
    exp.ConcatWs: frozenset(["safe", "coalesce"]),
    exp.Copy: frozenset(["credentials"]),  # whose own arguments are refused
    exp.Count: frozenset(["big_int"]),
    exp.DPipe: frozenset(["safe"]),
    exp.DataType: frozenset(["nested"]),
    exp.DateDiff: frozenset(["date_part_boundary"]),
    exp.Div: frozenset(["typed", "safe"]),
    exp.Describe: frozenset(["kind"]),  # TABLE
    exp.Drop: frozenset(["materialized", "restrict"]),  # DROP refuses what is used anyway
    exp.Fetch: frozenset(["direction"]),  # FIRST or NEXT
    exp.GeneratedAsIdentityColumnConstraint: frozenset(["this"]),  # ALWAYS
    exp.Greatest: frozenset(["ignore_nulls"]),
    exp.Identifier: frozenset(["quoted"]),  # names are found in any case
    exp.Least: frozenset(["ignore_nulls"]),
    exp.LimitOptions: frozenset(["rows"]),
    exp.PrimaryKey: frozenset(["this", "include"]),
    exp.PrimaryKeyColumnConstraint: frozenset(["include"]),
    exp.Summarize: frozenset(["table"]),
    exp.RegexpExtract: frozenset(["null_if_pos_overflow", "empty_if_group_missing"]),
    exp.RegexpReplace: frozenset(["single_replace"]),
    exp.TryCast: frozenset(["safe"]),
    exp.Window: frozenset(["over"]),
}
"""Arguments that say nothing more than the kind of node does: flags, words and names, never expressions."""


_PAST = "a view shows the present; read the past in a SELECT, which is answered once"
INSTEAD: dict[tuple[type[exp.Expr], str], str] = {
    (exp.Between, "symmetric"): "BETWEEN SYMMETRIC is not supported; write BETWEEN least(a, b) AND greatest(a, b)",
    **{
        (kind, arg): f"{kind.__name__.upper()} to a number of digits is not supported; write round or trunc"
        for kind in (exp.Floor, exp.Ceil)
        for arg in ("decimals", "to")
    },
    **dict.fromkeys(
        ((exp.StrPosition, "position"), (exp.StrPosition, "occurrence")),
        "a position counted from a start or by occurrence is not supported; cut the text first",
    ),
    (exp.CTE, "key_expressions"): "USING KEY is not maintained; write WITH MUTUALLY RECURSIVE with GROUP BY the key",
    (exp.With, "search"): "SEARCH is not maintained; compute what rows are to be ordered by in a column",
    (exp.With, "cycle"): "CYCLE is not maintained; UNION ends on cycles by itself",
    **dict.fromkeys(((exp.Table, "version"), (exp.Table, "when")), _PAST),
    (exp.Select, "sample"): "a sample changes without a change to a table; filter with WHERE instead",
    (exp.Select, "into"): "SELECT INTO is not supported; write CREATE MATERIALIZED VIEW ... AS SELECT",
    (exp.Select, "locks"): "FOR UPDATE is not supported; leave it out",
    (exp.Select, "laterals"): "LATERAL VIEW is not supported; write FROM t, LATERAL (SELECT ...) AS x",
    (exp.Select, "pivots"): "PIVOT is not maintained yet; write sum(CASE WHEN ... END) for each column",
    (exp.Insert, "overwrite"): "INSERT: OVERWRITE is not supported; write DELETE FROM first",
    (exp.OnConflict, "duplicate"): "ON DUPLICATE KEY is not supported; write ON CONFLICT (columns) DO UPDATE SET ...",
    (exp.OnConflict, "index_predicate"): (
        "a condition after the columns of ON CONFLICT is not supported; leave it out"
    ),
    (exp.OnConflict, "constraint"): (
        "ON CONSTRAINT is not supported; write the constraint's columns: ON CONFLICT (columns)"
    ),
    (exp.Returning, "into"): "RETURNING: INTO is not supported; read the result",
}
"""What is said of an argument that is not read, where more than to leave it out can be said."""


def refuse_unread(nodes: Iterable[exp.Expr], source: SqlText) -> None:
    """UnsupportedError for the first argument of these nodes that nobody reads, with its position.

    Cost: one look at each node.
    """
    for node in nodes:
        kind = type(node)
        read = read_of(kind)
        if read is None:
            source.refuse(node, f"{text_of(node)[:60]} is not supported; leave it out")
        for arg, value in node.args.items():
            if value and arg not in read and not _is_implied(kind, arg, value):
                _refuse(node, arg, value, source)
        lost = node.meta_get(LOST)
        if lost:
            _refuse(node, "", lost, source)


def declared(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of a statement, without those of its queries, relations, conditions and values."""
    return tree.walk(prune=lambda node: isinstance(node, _COMPUTED))


_COMPUTED = (
    exp.Query,
    exp.Values,
    exp.Where,
    exp.EQ,
    exp.With,
    exp.From,
    exp.Join,
    exp.Returning,
    exp.Ordered,
    exp.CheckColumnConstraint,
    exp.CollateColumnConstraint,
    exp.DefaultColumnConstraint,
    exp.GeneratedAsIdentityColumnConstraint,
    exp.ComputedColumnConstraint,
)


def _is_implied(kind: type[exp.Expr], arg: str, value: object) -> bool:
    plain = isinstance(value, exp.Identifier | exp.IndexParameters | exp.Credentials) or not isinstance(
        value, exp.Expr | list
    )
    return plain and arg in IMPLIED.get(kind, ())


def _refuse(node: exp.Expr, arg: str, value: object, source: SqlText) -> NoReturn:
    found = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, exp.Expr)]
    at = next((each for each in found if offset_of(each) is not None), node)
    written = ", ".join(text_of(each)[:60] for each in found) or arg.strip("_").upper().replace("_", " ")
    plain = f"{written} in {_name(node, source)} is not supported; leave it out"
    source.refuse(at, _PAST if arg == AS_OF else INSTEAD.get((type(node), arg), plain))


def _name(node: exp.Expr, source: SqlText) -> str:
    if not isinstance(node, exp.Func):
        return type(node).__name__.upper()
    start, end = node.meta.get("start"), node.meta.get("end")
    written = text_of(node).split("(")[0] if start is None or end is None else source.text[start : end + 1]
    return f"{written.lower()}()"
