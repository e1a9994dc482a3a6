"""The binder of expressions: what it knows, and the dispatch over kinds of nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import NoReturn

from sqlglot import exp

from ivm.catalog.function import PythonFunctions
from ivm.catalog.names import key
from ivm.catalog.types import BOOLEAN, JSON, NULL, TIMESTAMP, TIMESTAMPTZ, VARCHAR, Kind, SqlType, list_of
from ivm.catalog.zones import UTC, is_zoned
from ivm.sql.bind.expressions.nested import Subqueries
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.names.scope import OuterRow, Scope
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar, walk
from ivm.sql.ir.zoned import by_utc
from ivm.sql.refused import FOREIGN_FUNCTIONS
from ivm.sql.sql_text import Placed, SqlText, text_of
from ivm.sql.types.casts import castable
from ivm.sql.types.literals import convert, convert_in

MOST_REPEATED = 50_000
"""So many parts of expressions may be put where their aliases are named, all together."""

Handler = Callable[["Binder", exp.Expr], Operand]


@dataclass(slots=True)
class Aggregates:
    """The distinct aggregates of a block, each with the text that it was written as, and the node.

    Aggregate i is bound as column `width` + i of the block's input row, until the block puts the columns of the reduce
    in their place. `grouped` if the block has keys, so that no group is empty.
    """

    width: int
    grouped: bool
    found: list[Aggregate] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    nodes: list[exp.Expr] = field(default_factory=list)

    def column(self, aggregate: Aggregate, name: str, node: exp.Expr) -> Column:
        """The column that stands for `aggregate`, written as `node`; the same for the same aggregate."""
        if aggregate not in self.found:
            self.found.append(aggregate)
            self.names.append(name)
            self.nodes.append(node)
        return Column(self.width + self.found.index(aggregate), aggregate.type, aggregate.nullable)


@dataclass(slots=True)
class Binder(Placed):
    """Binds the expressions of one block.

    `handlers` say how each kind of node is bound. `aliases` are the expressions of the SELECT list that may be named
    where no column has the name, by the keys of their names. `aggregates` collects; None where none may stand, which
    is in the `clause` named. `mentions` remembers which node named each column, for messages. `outer` are the rows of
    the blocks around, the nearest last. The subqueries of the block collect `below`, over the rows of its FROM, or
    `above`, over its groups. `functions`: those of the application's; `no_functions`: what to do
    instead where none of them can be called.
    """

    source: SqlText
    scope: Scope
    handlers: Mapping[type[exp.Expr], Handler]
    clause: str
    aliases: Mapping[str, exp.Expr] = field(default_factory=dict)
    aggregates: Aggregates | None = None
    mentions: dict[int, exp.Expr] = field(default_factory=dict)
    windows: object | None = None  # collects window functions, as `aggregates` does aggregates
    unnests: object | None = None  # collects lists that rows are made of
    known: Mapping[int, Operand] = field(default_factory=dict)  # nodes that are bound already, by their id
    outer: tuple[OuterRow, ...] = ()
    below: Subqueries | None = None
    above: Subqueries | None = None
    functions: PythonFunctions = field(default_factory=dict)
    no_functions: str = ""
    _open: list[str] = field(default_factory=list)
    _bound: dict[tuple[str, str, bool, bool], Operand] = field(default_factory=dict)
    _refused: int = 0  # names of aliases that were not taken for them, since they stand in what these stand for
    _repeated: int = 0

    def bind(self, node: exp.Expr) -> Operand:
        """The typed expression that `node` writes; raises the error that fits, with its position."""
        self._check_name(node)
        around = self.around(node) if isinstance(node, exp.AggFunc | exp.Filter) else None
        if around is not None:
            return self._of_block_around(node, around)
        if id(node) in self.known:
            return self.known[id(node)]
        handler = self.handlers.get(type(node))
        if handler is None:
            self.refuse(node, f"{_kind(node)} in {self.clause}{_instead(node)}")
        return handler(self, node)

    def _check_name(self, node: exp.Expr) -> None:
        """Refuse a function of another SQL system, which DuckDB could not recompute either."""
        if isinstance(node, exp.Func) and "start" in node.meta:
            written = self.source.text[node.meta["start"] : node.meta["end"] + 1].lower()
            if written in FOREIGN_FUNCTIONS:
                self.refuse(node, f"the function {written}() is not DuckDB's; write {FOREIGN_FUNCTIONS[written]}()")

    def condition(self, node: exp.Expr) -> Scalar:
        """The BOOLEAN that `node` writes; a number counts as true if it is not zero."""
        operand = self.bind(node)
        if operand.type.is_integer:
            zero = Literal(0, operand.type)
            return Call("ne", (operand.scalar, zero), BOOLEAN, operand.scalar.nullable)
        if operand.type not in (BOOLEAN, NULL) and not operand.is_text_literal:
            self.mismatch(node, f"{self.clause} needs a condition, not a {operand.type}; compare it with something")
        return self.cast(operand, BOOLEAN)

    def find(self, node: exp.Column) -> Operand | None:
        """The column that `node` names; a name that is no column may be an alias of the SELECT list."""
        found = self.lookup(node)
        for row in reversed(self.outer):
            found = found or row.column(node)
        return found

    def missing(self, node: exp.Column) -> NoReturn:
        """Raise the error of a name that is none of a column."""
        if node.args.get("db") and key(node.text("db")) != "main":
            self.refuse(node, f"the name {text_of(node)} has too many parts; write table.column")
        self.fail(node, self._unknown(node.name, node.table))

    def lookup(self, node: exp.Column) -> Operand | None:
        """The column of this block that `node` names; None if it is neither a column of it nor an alias."""
        name, table = node.name, node.table
        if node.args.get("db") and key(node.text("db")) != "main":
            return None
        found = self.scope.find(name, table)
        if len(found) > 1:
            options = " or ".join(f"{c.table}.{c.name}" for c in found)
            self.fail(node, f"column {name!r} is ambiguous; write {options}")
        if found:
            self.mentions[found[0].column.index] = node
            return Operand(node, found[0].column)
        alias = key(name)
        if table or alias not in self.aliases:
            return None
        if alias in self._open:
            self._refused += 1
            return None
        operand = self._aliased(alias, node)
        return Operand(node, operand.scalar)

    def _aliased(self, alias: str, node: exp.Expr) -> Operand:
        """The expression that an alias stands for, bound once for all who name it from the same kind of place."""
        place = alias, self.clause, self.aggregates is None, self.windows is None
        known = self._bound.get(place)
        if known is None:
            refused = self._refused
            self._open.append(alias)
            known = self.bind(self.aliases[alias])
            self._open.pop()
            if self._refused == refused:  # else it depends on who names it
                self._bound[place] = known
        self._repeated += sum(1 for _ in islice(walk(known.scalar), MOST_REPEATED))
        if self._repeated > MOST_REPEATED:
            what = f"aliases that are named by other expressions repeat more than {MOST_REPEATED} parts"
            self.refuse(node, f"{what}, which is the limit; compute {alias} in a subquery in FROM")
        return known

    @property
    def subqueries(self) -> Subqueries | None:
        """Where the subqueries of the expression being bound collect; None where none may stand."""
        return self.below if self.aggregates is None else self.above

    def _of_block_around(self, node: exp.Expr, row: OuterRow) -> Operand:
        if not row.names.is_grouped:
            what = f"{_kind(node)} is over columns of the query around, which has no groups there"
            self.fail(node, f"{what}; aggregate in a subquery in FROM of that query, or give it GROUP BY")
        return row.bind(node)

    @property
    def is_grouped(self) -> bool:
        """Whether aggregates may stand in the expression being bound."""
        return self.aggregates is not None

    def _unknown(self, name: str, table: str) -> str:
        scopes = [self.scope, *(row.names.scope for row in reversed(self.outer))]
        named = next((scope for scope in scopes if scope.has(table)), self.scope)
        return named.unknown(name, table)

    def around(self, call: exp.Expr) -> OuterRow | None:
        """The block around to which an aggregate belongs because its columns do; None for one of this block."""
        columns = list(call.find_all(exp.Column)) if self.outer else []
        if not columns or any(self.scope.knows(c.name, c.table) for c in columns):
            return None
        for row in reversed(self.outer):
            if any(row.names.scope.knows(c.name, c.table) for c in columns):
                return row
        return None

    def cast(self, operand: Operand, target: SqlType) -> Scalar:
        """The operand as a `target`: unchanged, a literal, or a cast at run time."""
        scalar = operand.scalar
        if isinstance(scalar, Literal):
            try:
                literal = self.converted(scalar, target)
            except ValueError as error:
                self.mismatch(operand.node, f"cannot read this as {target}: {error}")
            if literal is not None:
                return literal
        if scalar.type.kind is Kind.ENUM and target not in (VARCHAR, JSON, scalar.type):
            return self.cast(Operand(operand.node, self.cast(operand, VARCHAR)), target)
        if scalar.type == target:
            return scalar
        if (scalar.type.is_nested or target.is_nested) and not castable(scalar.type, target):
            self.mismatch(operand.node, f"cannot cast {scalar.type} to {target}; cast what they are made of")
        return Call("cast", (scalar,), target, scalar.nullable)

    def as_list(self, operand: Operand) -> Operand:
        """The operand, an array as the list of its elements, as which functions take it."""
        type_ = operand.type
        if type_.kind is not Kind.ARRAY or type_.element is None:
            return operand
        return Operand(operand.node, self.cast(operand, list_of(type_.element)))

    def tells_in_zone(self, *types: SqlType) -> bool:
        """Whether values of one of these types are told by the clocks of a zone that is not UTC."""
        return self.source.zone != UTC and is_zoned(*types)

    def converted(self, literal: Literal, target: SqlType) -> Literal | None:
        """The literal as a `target`, see `convert`; what has to do with moments by the clocks of the text's zone."""
        zone = self.source.zone
        return convert(literal, target) if zone == UTC else convert_in(literal, target, zone)

    def by_utc(self, operand: Operand, target: SqlType) -> Scalar:
        """As `cast`, but of a moment what clocks of UTC show, and the other way round, whatever the zone is: for what
        counts the time between.
        """
        if self.source.zone == UTC or {operand.type, target} != {TIMESTAMP, TIMESTAMPTZ}:
            return self.cast(operand, target)
        scalar = operand.scalar
        known = convert(scalar, target) if isinstance(scalar, Literal) else None
        return by_utc(scalar) if known is None else known

    def call(self, node: exp.Expr, function: str, args: tuple[Scalar, ...], type_: SqlType) -> Operand:
        """A call that is NULL where an argument is."""
        return Operand(node, Call(function, args, type_, any(arg.nullable for arg in args)))


def _kind(node: exp.Expr) -> str:
    """What a node is called in messages."""
    text = text_of(node)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _instead(node: exp.Expr) -> str:
    if isinstance(node, exp.AggFunc):
        return " is not maintained yet; COUNT, SUM, AVG, MIN, MAX, STDDEV and VARIANCE are"
    return " is not supported; store its value in a column, or write it with what is supported"
