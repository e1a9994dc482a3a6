"""Calls of macros, replaced in a text by what they stand for, so that nothing behind this knows of macros.

As in DuckDB a call stands for the text of the body, the argument in the place of each parameter: names in an argument
are looked up where the parameter stands. What is kept of a text, such as the definition of a view, holds no call, and
goes on meaning what it meant when the macro is replaced or dropped.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from ivm.catalog.errors import ParseError
from ivm.catalog.macro import Macro, Macros, Overload
from ivm.catalog.names import key, parts_of, quoted
from ivm.catalog.paths import Names
from ivm.sql.bind.names.columns import column_name
from ivm.sql.edits import Edit, edited
from ivm.sql.macro_body import sites
from ivm.sql.macro_calls import Call, find
from ivm.sql.macro_statements import about_macro
from ivm.sql.macro_words import NAMING, is_about_macro, parts
from ivm.sql.own_macros import OWN, completed, mentions_own
from ivm.sql.sql_text import Placed, SqlText
from ivm.sql.statements import CreateMacro, Drop
from ivm.sql.syntax import chunks, dialect_named, query, statement_tokens
from ivm.sql.tree import nodes_of

MOST_CALLS = 10_000
MOST_CHARACTERS = 1_000_000
"""What one call may lead to: calls, and characters of the texts that come of them, each level counted."""

_CREATES = re.compile(r"create\s.*\b(?:macro|function)\s", re.DOTALL)
_ATOM = re.compile(r"[\w.]+|'[^']*'|\"[^\"]*\"")
_DECORATED = frozenset(["OVER", "FILTER", "WITHIN"])


def with_macros(text: str, names: Names, dialect: str = "duckdb") -> str:
    """The text with what macros stand for in the place of calls; those that the text creates are known behind that.

    Columns of SELECT that have no name keep the one that the call gives them. BindError for arguments that fit no form,
    a macro that calls itself, and a call that becomes too long. Cost: that of tokens, where the text holds the name of
    a macro or creates one; else a search.
    """
    folded, macros = key(text), names.catalog.macros
    called = any(key(macro.name) in folded for macro in macros.values()) or mentions_own(folded)
    if not called and _CREATES.search(folded) is None:
        return text
    known, edits, source = {**OWN, **macros}, list[Edit](), SqlText(text)
    for tokens in chunks(statement_tokens(dialect_named(dialect), source)):
        if is_about_macro(tokens):
            _learn(known, names, tokens, source, dialect)
        else:
            edits += _Expansion(known, names, dialect).edits(source, tokens)
    return edited(text, edits)


def check_macro(macro: Macro, names: Names) -> None:
    """BindError if a macro calls itself, through those there are too, or another one as that cannot be called."""
    for overload in macro.overloads:
        same = {key(each.name): each.name for each in overload.parameters}
        _Expansion({**names.catalog.macros, macro.key: macro}, names, "duckdb").body(macro, overload, same, ())


def _learn(
    known: dict[tuple[bool, str], Macro], names: Names, tokens: Sequence[Token], source: SqlText, dialect: str
) -> None:
    statement = about_macro(tokens, source, dialect)
    if not isinstance(statement, CreateMacro):
        gone = dropped(statement, names, known)
        if gone is not None:
            known.pop(gone.key)
        return
    macro = names.placed(statement.macro)
    if not (statement.if_not_exists and macro.key in known):
        known[macro.key] = macro


def dropped(statement: Drop, names: Names, macros: Macros) -> Macro | None:
    """The macro that DROP MACRO [TABLE] means, or None; without TABLE one of TABLE if there is no other."""
    for is_table in (True,) if statement.kind == "MACRO TABLE" else (False, True):
        name = names.macro(parts_of(statement.name), macros, is_table=is_table)
        if name is not None and (is_table, key(name)) in macros:
            return macros[is_table, key(name)]
    return None


class _Expansion(Placed):
    """What is counted while the calls of one statement are replaced; `source` is the text that is being read."""

    def __init__(self, macros: Macros, names: Names, dialect: str) -> None:
        self.macros, self.names = macros, names
        self.called = {key(macro.name) for macro in macros.values()}
        self.dialect = dialect
        self.calls = self.characters = 0
        self.source = SqlText("")

    def edits(
        self, source: SqlText, tokens: Sequence[Token], within: tuple[Macro, ...] = (), *, value: bool = False
    ) -> list[Edit]:
        """What is to stand for the calls in a text; `within` are the macros of whose bodies it comes."""
        found, edits = find(tokens, self.called, self._meant, source, value=value), list[Edit]()
        calls = [call for call in found.calls if self._is_macro(call, tokens, source)]
        outer, outermost = self.source, list[Call]()
        self.source = source
        for call in calls:
            if not outermost or call.first > outermost[-1].close:
                outermost.append(call)
                if not within:
                    self.calls = self.characters = 0
                called = self._called(self.macros[call.is_table, key(call.name)], call, tokens, within)
                edits.append((tokens[call.first].start, tokens[call.close].end + 1, called))
        places = [call.first for call in outermost]
        for first, last in found.items:
            place = bisect_left(places, first)
            is_within = place > 0 and outermost[place - 1].close > first  # then the argument has it
            if not is_within and place < len(places) and places[place] <= last:
                stop = tokens[last].end + 1
                edits.append((stop, stop, _naming(source.text[tokens[first].start : stop])))
        self.source = outer
        return edits

    def _meant(self, parts: Sequence[str], is_table: bool) -> str | None:
        """What a macro is known as; None if there is none of either kind."""
        kinds = (is_table, not is_table)
        found = [self.names.macro(parts, self.macros, is_table=kind) for kind in kinds]
        there = zip(kinds, found, strict=True)
        return next((name for kind, name in there if name is not None and (kind, key(name)) in self.macros), None)

    def _is_macro(self, call: Call, tokens: Sequence[Token], source: SqlText) -> bool:
        """Whether there is a macro of its kind; BindError for one of TABLE in an expression that somebody created."""
        if (call.is_table, key(call.name)) in self.macros:
            return True
        if not call.is_table and (True, key(call.name)) not in OWN:
            what = f"macro {call.name!r} gives a table; write SELECT ... FROM {call.name}(...)"
            source.fail(tokens[call.first].start, what)
        return False

    def _called(self, macro: Macro, call: Call, tokens: Sequence[Token], within: tuple[Macro, ...]) -> str:
        """What a call stands for."""
        at = tokens[call.first].start
        if self.dialect != "duckdb":
            what = f"{macro.name!r} is a macro in DuckDB's dialect, and this text is in {self.dialect!r}"
            self.refuse(at, f"{what}; write what it stands for")
        if any(each.key == macro.key for each in within):
            path = " calls ".join(repr(each.name) for each in (*within, macro) if each.name)
            self.fail(at, f"cannot expand macro {macro.name!r}: it calls itself ({path}); replace one of them")
        if any(token.text.upper() in _DECORATED for token in tokens[call.close + 1 : call.close + 2]):
            word = tokens[call.close + 1].text.upper()
            self.refuse(at, f"{macro.name!r} is a macro, and takes no {word}; write {word} into the macro")
        self._count(macro, within, at, 1, 0)
        positional, named = self._arguments(macro, call, tokens, within)
        overload = self._overload(macro, len(positional), named, at)
        values = {key(each.name): each.default or "" for each in overload.parameters}
        values |= {key(each.name): value for each, value in zip(overload.parameters, positional, strict=False)}
        values |= named
        values |= {key(each.name): each.cast(values[key(each.name)]) for each in overload.parameters if each.type}
        try:
            overload, given = completed(macro, overload, values)
        except ValueError as error:
            self.fail(at, f"cannot call {macro.name}: {error}")
        return f"({self.body(macro, overload, given, within)})"

    def body(self, macro: Macro, overload: Overload, values: Mapping[str, str], within: tuple[Macro, ...]) -> str:
        """The body with these values of its parameters, and all that it calls replaced."""
        text, at = overload.body, 0
        pieces = list[str]()
        for start, end, name in sites(overload, macro.is_table):
            value = values[name]
            is_plain = _ATOM.fullmatch(value) is not None and text[end : end + 1] != "."
            pieces += [text[at:start], value if is_plain else f"({value})"]
            at = end
        self._count(macro, within, 0, 0, sum(map(len, pieces)) + len(text) - at)
        text = "".join([*pieces, text[at:]])
        if not any(name in key(overload.body) for name in self.called):
            return text
        placed = SqlText(text)
        tokens = statement_tokens(dialect_named("duckdb"), placed)
        return edited(text, self.edits(placed, tokens, (*within, macro), value=not macro.is_table))

    def _count(self, macro: Macro, within: tuple[Macro, ...], at: int, calls: int, characters: int) -> None:
        name = next((each.name for each in within if each.name), macro.name)
        self.calls += calls
        self.characters += characters
        if self.calls > MOST_CALLS or self.characters > MOST_CHARACTERS:
            what = f"it leads to more than {MOST_CALLS} calls of macros, or {MOST_CHARACTERS} characters of SQL"
            self.refuse(at, f"cannot expand a call of macro {name!r}: {what}; compute what is repeated in a subquery")

    def _arguments(
        self, macro: Macro, call: Call, tokens: Sequence[Token], within: tuple[Macro, ...]
    ) -> tuple[list[str], dict[str, str]]:
        """The texts of the arguments by position, and of those that are named by the keys of the names."""
        positional, named = list[str](), dict[str, str]()
        for part in parts(tokens[call.opened + 1 : call.close]):
            if not part or part[0].token_type in (TokenType.STAR, TokenType.DISTINCT):
                self.fail((part or tokens[call.opened :])[0].start, f"macro {macro.name!r} takes expressions")
            is_named = len(part) > 1 and part[1].token_type in NAMING
            value = self._argument(part[2:] if is_named else part, part[0], within)
            if is_named:
                if key(part[0].text) in named:
                    self.fail(part[0].start, f"argument {part[0].text!r} of {macro.name!r} is given twice; drop one")
                named[key(part[0].text)] = value
            elif named:
                self.fail(
                    part[0].start, f"in a call of macro {macro.name!r} this follows a named argument; put it before"
                )
            else:
                positional.append(value)
        return positional, named

    def _argument(self, tokens: Sequence[Token], name: Token, within: tuple[Macro, ...]) -> str:
        if not tokens:
            self.misread(name.start, "expected a value behind the name of an argument")
        depths = [token.token_type for token in tokens]
        if TokenType.ORDER_BY in depths and TokenType.L_PAREN not in depths:
            self.refuse(tokens[0].start, "a macro takes no ORDER BY in its call; write it into the macro")
        start = tokens[0].start
        edits = self.edits(self.source, tokens, within or _ARGUMENT, value=True)
        moved = [(begin - start, end - start, written) for begin, end, written in edits]
        value = edited(self.source.text[start : tokens[-1].end + 1], moved)
        self.characters += len(value)
        return value

    def _overload(self, macro: Macro, count: int, named: Mapping[str, str], at: int) -> Overload:
        found = [each for each in macro.overloads if _fits(each, count, named)]
        if len(found) == 1:
            return found[0]
        said = [f"{count} by position"] if count or not named else []
        said += [f"{name!r} by name" for name in named]
        given = f"with arguments {', '.join(said)}" if count or named else "without arguments"
        if found:
            self.fail(at, f"cannot call macro {macro.name!r} {given}: {macro.forms} fit; give all arguments by name")
        self.fail(at, f"cannot call macro {macro.name!r} {given}: no form of it takes these; it is {macro.forms}")


_ARGUMENT: tuple[Macro, ...] = (Macro("", False, ()),)
"""What an argument is within, so that what it leads to counts for the call."""


def _fits(overload: Overload, count: int, named: Mapping[str, str]) -> bool:
    rest = {key(each.name): each for each in overload.parameters[count:]}
    given = count <= len(overload.parameters) and named.keys() <= rest.keys()
    return given and all(name in named or each.default is not None for name, each in rest.items())


def _naming(item: str) -> str:
    """AS and the name that DuckDB gives to an item of SELECT, if it has none of its own."""
    source = SqlText(f"SELECT {item}")
    try:
        found = query(source, "duckdb").tree.expressions
    except ParseError:  # which is told of the whole
        return ""
    if len(found) != 1 or isinstance(found[0], exp.Alias | exp.Aliases | exp.Star) or found[0].is_star:
        return ""
    for node in nodes_of(found[0]):  # which DuckDB writes otherwise
        if isinstance(node, exp.Anonymous) and isinstance(node.this, exp.Identifier):
            node.set("this", node.name)
        elif isinstance(node, exp.Kwarg):
            node.replace(exp.PropertyEQ(this=exp.to_identifier(node.name), expression=node.expression))
    return f" AS {quoted(column_name(found[0].unnest(), source))}"
