"""What is read of each kind of node of sqlglot's trees; whatever else was written there is refused.

One table for expressions, clauses, items of FROM, types and statements. A handler that reads more of a node says so
here; a kind that is not here, and that no handler refused by its own name, is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NoReturn

from sqlglot import exp

from sql.plain_functions import KINDS
from sql.reader import LOST
from sql.sql_text import SqlText, text_of

_ENDING = ("order", "limit", "offset")
_SET = ("with_", "this", "expression", "distinct", "by_name", *_ENDING)

_READ: tuple[tuple[tuple[str, ...], tuple[type[exp.Expr], ...]], ...] = (
    ((), (exp.Null, exp.Pi)),
    (
        ("this",),
        (
            exp.Abs, exp.All, exp.Any, exp.AnyValue, exp.Avg, exp.BitwiseNot, exp.Boolean, exp.ByteString, exp.Ceil,
            exp.Count, exp.CountIf, exp.Day, exp.DayOfMonth, exp.DayOfWeek, exp.DayOfWeekIso, exp.DayOfYear, exp.Exists,
            exp.First, exp.Floor, exp.From, exp.Having, exp.Hour, exp.IgnoreNulls, exp.Last, exp.LogicalAnd,
            exp.LogicalOr, exp.Max, exp.Median, exp.Min, exp.Minute, exp.Mode, exp.Month, exp.Neg, exp.Not, exp.Paren,
            exp.Qualify, exp.Quarter, exp.RespectNulls, exp.Second, exp.Sign, exp.Stddev, exp.StddevPop, exp.StddevSamp,
            exp.Sum, exp.TimeToUnix, exp.ToDays, exp.Typeof, exp.Var, exp.Variance, exp.VariancePop, exp.Week,
            exp.WeekOfYear, exp.Where, exp.Year,
        ),
    ),
    (
        ("this", "expression"),
        (
            exp.Add, exp.And, exp.ArgMax, exp.ArgMin, exp.BitwiseAnd, exp.BitwiseLeftShift, exp.BitwiseOr,
            exp.BitwiseRightShift, exp.BitwiseXor, exp.DPipe, exp.DateAdd, exp.DateBin, exp.Div, exp.EQ, exp.Escape,
            exp.Extract, exp.Filter, exp.GT, exp.GTE, exp.IntDiv, exp.Is, exp.LT, exp.LTE, exp.Log, exp.Mod, exp.Mul,
            exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Nullif, exp.Or, exp.PercentileCont, exp.PercentileDisc,
            exp.SimilarTo, exp.Slice, exp.Sub, exp.WithinGroup,
        ),
    ),
    (
        ("this", "expressions"),
        (exp.Anonymous, exp.Bracket, exp.Coalesce, exp.Format, exp.Greatest, exp.Least, exp.Order),
    ),
    (("this", "expressions", "kind"), (exp.DataType,)),
    (
        ("expressions",),
        (exp.Concat, exp.ConcatWs, exp.Cube, exp.Grouping, exp.GroupingId, exp.GroupingSets, exp.Rollup,
         exp.Tuple),
    ),
    (("this", "expression", "negate"), (exp.Like, exp.ILike)),
    (("this", "expression", "unit"), (exp.DateDiff,)),
    (("this", "unit"), (exp.DateTrunc, exp.Interval, exp.TimestampTrunc)),
    ((), (exp.CumeDist, exp.DenseRank, exp.PercentRank, exp.Rank, exp.RowNumber)),
    (("this",), (exp.FirstValue, exp.LastValue, exp.Ntile)),
    (("this", "offset"), (exp.NthValue,)),
    (("this", "offset", "default"), (exp.Lag, exp.Lead)),
    (("this", "decimals"), (exp.Round, exp.Trunc)),
    (("this", "format"), (exp.StrToTime, exp.TimeToStr)),
    (("this", "is_string"), (exp.Literal,)),
    (("this", "length"), (exp.SHA2,)),
    (("this", "quantile"), (exp.Quantile,)),
    (("this", "scale"), (exp.UnixToTime,)),
    (("start", "end", "step", "is_end_exclusive"), (exp.GenerateSeries,)),
    (("this", "separator"), (exp.GroupConcat,)),
    (("this", "substr"), (exp.StrPosition,)),
    (("this", "to"), (exp.Cast, exp.TryCast)),
    (("this", "zone"), (exp.AtTimeZone,)),
    (("this", "table", "db"), (exp.Column,)),
    (("this", "low", "high"), (exp.Between,)),
    (("this", "expressions", "query"), (exp.In,)),
    (("this", "ifs", "default"), (exp.Case,)),
    (("this", "true", "false"), (exp.If,)),
    (("this", "expression", "fill_pattern", "is_left"), (exp.Pad,)),
    (("this", "expression", "position"), (exp.Trim,)),
    (("this", "expression", "flag"), (exp.RegexpLike,)),
    (("this", "expression", "options"), (exp.RegexpFullMatch,)),
    (("this", "expression", "replacement", "modifiers"), (exp.RegexpReplace,)),
    (("this", "expression", "parameters", "group"), (exp.RegexpExtract,)),
    (("year", "month", "day"), (exp.DateFromParts,)),
    (("year", "month", "day", "hour", "min", "sec"), (exp.TimestampFromParts,)),
    (("this",), (exp.ArrayAgg, exp.DataTypeParam, exp.Identifier)),
    # clauses
    (("with_", "expressions", "distinct", "from_", "joins", "where", "group", "having", "windows", "qualify", *_ENDING),
     (exp.Select,)),
    (_SET, (exp.Union, exp.Intersect, exp.Except)),
    (("expressions", "alias", *_ENDING), (exp.Values,)),
    (("this", "alias", "with_", "joins", *_ENDING), (exp.Subquery,)),
    (("this", "alias", "db", "joins"), (exp.Table,)),
    (("this", "alias"), (exp.Alias, exp.CTE, exp.Lateral)),
    (("this", "columns"), (exp.TableAlias,)),
    (("this", "on", "side", "kind", "using", "method"), (exp.Join,)),
    (("expressions", "recursive"), (exp.With,)),
    (("expressions", "all"), (exp.Group,)),
    (("this", "desc", "nulls_first"), (exp.Ordered,)),
    (("expression", "limit_options"), (exp.Limit,)),
    (("count", "limit_options"), (exp.Fetch,)),
    (("percent", "with_ties"), (exp.LimitOptions,)),
    (("expression",), (exp.Offset,)),
    (("expressions", "on"), (exp.Distinct,)),
    (("except_",), (exp.Star,)),
    (("this", "partition_by", "order", "spec", "alias"), (exp.Window,)),
    (("kind", "start", "start_side", "end", "end_side"), (exp.WindowSpec,)),
    # statements
    (("this", "kind", "expression", "exists", "replace", "properties", "unique"), (exp.Create,)),
    (("tables", "kind", "exists", "cascade"), (exp.Drop,)),
    (("with_", "this", "expression", "by_name", "default", "alternative", "conflict", "returning"), (exp.Insert,)),
    (("action", "conflict_keys", "expressions", "where"), (exp.OnConflict,)),
    (("with_", "this", "expressions", "from_", "where", "returning"), (exp.Update,)),
    (("with_", "this", "using", "where", "returning"), (exp.Delete,)),
    (("expressions",), (exp.Returning, exp.TruncateTable)),
    (("this",), (exp.Describe, exp.Show, exp.Summarize)),
    (("this", "kind", "files", "params"), (exp.Copy,)),
    (("this", "expression"), (exp.CopyParameter,)),
    (("this", "table", "params"), (exp.Index,)),
    (("columns", "where"), (exp.IndexParameters,)),
    (("no",), (exp.WithDataProperty,)),
    (("this", "expressions"), (exp.Schema,)),
    (("expressions", "this"), (exp.Constraint,)),
    (("expressions",), (exp.PrimaryKey, exp.Properties)),
    (("this", "value"), (exp.Property,)),
    (("this", "kind", "constraints"), (exp.ColumnDef,)),
    (("kind", "this"), (exp.ColumnConstraint,)),
    (("allow_null",), (exp.NotNullColumnConstraint,)),
    (("this",), (exp.CheckColumnConstraint, exp.DefaultColumnConstraint, exp.UniqueColumnConstraint)),
    ((), (exp.Credentials, exp.MaterializedProperty, exp.PrimaryKeyColumnConstraint)),
    (("this",), (exp.Reference,)),
    (("expressions", "reference"), (exp.ForeignKey,)),
)  # fmt: skip

READ: dict[type[exp.Expr], frozenset[str]] = {
    **{kind: frozenset(args) for kind, (_, args) in KINDS.items()},
    **{kind: frozenset(args) for args, kinds in _READ for kind in kinds},
}
"""The arguments that are read of each kind of node, or refused by their own name where they are met."""

IMPLIED: dict[type[exp.Expr], frozenset[str]] = {
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


def refuse_unread(nodes: Iterable[exp.Expr], source: SqlText) -> None:
    """UnsupportedError for the first argument of these nodes that nobody reads, with its position.

    Cost: one look at each node.
    """
    for node in nodes:
        kind = type(node)
        read = READ.get(kind)
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
    exp.DefaultColumnConstraint,
)


def _is_implied(kind: type[exp.Expr], arg: str, value: object) -> bool:
    plain = isinstance(value, exp.Identifier | exp.IndexParameters | exp.Credentials) or not isinstance(
        value, exp.Expr | list
    )
    return plain and arg in IMPLIED.get(kind, ())


def _refuse(node: exp.Expr, arg: str, value: object, source: SqlText) -> NoReturn:
    found = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, exp.Expr)]
    what = ", ".join(text_of(each)[:60] for each in found) or arg.strip("_").upper().replace("_", " ")
    at = next((each for each in found if source.knows(each)), node)
    source.refuse(at, f"{what} in {_name(node, source)} is not supported; leave it out")


def _name(node: exp.Expr, source: SqlText) -> str:
    if not isinstance(node, exp.Func):
        return type(node).__name__.upper()
    start, end = node.meta.get("start"), node.meta.get("end")
    written = text_of(node).split("(")[0] if start is None or end is None else source.text[start : end + 1]
    return f"{written.lower()}()"
