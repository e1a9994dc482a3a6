"""What can follow at the cursor: names of tables, views, columns and functions, words of SQL, commands and their
arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from ivm.catalog.catalog import Catalog
from ivm.catalog.keywords import quoted_if_must
from ivm.catalog.names import key
from ivm.catalog.schema import Table, View
from ivm.shell.names import COMMANDS, KEYWORDS, MODES, TYPES, is_command

_WORD = re.compile(r'("[^"]*|\w*)\Z')
_QUALIFIED = re.compile(r'("[^"]+"|\w+)\.("[^"]*|\w*)\Z')
_AFTER_RELATION = re.compile(r"\b(FROM|JOIN|INTO|UPDATE|TABLE|VIEW|DESCRIBE|SUMMARIZE|TRUNCATE)\s+\S*\Z", re.IGNORECASE)
_READS = re.compile(r'\b(?:FROM|JOIN|INTO|UPDATE|,)\s*("[^"]+"|\w+)(?:\s+(?:AS\s+)?("[^"]+"|\w+))?', re.IGNORECASE)


class SqlCompleter(Completer):
    """Completes at the prompt; `catalog` gives what there is, or None as long as nobody knows."""

    def __init__(self, catalog: Callable[[], Catalog | None]) -> None:
        self._catalog = catalog
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """What could stand for the word before the cursor, the likeliest first."""
        if is_command(document.text):
            return self._of_command(document, complete_event)
        return self._of_statement(document.text_before_cursor, document.text)

    def _of_command(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        words = document.text_before_cursor.split()
        last = "" if document.text_before_cursor[-1:].isspace() else words.pop()
        match words:
            case []:
                names = [each.name for each in COMMANDS]
            case [".mode"]:
                names = list(MODES)
            case [".timer"]:
                names = ["on", "off"]
            case [".read"] | [".import"] | [".apply", _]:
                yield from self._paths.get_completions(Document(last), event)
                return
            case [".schema"] | [".import", _] | [".apply"]:
                names = [quoted_if_must(each.name) for each in self._entries()]
            case _:
                names = []
        yield from _starting(last, names)

    def _of_statement(self, before: str, text: str) -> Iterator[Completion]:
        entries = self._entries()
        named = _named(text, entries)
        qualified = _QUALIFIED.search(before)
        if qualified is not None:
            entry = named.get(key(_bare(qualified[1])))
            yield from _starting(qualified[2], _columns([entry] if entry else []))
            return
        word = _WORD.search(before)
        typed = word[0] if word else ""
        relations = [quoted_if_must(each.name) for each in entries]
        if _AFTER_RELATION.search(before):
            yield from _starting(typed, relations)
            return
        columns = _columns(dict.fromkeys(named.values()) if named else entries)  # before FROM it may be any
        if typed:
            lower = typed.islower()
            words = [each.lower() if lower else each for each in (*KEYWORDS, *TYPES)]
            functions = [each.upper() if typed.isupper() else each for each in (_functions() if entries else ())]
            yield from _starting(typed, dict.fromkeys([*columns, *relations, *words, *functions]))
        else:
            yield from _starting(typed, columns)

    def _entries(self) -> list[Table | View]:
        catalog = self._catalog()
        return [] if catalog is None else [*catalog.tables, *catalog.views]


@cache
def _functions() -> tuple[str, ...]:
    """DuckDB's functions that somebody may want to write, as they are called."""
    from ivm.duck import Use, connection  # noqa: PLC0415  which the prompt does not wait for

    text = """
        SELECT DISTINCT function_name FROM duckdb_functions()
        WHERE function_type IN ('scalar', 'aggregate', 'window', 'macro')
            AND regexp_full_match(function_name, '[a-z][a-z0-9_]*')
            AND NOT regexp_matches(function_name, '^(collate|icu|inet|pg|has)_')
        ORDER BY ALL
    """
    with connection(Use.OWN) as duck:
        return tuple(f"{name}(" for (name,) in duck.execute(text).fetchall())


def _named(text: str, entries: Iterable[Table | View]) -> dict[str, Table | View]:
    """The tables and views that a statement reads, by the keys of their names and of what it calls them."""
    known = {key(each.name): each for each in entries}
    found = {}
    for read in _READS.finditer(text):
        entry = known.get(key(_bare(read[1])))
        if entry is not None:
            found[key(entry.name)] = entry
            if read[2] and read[2].upper() not in KEYWORDS:
                found[key(_bare(read[2]))] = entry
    return found


def _columns(entries: Iterable[Table | View]) -> list[str]:
    fields = [each.fields if isinstance(each, Table) else each.schema for each in entries]
    return list(dict.fromkeys(quoted_if_must(field.name) for some in fields for field in some))


def _starting(typed: str, names: Iterable[str]) -> Iterator[Completion]:
    start = key(_bare(typed))
    for name in names:
        if key(_bare(name)).startswith(start) and name != typed:
            yield Completion(name, start_position=-len(typed))


def _bare(name: str) -> str:
    return name.strip('"')
