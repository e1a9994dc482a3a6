"""What Postgres calls the engine's types: by which numbers, how long, and which form their values have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
import pyarrow.types as arrow

from ivm.results.cells import type_names
from ivm.serve.postgres.messages import Described


@dataclass(frozen=True, slots=True)
class PgType:
    """A type as `pg_type` has it. `array`: the number of that of arrays of it; `size` -1 where values differ in it."""

    name: str
    oid: int
    array: int
    size: int = -1
    category: str = "U"


BOOL = PgType("bool", 16, 1000, 1, "B")
BYTEA = PgType("bytea", 17, 1001)
NAME = PgType("name", 19, 1003, 64, "S")
INT8 = PgType("int8", 20, 1016, 8, "N")
INT2 = PgType("int2", 21, 1005, 2, "N")
INT4 = PgType("int4", 23, 1007, 4, "N")
TEXT = PgType("text", 25, 1009, -1, "S")
OID = PgType("oid", 26, 1028, 4, "N")
JSON = PgType("json", 114, 199)
FLOAT4 = PgType("float4", 700, 1021, 4, "N")
FLOAT8 = PgType("float8", 701, 1022, 8, "N")
UNKNOWN = PgType("unknown", 705, 0, -2, "X")
BPCHAR = PgType("bpchar", 1042, 1014, -1, "S")
VARCHAR = PgType("varchar", 1043, 1015, -1, "S")
DATE = PgType("date", 1082, 1182, 4, "D")
TIME = PgType("time", 1083, 1183, 8, "D")
TIMESTAMP = PgType("timestamp", 1114, 1115, 8, "D")
TIMESTAMPTZ = PgType("timestamptz", 1184, 1185, 8, "D")
INTERVAL = PgType("interval", 1186, 1187, 16, "T")
TIMETZ = PgType("timetz", 1266, 1270, 12, "D")
NUMERIC = PgType("numeric", 1700, 1231, -1, "N")
UUID = PgType("uuid", 2950, 2951, 16)
JSONB = PgType("jsonb", 3802, 3807)

TYPES = (
    BOOL, BYTEA, NAME, INT8, INT2, INT4, TEXT, OID, JSON, FLOAT4, FLOAT8, UNKNOWN, BPCHAR, VARCHAR, DATE, TIME,
    TIMESTAMP, TIMESTAMPTZ, INTERVAL, TIMETZ, NUMERIC, UUID, JSONB,
)  # fmt: skip
BY_OID = {each.oid: each for each in TYPES}
ELEMENTS = {each.array: each for each in TYPES if each.array}
"""What arrays are made of, by the numbers of their types."""

_NAMED = {
    "BOOLEAN": BOOL, "TINYINT": INT2, "SMALLINT": INT2, "INTEGER": INT4, "BIGINT": INT8, "HUGEINT": NUMERIC,
    "UTINYINT": INT2, "USMALLINT": INT4, "UINTEGER": INT8, "UBIGINT": NUMERIC, "UHUGEINT": NUMERIC, "FLOAT": FLOAT4,
    "DOUBLE": FLOAT8, "VARCHAR": TEXT, "BLOB": BYTEA, "DATE": DATE, "TIME": TIME, "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_S": TIMESTAMP, "TIMESTAMP_MS": TIMESTAMP, "TIMESTAMP_NS": TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": TIMESTAMPTZ, "INTERVAL": INTERVAL, "UUID": UUID, "JSON": JSON, "NULL": TEXT,
}  # fmt: skip
WRITTEN = {
    "bool": "boolean", "int8": "bigint", "int2": "smallint", "int4": "integer", "float4": "real",
    "float8": "double precision", "bpchar": "character", "varchar": "character varying",
    "time": "time without time zone", "timestamp": "timestamp without time zone", "timetz": "time with time zone",
    "timestamptz": "timestamp with time zone",
}  # fmt: skip
"""How SQL writes types whose names are others."""
_SHORT = {"int": INT4, "string": TEXT, "double": FLOAT8, "float": FLOAT8, "decimal": NUMERIC}
IN_SQL = {
    BOOL: "BOOLEAN", BYTEA: "BLOB", INT8: "BIGINT", INT2: "SMALLINT", INT4: "INTEGER", OID: "BIGINT", FLOAT4: "FLOAT",
    FLOAT8: "DOUBLE", DATE: "DATE", TIME: "TIME", TIMESTAMP: "TIMESTAMP", TIMESTAMPTZ: "TIMESTAMPTZ",
    INTERVAL: "INTERVAL", UUID: "UUID", JSON: "JSON", JSONB: "JSON", TEXT: "VARCHAR", VARCHAR: "VARCHAR",
    NAME: "VARCHAR", BPCHAR: "VARCHAR",
}  # fmt: skip
"""How SQL spells types whose values are no texts that it would cast by itself."""
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_LIST = re.compile(r"(?s)(.*?)\[\d*\]")


@dataclass(frozen=True, slots=True)
class Shape:
    """The type of a column, and whether it holds arrays of that. `modifier`: the digits of a NUMERIC."""

    of: PgType
    is_array: bool = False
    modifier: int = -1

    @property
    def oid(self) -> int:
        """The number of the type."""
        return self.of.array if self.is_array else self.of.oid

    @property
    def size(self) -> int:
        """The bytes of each value, or -1."""
        return -1 if self.is_array else self.of.size

    def described(self, name: str) -> Described:
        """A column of this type."""
        return Described(name, self.oid, self.size, self.modifier)


def type_named(name: str) -> PgType | None:
    """The type that Postgres, or SQL, calls so."""
    folded = name.lower()
    return _SHORT.get(folded) or next((each for each in TYPES if folded in (each.name, WRITTEN.get(each.name))), None)


@lru_cache(1024)
def shape_of(name: str) -> Shape:
    """What a type is that SQL calls so. Lists of lists, rows and maps are JSON, ENUMs are texts."""
    decimal = _DECIMAL.fullmatch(name)
    if decimal is not None:
        return Shape(NUMERIC, modifier=(int(decimal[1]) << 16 | int(decimal[2])) + 4)
    found = _NAMED.get(name)
    if found is not None:
        return Shape(found)
    if name.endswith("]"):
        listed = _LIST.fullmatch(name)
        element = shape_of(listed[1]) if listed is not None else Shape(JSON)
        if not element.is_array and element.of is not JSON:
            return Shape(element.of, True, element.modifier)
        return Shape(JSON)
    if name.startswith(("STRUCT(", "MAP(", "TUPLE(", "UNION(")):
        return Shape(JSON)
    return Shape(TEXT)


def shapes(schema: pa.Schema) -> list[Shape]:
    """The types of the columns of a result."""
    return [shape_of(_plain_name(field.type) or type_names(pa.schema([field]))[0]) for field in schema]


@lru_cache(256)
def _plain_name(kind: pa.DataType) -> str:
    """What types are called that Arrow has, and which need nobody to ask; empty for others."""
    return "VARCHAR" if arrow.is_large_string(kind) or arrow.is_string_view(kind) else ""
