"""sqlglot's parsers, made to keep what they would lose: what was written stands in the tree, or beside it as lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import TokenType

from ivm.sql.aggregate_nodes import OWN
from ivm.sql.chains import Chained, unchained
from ivm.sql.ir.functions.json import NAMES as JSON
from ivm.sql.ir.functions.nested import LAMBDAS, NAMES
from ivm.sql.past_words import Past
from ivm.sql.signs import Signs, as_here
from ivm.sql.unpacked import Build, kept_if_unpacked, unpacked
from ivm.sql.words_kept import Words

LOST = "lost"
"""Where a node keeps, in its `meta`, the arguments of a call that it has no place for."""

MOST_ROUNDS = 2**31 - 1
"""The greatest limit that a loop may have."""
MUTUALLY = "mutually"
"""Where a WITH MUTUALLY RECURSIVE keeps, in its `meta`, its limit of rounds or None, and whether it fails there."""

AS_WRITTEN = frozenset(
    ("ARRAY_SLICE", "DECODE", "ENCODE", "JARO_WINKLER_SIMILARITY", "STRUCT_EXTRACT", "STRUCT_INSERT", "TIME_BUCKET",
     "TO_BINARY",
     *(name.upper() for name in (*NAMES, *LAMBDAS, *JSON) if name not in ("contains", "len", "length", "map")))
)  # fmt: skip
"""Functions of DuckDB's that sqlglot would read as others, which have more arguments or mean something else."""

TAKES = "takes"
"""Where an INSERT or UPDATE of a MERGE that takes the source's columns keeps, in its `meta`, by what."""


def parser_of(dialect: Dialect) -> Parser:
    """The parser of a dialect, with what it loses kept."""
    reader = copy(dialect)
    reader.INDEX_OFFSET = 0
    if isinstance(dialect, DuckDB):  # of which a path without $ is a key, whatever stands in it
        reader.to_json_path = lambda path: path  # type: ignore[method-assign]
    return _keeping(type(dialect))(dialect=reader)


@cache
def _keeping(dialect: type[Dialect]) -> type[Parser]:
    base = dialect.parser_class
    others = AS_WRITTEN if issubclass(dialect, DuckDB) else frozenset()
    known = {**{name: kind.from_arg_list for name, kind in OWN.items()}, **base.FUNCTIONS}
    functions = {name: kept_if_unpacked(name, _kept(build)) for name, build in known.items() if name not in others}
    functions["UNPACK"] = unpacked
    properties = {**base.PROPERTY_PARSERS, "REPLICATED": lambda _: exp.Var(this="replicated")}
    members = {"FUNCTIONS": functions, "PROPERTY_PARSERS": properties, "counted_from": dialect.INDEX_OFFSET}
    members["FUNCTION_PARSERS"] = {name: parse for name, parse in base.FUNCTION_PARSERS.items() if name not in others}
    members["has_chains"] = bool(others)
    if others:
        members["FUNC_TOKENS"] = base.FUNC_TOKENS | {TokenType.APPLY}
        # DuckDB has no STRUCT<..>: ROW(a, b) < c compares.
        members["NESTED_TYPE_TOKENS"] = base.NESTED_TYPE_TOKENS - base.STRUCT_TYPE_TOKENS
        # In DuckDB an arrow reads JSON, and makes no lambda any more.
        members["LAMBDAS"] = {token: parse for token, parse in base.LAMBDAS.items() if token != TokenType.ARROW}
        members |= as_here(base)
    members["STATEMENT_PARSERS"] = {**base.STATEMENT_PARSERS, **_PIVOTS}
    return type(f"Keeping{base.__name__}", (_Keeping, Past, Words, *((Signs,) if others else ()), base), members)


def _kept(build: Build) -> Build:
    """`build`, with the arguments that the node which it makes has no place for kept in the node's `meta`."""

    def built(args: Sequence[exp.Expr | None], **more: Any) -> exp.Expr:
        given = list(args)
        node = build(args, **more)
        lost = [arg for arg in given if arg is not None and not _stands_in(arg, node)]
        if lost and _is_rewritten(lost[0], node):
            text = lost.pop(0)
            if node.args.get("unit"):
                node.set("unit", exp.Var(this=text.name))  # as it was written: 'm' is a minute here, and a month there
        if lost:
            node.meta[LOST] = lost
        return node

    return built


def made_call(call: exp.Anonymous, args: list[exp.Expr]) -> exp.Expr:
    """The call of a function with other arguments, as the parser of DuckDB's dialect makes it; it may lack some."""
    parser = parser_of(DuckDB())
    assert isinstance(parser, _Keeping), "all are made so"
    return parser.call_of(call, args)


class _Kept:
    """A class of nodes whose `from_arg_list` keeps what the node has no place for."""

    def __init__(self, kind: type[exp.Func]) -> None:
        build = _kept(kind.from_arg_list)
        # What sqlglot makes of MAX and MIN it changes afterwards.
        self.from_arg_list = build if kind in (exp.Max, exp.Min) else kept_if_unpacked(kind.sql_name(), build)


def _stands_in(arg: exp.Expr, node: exp.Expr) -> bool:
    below = arg
    while below is not node:
        above = below.parent
        held = above.args.get(below.arg_key or "") if above is not None else None
        if above is None or not any(each is below for each in (held if isinstance(held, list) else [held])):
            return False
        below = above
    return True


def _is_rewritten(arg: exp.Expr, node: exp.Expr) -> bool:
    """Whether the node holds a text in another form: a unit of time as a word, a format in sqlglot's own letters."""
    return arg.is_string and bool(node.args.get("unit") or isinstance(node.args.get("format"), exp.Literal))


_LITERALS = frozenset((TokenType.NUMBER, TokenType.STRING))
_AFTER_ITEMS = frozenset((TokenType.COMMA, TokenType.R_PAREN))
_AFTER_OPERANDS = _AFTER_ITEMS | {TokenType.AND, TokenType.OR}


_PIVOTS: dict[TokenType, Callable[[Any], exp.Expr]] = {
    TokenType.PIVOT: lambda self: self.pivot_statement(unpivot=False),
    TokenType.UNPIVOT: lambda self: self.pivot_statement(unpivot=True),
}


class _Keeping(Parser):
    """What differs from sqlglot's own parsers, in any dialect; positions in brackets are `counted_from` 0 or 1."""

    counted_from = 0
    has_chains = False
    _chained = False

    def _parse_function(
        self,
        functions: Any = None,
        anonymous: bool = False,
        optional_parens: bool = True,
        any_token: bool = False,
    ) -> exp.Expr | None:
        """A call behind a dot is put aside, for sqlglot takes what is before the dot for names."""
        behind = self.has_chains and anonymous and self._prev.token_type is TokenType.DOT
        found = super()._parse_function(functions, anonymous, optional_parens, any_token)
        if not behind or type(found) is not exp.Anonymous:
            return found
        self._chained = True
        return Chained(this=found)

    def _parse_column_ops(self, this: exp.Expr | None) -> exp.Expr | None:
        """x.f(y) is f(x, y), as in DuckDB."""
        found = super()._parse_column_ops(this)
        if not self._chained or found is None:
            return found
        self._chained = False
        return unchained(found, self.call_of)

    def call_of(self, call: exp.Anonymous, args: list[exp.Expr]) -> exp.Expr:
        """The call of a function by its name."""
        build = self.FUNCTIONS.get(call.name.upper()) if isinstance(call.this, str) else None
        if build is None:
            return exp.Anonymous(this=call.this, expressions=args)
        try:
            return build(args)
        except TypeError:
            return build(args, dialect=self.dialect)

    def _parse_bitwise(self) -> exp.Expr | None:
        """A literal that nothing is done with is read at once: lists and conditions may hold very many."""
        if self._curr.token_type in _LITERALS and self._next.token_type in _AFTER_OPERANDS:
            return self._parse_primary()
        return super()._parse_bitwise()

    def _parse_disjunction(self) -> exp.Expr | None:
        """As above, for literals in lists."""
        if self._curr.token_type in _LITERALS and self._next.token_type in _AFTER_ITEMS:
            return self._parse_primary()
        return super()._parse_disjunction()

    def _parse_type(self, parse_interval: bool = True, fallback_to_identifier: bool = False) -> exp.Expr | None:
        """DATE '2020-01-01'::VARCHAR casts the date: sqlglot would cast the text."""
        if not fallback_to_identifier and self._curr.token_type in self.TYPE_TOKENS - {TokenType.INTERVAL}:
            typed = self._typed_literal()
            if typed is not None:
                return self._parse_column_ops(typed)
        return super()._parse_type(parse_interval, fallback_to_identifier)

    def _typed_literal(self) -> exp.Expr | None:
        start = self._index
        kind = self._parse_types(check_func=True, allow_identifiers=False)
        plain = isinstance(kind, exp.DataType) and kind.this not in self.TYPE_LITERAL_PARSERS
        if plain and not self.ZONE_AWARE_TIMESTAMP_CONSTRUCTOR and self._match(TokenType.STRING, advance=False):
            literal = self._parse_primary()
            if isinstance(literal, exp.Literal):
                return self.expression(exp.Cast(this=literal, to=kind))
        self._retreat(start)
        return None

    def _parse_distinct_arg_function(self, func: Any, distinct_index: int = 0) -> Any:
        """As the functions above, for those whose arguments sqlglot reads in a way of its own."""
        kept: Any = _Kept(func)
        return super()._parse_distinct_arg_function(kept, distinct_index)

    def _parse_with(self, skip_with_token: bool = False) -> exp.With | None:
        """WITH MUTUALLY RECURSIVE [([RETURN AT | ERROR AT] RECURSION LIMIT n)] name (column type, ..) AS (..), .."""
        start = self._index
        begun = skip_with_token or self._match(TokenType.WITH)
        if not (begun and self._match_text_seq("MUTUALLY", "RECURSIVE")):
            self._retreat(start)
            return super()._parse_with(skip_with_token)
        limited = self._parse_round_limit() if self._match(TokenType.L_PAREN) else (None, False)
        clause = super()._parse_with(skip_with_token=True)
        assert clause is not None, "it is expected"
        clause.set("recursive", True)
        clause.meta[MUTUALLY] = limited
        return clause

    def _parse_ddl_select(self) -> exp.Expr | None:
        """PIVOT and UNPIVOT are queries in CREATE .. AS, too."""
        if self._match_set((TokenType.PIVOT, TokenType.UNPIVOT)):
            return self.pivot_statement(unpivot=self._prev.token_type is TokenType.UNPIVOT)
        return super()._parse_ddl_select()

    def pivot_statement(self, *, unpivot: bool) -> exp.Expr:
        """PIVOT .. or UNPIVOT .. [ORDER BY ..] as SELECT * FROM (PIVOT ..) ORDER BY ..; the first word is read."""
        pivot = exp.Subquery(this=self._parse_simplified_pivot(is_unpivot=unpivot))
        query = self._parse_query_modifiers(exp.Select(expressions=[exp.Star()], from_=exp.From(this=pivot)))
        assert query is not None, "it is what was given"
        return query

    def _parse_simplified_pivot(self, is_unpivot: bool | None = None) -> exp.Pivot:
        """PIVOT t ON column IN (value [AS name], ..) USING expressions: sqlglot has neither names nor expressions."""
        table = self._parse_table()
        columns = self._parse_csv(self._parse_pivoted) if self._match(TokenType.ON) else None
        into = self._parse_unpivot_columns()
        using = (
            self._parse_csv(lambda: self._parse_alias(self._parse_bitwise())) if self._match(TokenType.USING) else None
        )
        group = self._parse_group()
        return exp.Pivot(this=table, expressions=columns, using=using, group=group, unpivot=is_unpivot, into=into)

    def _parse_pivoted(self) -> exp.Expr | None:
        """A column with its values, or one of UNPIVOT with its name."""
        this = self._parse_bitwise()
        if not self._match(TokenType.IN):
            return self._parse_alias(this) if self._match(TokenType.ALIAS, advance=False) else this
        if isinstance(this, exp.Neg) or (isinstance(this, exp.Binary) and not isinstance(this, exp.Dot)):
            return exp.Paren(this=self._parse_in(this))  # which is a condition, as in DuckDB
        if self._curr.token_type is not TokenType.L_PAREN or self._next.token_type is TokenType.SELECT:
            return self._parse_in(this)
        values = self._parse_wrapped_csv(lambda: self._parse_alias(self._parse_bitwise()))
        return exp.In(this=this, expressions=values)

    def _parse_round_limit(self) -> tuple[int, bool]:
        """What stands in the parentheses, up to the last: how many rounds, and whether it is an error to want more."""
        returns = bool(self._match_text_seq("RETURN", "AT"))
        if not (returns or self._match_text_seq("ERROR", "AT") or self._curr.text.upper() == "RECURSION"):
            self.raise_error("Expected RETURN AT RECURSION LIMIT n, ERROR AT RECURSION LIMIT n or RECURSION LIMIT n")
        if not self._match_text_seq("RECURSION", "LIMIT"):
            self.raise_error("Expected RECURSION LIMIT n")
        number = self._curr.text
        if not (self._match(TokenType.NUMBER) and number.isdecimal() and int(number) > 0):
            self.raise_error("Expected a number of rounds, 1 or more")
        if int(number) > MOST_ROUNDS:
            self.raise_error(f"Expected a number of rounds up to {MOST_ROUNDS}")
        self._match_r_paren()
        return int(number), not returns

    def _parse_table(self, schema: bool = False, *args: Any, **more: Any) -> exp.Expr | None:
        """The table of an INSERT may have BY POSITION behind it, which says nothing."""
        table = super()._parse_table(schema, *args, **more)
        if schema:
            self._match_text_seq("BY", "POSITION")
        return table

    def _parse_merge(self) -> exp.Merge:
        """MERGE INTO; its source and what makes a pair stand in a join."""
        tree = super()._parse_merge()
        on, using = tree.args.pop("on", None), tree.args.pop("using_cond", None)
        tree.set("using", exp.Join(this=tree.args["using"], on=on or None, using=using or None))
        return tree

    def _parse_when_matched(self) -> exp.Whens:
        """The clauses of a MERGE as DuckDB has them; their conditions and values stand in WHERE and VALUES."""
        whens = []
        while self._match(TokenType.WHEN):
            word = self._prev
            matched = not self._match(TokenType.NOT)
            if not self._match_text_seq("MATCHED"):
                self.raise_error("Expected MATCHED")
            by_source = not matched and bool(self._match_text_seq("BY", "SOURCE"))
            if not (matched or by_source):
                self._match_text_seq("BY", "TARGET")
            condition = exp.Where(this=self._parse_disjunction()) if self._match(TokenType.AND) else None
            if not self._match(TokenType.THEN):
                self.raise_error("Expected THEN")
            when = exp.When(matched=matched, source=by_source, condition=condition, then=self._parse_merge_action())
            when.meta.update(start=word.start, end=word.end)
            whens.append(when)
        return self.expression(exp.Whens(expressions=whens))

    def _parse_merge_action(self) -> exp.Expr:
        """What follows THEN: an Insert or Update, VALUES (why) of an ERROR, or a word."""
        if self._match(TokenType.DELETE):
            return exp.Var(this="DELETE")
        if self._match_text_seq("DO", "NOTHING"):
            return exp.Var(this="DO NOTHING")
        if self._match_text_seq("ERROR"):
            why = self._parse_disjunction()
            return exp.Values(expressions=[exp.Tuple(expressions=[why] if why else [])])
        if self._match(TokenType.UPDATE):
            return self._parse_merge_update()
        if not self._match(TokenType.INSERT):
            self.raise_error("Expected UPDATE, DELETE, INSERT or DO NOTHING")
        return self._parse_merge_insert()

    def _parse_merge_update(self) -> exp.Update:
        """UPDATE [SET assignments | SET * | BY NAME | BY POSITION]."""
        update = exp.Update()
        if not self._match(TokenType.SET):
            update.meta[TAKES] = self._parse_by_what()
        elif self._match(TokenType.STAR):
            update.meta[TAKES] = "position"
        else:
            update.set("expressions", self._parse_csv(self._parse_update_assignment))
        return update

    def _parse_merge_insert(self) -> exp.Insert:
        """INSERT [(columns)] VALUES (..), DEFAULT VALUES, or [BY NAME | BY POSITION] [*]."""
        if self._match_text_seq("DEFAULT", "VALUES"):
            return exp.Insert(default=True)
        columns = self._parse_wrapped_csv(self._parse_id_var) if self._match(TokenType.L_PAREN, advance=False) else None
        if columns or self._match(TokenType.VALUES, advance=False):
            if not self._match(TokenType.VALUES):
                self.raise_error("Expected VALUES")
            row = exp.Tuple(expressions=self._parse_wrapped_csv(self._parse_expression))
            this = exp.Tuple(expressions=columns) if columns else None
            return exp.Insert(this=this, expression=exp.Values(expressions=[row]))
        insert = exp.Insert()
        insert.meta[TAKES] = self._parse_by_what()
        self._match(TokenType.STAR)
        return insert

    def _parse_by_what(self) -> str:
        by_name = bool(self._match_text_seq("BY", "NAME"))
        if not by_name:
            self._match_text_seq("BY", "POSITION")
        return "name" if by_name else "position"

    def _parse_interval_span(self, this: exp.Expr, parse_function_unit: bool = True) -> exp.Interval:
        """INTERVAL '1 day ago' keeps its text: sqlglot would take a number and a word of it, and leave the rest."""
        interval = super()._parse_interval_span(this, parse_function_unit)
        if this.is_string and interval.this is not this and isinstance(interval.args.get("unit"), exp.Var):
            interval.set("this", this)
            interval.set("unit", None)
            interval.set("fraction_in_string", None)
        return interval

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        """x[2] is the second of x, whatever x is: sqlglot counts from 0 where it takes x for a list."""
        if isinstance(this, exp.Bracket) and self.counted_from:
            this.set("offset", self.counted_from)
        return super()._parse_bracket(this)
