"""Types as DuckDB writes them in the names of columns: as they were written, but for those of the standard."""

from __future__ import annotations

import re

from sqlglot import exp

from ivm.catalog.keywords import quoted_if_needed
from ivm.sql.sql_text import text_of
from ivm.sql.words_kept import WRITTEN

_STANDARD = {
    **dict.fromkeys(("int", "integer"), "INTEGER"),
    **dict.fromkeys(("float", "real"), "FLOAT"),
    **dict.fromkeys(("decimal", "dec", "numeric"), "DECIMAL"),
    **dict.fromkeys(("char", "character", "varchar", "char varying", "character varying"), "VARCHAR"),
    "double precision": "DOUBLE",
    **{name.lower(): name for name in ("BIGINT", "BIT", "BOOLEAN", "INTERVAL", "SMALLINT", "TIME", "TIMESTAMP")},
    **{f"{name} with time zone": f"{name.upper()} WITH TIME ZONE" for name in ("time", "timestamp")},
}
"""What words of the grammar are called, whichever was written."""
_SCALAR = re.compile(r"([\w ]+?)\s*(?:\(([\d\s,]+)\))?", re.ASCII)
_LENGTH = re.compile(r"\s*\[[^\]]*\]\s*$")


def type_name(node: exp.DataType, text: str = "") -> str:
    """The type as DuckDB writes it, if that was not kept from its `text`."""
    inner, text = node.expressions, node.meta.get(WRITTEN, text)
    if node.is_type(exp.DataType.Type.ARRAY) and inner:
        sizes = ", ".join(text_of(each) for each in node.args.get("values") or ())
        return f"{type_name(inner[0], _LENGTH.sub('', text))}[{sizes}]"
    if node.is_type(exp.DataType.Type.MAP) and len(inner) == 2:
        return f"MAP({', '.join(map(type_name, inner))})"
    if node.is_type(exp.DataType.Type.STRUCT) and all(isinstance(each, exp.ColumnDef) and each.kind for each in inner):
        fields = (f"{quoted_if_needed(each.name)} {type_name(each.kind)}" for each in inner)
        return f"STRUCT({', '.join(fields)})"
    found = _SCALAR.fullmatch(text)
    if found is None:
        return text_of(node)
    word = " ".join(found[1].split())
    name = _STANDARD.get(word.lower()) or (f'"{word}"' if word.lower() == "json" else word)
    return f"{name}({', '.join(number.strip() for number in found[2].split(','))})" if found[2] else name
