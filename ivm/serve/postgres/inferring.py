"""The types of parameters of which a client says none, as far as the text tells them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ivm.catalog.names import key
from ivm.catalog.schema import Field, Table
from ivm.serve.postgres.types import INT8, TEXT, shape_of, type_named
from ivm.session.settings import Settings

_TYPE = r"([a-z]\w*(?: varying| precision)?)(\s*\[\s*\])?"
_CASTS = (
    re.compile(rf"\$(\d+)\s*::\s*{_TYPE}", re.IGNORECASE),
    re.compile(rf"\bCAST\s*\(\s*\$(\d+)\s+AS\s+{_TYPE}\s*\)", re.IGNORECASE),
)
_ANY = re.compile(r"\b(?:ANY|ALL|SOME)\s*\(\s*\$(\d+)\s*\)", re.IGNORECASE)
_COUNT = re.compile(r"\b(?:LIMIT|OFFSET)\s+\$(\d+)", re.IGNORECASE)
_NAME = r'"[^"]+"|[a-z_]\w*'
_COMPARED = re.compile(rf"({_NAME})\s*(?:=|<>|!=|<=|>=|<|>)\s*\$(\d+)", re.IGNORECASE)
_AMONG = re.compile(rf"({_NAME})\s+(?:NOT\s+)?IN\s*\(([\s\d$,]+)\)", re.IGNORECASE)
_INSERT = re.compile(
    rf"\s*INSERT\s+(?:OR\s+\w+\s+)?INTO\s+((?:{_NAME})(?:\.(?:{_NAME}))*)\s*(?:\(([^()]*)\))?\s*VALUES\s*(.*)",
    re.IGNORECASE | re.DOTALL,
)
_PARTS = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|[(),]|[^(),'\"]+")
"""Texts, parentheses and commas apart from all else."""
_PARAMETER = re.compile(r"\s*\$(\d+)\s*")


def inferred(text: str, settings: Settings) -> dict[int, int]:
    """The types of parameters by their numbers: of those that are cast, compared with columns, or inserted."""
    found = {int(number): INT8.oid for number in _COUNT.findall(text)}
    found |= {int(number): TEXT.array for number in _ANY.findall(text)}
    for name, number in (*_COMPARED.findall(text), *_compared_with_many(text)):
        field = _field(name, text, settings)
        if field is not None:
            found[int(number)] = shape_of(str(field.type)).oid
    for field, number in _inserted(text, settings):
        found[number] = shape_of(str(field.type)).oid
    for pattern in _CASTS:
        for number, name, brackets in pattern.findall(text):
            of = type_named(name)
            if of is not None:
                found[int(number)] = of.array if brackets else of.oid
    return found


def _compared_with_many(text: str) -> Iterator[tuple[str, str]]:
    for name, values in _AMONG.findall(text):
        yield from ((name, number) for number in re.findall(r"\$(\d+)", values))


def _field(name: str, text: str, settings: Settings) -> Field | None:
    """The column of a name, if those of all relations that the text may name are of one type."""
    wanted, fields = key(name.strip('"')), list[Field]()
    for word in set(re.findall(r"\w+(?:\.\w+)*", text)):
        entry = settings.names.catalog.find(settings.names.given(word))
        if entry is not None:
            known = entry.fields if isinstance(entry, Table) else entry.schema
            fields += [field for field in known if key(field.name) == wanted]
    return fields[0] if fields and all(field.type == fields[0].type for field in fields) else None


def _inserted(text: str, settings: Settings) -> Iterator[tuple[Field, int]]:
    """The columns into which parameters are inserted as they are."""
    found = _INSERT.match(text)
    table = None if found is None else settings.names.catalog.find(settings.names.given(found[1].replace('"', "")))
    if found is None or not isinstance(table, Table):
        return
    columns = table.given
    if found[2]:
        named = {key(field.name): field for field in table.fields}
        wanted = [key(each.strip().strip('"')) for each in found[2].split(",")]
        if any(each not in named for each in wanted):
            return
        columns = tuple(named[each] for each in wanted)
    for row in _rows(found[3]):
        for field, item in zip(columns, row, strict=False):
            number = _PARAMETER.fullmatch(item)
            if number is not None:
                yield field, int(number[1])


def _rows(text: str) -> Iterator[list[str]]:
    """The items of rows in parentheses."""
    depth, items = 0, list[str]()
    for part in _PARTS.findall(text):
        depth += part == "("
        if part == "(" and depth == 1:
            items = [""]
        elif part == ")" and depth == 1:
            yield items
        elif part == "," and depth == 1:
            items.append("")
        elif depth:
            items[-1] += part
        depth -= part == ")"
