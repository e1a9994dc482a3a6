"""Names of tables and views, replaced in a text by the one name that each means, so that nothing behind this knows of
schemas: `s.t` becomes `"s.t" AS t`, see `ivm.catalog.paths`. What is kept of a text goes on meaning what it meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import BindError
from ivm.catalog.names import MAIN, as_literal, key, parts_of, quoted
from ivm.catalog.paths import Names
from ivm.sql.edits import Edit, edited
from ivm.sql.parse_comment import place_of_name as place_of_commented
from ivm.sql.sequence_words import CALLS, is_about_sequence, place_of_name
from ivm.sql.sql_text import SqlText
from ivm.sql.statements import SHOWN
from ivm.sql.syntax import Syntax, statements
from ivm.sql.tree import nodes_of, tables_read

_SCOPES = (exp.Select, exp.Update, exp.Delete, exp.Merge, exp.Insert)
_RELATIONS = (exp.Table, exp.Subquery, exp.Values, exp.Lateral)
_NAMED = (
    exp.Create, exp.Drop, exp.Reference, exp.Index, exp.Comment, exp.Alter, exp.Describe, exp.Summarize, exp.Copy,
    exp.TruncateTable, exp.Show,
)  # fmt: skip
"""What names a table without reading it in FROM, so that it takes no alias."""


_LISTED = [words.split() for words in SHOWN]


def with_schemas(text: str, names: Names, dialect: str = "duckdb") -> str:
    """The text with one name for each table and view that it names, and for columns behind `s.t` those behind `t`.

    What a query calls `s.t` is called t in it, or s.t where there is another t beside it. Cost: a search; reading the
    text, where it may hold such names.
    """
    if not names.concerns(text):
        return text
    source = SqlText(text)
    edits = list[Edit]()
    for syntax in statements(source, dialect):
        word = syntax.tokens[0].text.upper()
        edits += _sequences(syntax.tokens, names, is_kept=word in ("CREATE", "ALTER"))
        if is_about_sequence(syntax.tokens):
            edits.append(_named_sequence(syntax.tokens, names, source))
        elif word == "SHOW" and [token.text.lower() for token in syntax.tokens[1:]] not in _LISTED:
            edits += _named(syntax.tokens[1:], names)
        elif word == "COMMENT":
            edits += _named(syntax.tokens[slice(*place_of_commented(syntax.tokens))], names)
        elif word in ("ANALYZE", "VACUUM", "VIEW"):
            edits += _named(syntax.tokens[1:], names)
        elif word == "ALTER":
            edits += _altered(syntax.tokens, names)
        else:
            edits += _Renamed(names, source, dialect).edits(syntax)
    return edited(text, edits)


def _named(tokens: Sequence[Token], names: Names) -> Iterator[Edit]:
    """The name of a table or view, if the tokens are one: sqlglot does not read all statements."""
    parts = [token.text for token in tokens if token.token_type != TokenType.DOT]
    name = names.found(parts) if len(parts) * 2 == len(tokens) + 1 else None
    if name is not None:
        yield tokens[0].start, tokens[-1].end + 1, quoted(name)


def _sequences(tokens: Sequence[Token], names: Names, *, is_kept: bool) -> Iterator[Edit]:
    """The names of sequences whose numbers the statement asks for, where a search path decides what they mean; those of
    a statement that `is_kept`, as a DEFAULT is, all alike.
    """
    plain = names.found_out
    for call, open_, name, close in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
        kinds = [open_.token_type, name.token_type, close.token_type]
        if key(call.text) in CALLS and kinds == [TokenType.L_PAREN, TokenType.STRING, TokenType.R_PAREN]:
            found = names.sequence(parts_of(name.text))
            is_plain = key(plain.sequence(parts_of(name.text))) == key(found)
            if key(found) in names.catalog.sequences and (is_kept or not is_plain):
                written = found if names.catalog.parts(found)[0] == MAIN and "." not in found else quoted(found)
                yield name.start, name.end + 1, as_literal(written)


def _named_sequence(tokens: Sequence[Token], names: Names, source: SqlText) -> Edit:
    """The name of a sequence that is created or dropped."""
    begin, end = place_of_name(tokens)
    parts = [token.text for token in tokens[begin:end:2]]
    words = [token.text.upper() for token in tokens[:5]]
    if words[0] == "DROP":
        name = names.sequence(parts)
    else:
        try:
            name = names.created(parts, temporary="TEMP" in words or "TEMPORARY" in words)
        except BindError as error:
            source.fail(tokens[begin].start, str(error))
    return tokens[begin].start, tokens[end - 1].end + 1, quoted(name)


def _altered(tokens: Sequence[Token], names: Names) -> Iterator[Edit]:
    """The table or view of ALTER, which sqlglot does not read."""
    words = [token.text.upper() for token in tokens]
    begin = 4 if words[2:4] == ["IF", "EXISTS"] else 2
    end = begin + 1
    while [token.token_type for token in tokens[end : end + 1]] == [TokenType.DOT]:
        end += 2
    name = names.found([token.text for token in tokens[begin:end:2]])
    if name is not None and end <= len(tokens):
        yield tokens[begin].start, tokens[end - 1].end + 1, quoted(name)


def spelled_text(query: str, catalog: Catalog) -> str:
    """A query in DuckDB's dialect with names as SQL spells them, "s"."t" for "s.t". Cost: nothing without schemas."""
    if not catalog.schema_names:
        return query
    edits = list[Edit]()
    for syntax in statements(SqlText(query), "duckdb"):
        for table in tables_read(syntax.tree):
            if "start" in table.this.meta and not table.db and catalog.parts(table.name)[0] != MAIN:
                called = "" if table.alias else f" AS {quoted(table.name)}"
                spelled = f"{catalog.spelled(table.name)}{called}"
                edits.append((table.this.meta["start"], table.this.meta["end"] + 1, spelled))
    return edited(query, edits)


@dataclass(slots=True)
class _Renamed:
    """What is found out about one statement: what columns call each relation, by the scope that it is in and the key of
    its name (`of_names`), or of what columns may have called it (`of_calls`).
    """

    names: Names
    source: SqlText
    dialect: str
    of_names: dict[tuple[int, str], str] = field(default_factory=dict)
    of_calls: dict[tuple[int, str], str] = field(default_factory=dict)

    def edits(self, syntax: Syntax) -> Iterator[Edit]:
        """What is to stand for the names in the statement."""
        nodes = nodes_of(syntax.tree)
        tables = [table for table in tables_read(syntax.tree) if "start" in table.this.meta]
        meant = {id(table): self._meant(table) for table in tables}
        called = self._called(nodes, meant)
        for table in tables:
            name, label = meant[id(table)], ""
            if name is None:
                continue
            if self._is_relation(table):
                things = called[key(table.alias or table.name)]
                label = table.alias or (table.name if len(things) == 1 else name)
                self.of_names[_scope(table), key(name)] = label
                self.of_calls.setdefault((_scope(table), key(table.alias or table.name)), label)
            alias = "" if table.alias or key(label) == key(name) else label
            if alias or table.db or key(name) != key(table.name):
                yield self._edit(_identifiers(table), name, alias)
        for node in nodes if self.of_names else ():
            if isinstance(node, exp.Column) and node.table:
                yield from self._of_column(node)

    def _called(self, nodes: Sequence[exp.Expr], meant: Mapping[int, str | None]) -> dict[str, set[str]]:
        """What is called by each name that columns may give to relations, by its key: names, or that it is another."""
        called: dict[str, set[str]] = {}
        for node in nodes:
            if not isinstance(node, _RELATIONS) or (isinstance(node, exp.Table) and not self._is_relation(node)):
                continue
            name, call = None if node.alias else meant.get(id(node)), node.alias_or_name
            if name is None and call:
                self.of_calls[_scope(node), key(call)] = call
            called.setdefault(key(call), set()).add(f"alias {id(node)}" if name is None else key(name))
        return called

    def _meant(self, table: exp.Table) -> str | None:
        """What a table's name means; None where it stays as it is."""
        parts, above = [each.name for each in _identifiers(table)], _above(table)
        if isinstance(above, exp.Drop) and above.args.get("kind") == "INDEX":
            return parts[-1] if self.names.found(parts) else None
        if isinstance(above, exp.Reference):
            return self._referenced(table, parts)
        if isinstance(above, exp.Create) and above.kind != "INDEX":
            try:
                return self.names.created(parts, temporary=_is_temporary(above))
            except BindError as error:
                self.source.fail(table, str(error))
        return self.names.found(parts)

    def _referenced(self, table: exp.Table, parts: Sequence[str]) -> str | None:
        """What a foreign key names: without a schema it is in that of its table."""
        create = table.find_ancestor(exp.Create)
        of = None if create is None else create.this.find(exp.Table)
        if len(parts) > 1 or of is None or create is None:
            return self.names.found(parts)
        owner = [each.name for each in _identifiers(of)]
        return self.names.created([*owner[:-1], parts[0]], temporary=_is_temporary(create))

    def _is_relation(self, table: exp.Table) -> bool:
        """Whether columns may be named by it."""
        above = _above(table)
        if isinstance(above, exp.Insert):
            return bool(above.args.get("conflict") or above.args.get("returning"))
        return not isinstance(above, _NAMED)

    def _of_column(self, column: exp.Column) -> Iterator[Edit]:
        """s.t.x is t.x, and t.x too, unless something else is called t in the statement."""
        parts = [column.args[arg] for arg in ("catalog", "db", "table") if column.args.get(arg)]
        name = self.names.found([each.name for each in parts]) if len(parts) > 1 else column.table
        known = self.of_names if len(parts) > 1 else self.of_calls
        node: exp.Expr | None = column
        while name is not None and node is not None:
            label = known.get((id(node), key(name)))
            if label is not None:
                if len(parts) > 1 or key(label) != key(name):
                    yield self._edit(parts, label, "")
                return
            node = node.parent

    def _edit(self, identifiers: Sequence[exp.Expr], name: str, called: str) -> Edit:
        written = f"{self._quoted(name)} AS {self._quoted(called)}" if called else self._quoted(name)
        return identifiers[0].meta["start"], identifiers[-1].meta["end"] + 1, written

    def _quoted(self, name: str) -> str:
        if self.dialect == "duckdb":
            return quoted(name)
        return exp.to_identifier(name, quoted=True).sql(self.dialect)


def _is_temporary(create: exp.Create) -> bool:
    """Whether it is CREATE TEMP."""
    properties = create.args.get("properties")
    return any(isinstance(each, exp.TemporaryProperty) for each in (properties.expressions if properties else ()))


def _identifiers(table: exp.Table) -> list[exp.Expr]:
    return [table.args[arg] for arg in ("catalog", "db", "this") if table.args.get(arg)]


def _above(table: exp.Expr) -> exp.Expr | None:
    """What names the table, with its columns or without."""
    above = table.parent
    return above.parent if isinstance(above, exp.Schema) else above


def _scope(table: exp.Expr) -> int:
    """Where the names of relations must differ: the nearest query or change around."""
    node: exp.Expr | None = table
    while node is not None and not isinstance(node, _SCOPES):
        node = node.parent
    return id(node)
