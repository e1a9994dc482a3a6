"""Lists, arrays, structs, maps and JSON."""

from __future__ import annotations

import pyarrow as pa

from tests.random.kinds.kind import Kind, Pairs, Record, Type

LIST = Kind(
    "LIST", "l",
    {"INTEGER[]": Type(pa.list_(pa.int32()), ((), (1,), (2,), (1, 2), (None,), (1, None), (0, 3)))},
    odd=("list_value(1, 2)", "ARRAY[1]", "'[1, 2]'::INTEGER[]", "[x + 1 for x in [0, 1]]", "[1, 2, 3][:2]",
         "range(2)::INTEGER[]"),
    forms=(
        "[<INT>, <INT>]::INTEGER[]", "list_append(<LIST>, CAST(<INT> AS INTEGER))",
        "list_filter(<LIST>, lambda x: x > <0..2>)", "list_transform(<LIST>, lambda x: x + <1..2>)",
        "list_transform(<LIST>, lambda x, i: (x * i)::INTEGER)", "<list_sort|list_reverse>(<LIST>)",
        "list_concat(<LIST>, <LIST>)", "<LIST>[<1..2>:]", "map_values(<MAP>)", "list_sort(list_intersect(<LIST>, <LIST>))",
        "[x * 2 for x in <LIST> if x > <0..1>]", "CAST(<ARR> AS INTEGER[])", "list_resize(<LIST>, <0..3>)",
        "TRY_CAST(<JSN>->'b' AS INTEGER[])",
    ),
    conditions=(
        "list_contains(<LIST>, <1..2>)", "<1..2> = ANY(<LIST>)", "CAST(<INT> AS INTEGER) IN (SELECT unnest([1, 2]))",
        "list_has_any(<LIST>, <LIST>)",
    ),
)  # fmt: skip
WORDS = Kind(
    "WORDS", "w",
    {"VARCHAR[]": Type(pa.list_(pa.string()), ((), ("a",), ("a", "b"), ("b", None), ("é", "a b")))},
    odd=("['a']", "string_split('a,b', ',')"),
    forms=(
        "string_split(<STR>, '<a|b>')", "list_append(<WORDS>, <STR>)", "<list_sort|list_reverse>(<WORDS>)",
        "list_transform(<WORDS>, lambda w: w || '<a|x>')", "list_filter(<WORDS>, lambda w: w != <STR>)", "map_keys(<MAP>)",
        "[<STR>, <STR>]", "json_keys(<JSN>)",
    ),
    conditions=("list_contains(<WORDS>, <STR>)", "<STR> = ANY(<WORDS>)"),
    weight=0.6,
)  # fmt: skip

ARR = Kind(
    "ARR",
    "v",
    {"INTEGER[2]": Type(pa.list_(pa.int32(), 2), ((0, 1), (1, 0), (1, 2), (None, 1), (None, None)))},
    odd=("array_value(1, 2)", "'[0, 1]'::INTEGER[2]", "[1, NULL]::INTEGER[2]"),
    forms=(
        "array_value(CAST(<INT> AS INTEGER), 1)",
        "CASE WHEN <ARR> IS NOT NULL THEN CAST([<INT>, 0] AS INTEGER[2]) END",
    ),
    weight=0.6,
)

REC = Kind(
    "REC", "o",
    {"STRUCT(a INTEGER, b VARCHAR)": Type(
        pa.struct([("a", pa.int32()), ("b", pa.string())]),
        (Record(1, "a"), Record(1, "b"), Record(None, "a"), Record(2, None), Record(None, None)),
    )},
    odd=("struct_pack(a := 1, b := 'a')", "row(1, 'b')::STRUCT(a INTEGER, b VARCHAR)", "{'A': 2, 'b': NULL::VARCHAR}"),
    forms=(
        "struct_update(<REC>, a := CAST(<INT> AS INTEGER))", "{'a': <INT>, 'b': <STR>}::STRUCT(a INTEGER, b VARCHAR)",
        "TRY_CAST(<JSN> AS STRUCT(a INTEGER, b VARCHAR))",
    ),
    weight=0.7,
)  # fmt: skip

MAP = Kind(
    "MAP", "m",
    {"MAP(VARCHAR, INTEGER)": Type(
        pa.map_(pa.string(), pa.int32()),
        (Pairs(), Pairs((("a", 1),)), Pairs((("a", 2), ("b", 1))), Pairs((("b", 1), ("a", 2))), Pairs((("a", None),))),
    )},
    odd=("map {'a': 1}", "map(['a', 'b'], [1, 2])"),
    forms=(
        "map_concat(<MAP>, <MAP>)", "map([coalesce(<STR>, 'a')], [CAST(<INT> AS INTEGER)])",
        "map_from_entries(map_entries(<MAP>))",
    ),
    conditions=("map_contains(<MAP>, '<a|b>')",),
    weight=0.5,
)  # fmt: skip

JSN = Kind(
    "JSN", "j",
    {"JSON": Type(pa.string(), (
        '{"a": 1}', '{"a": "x", "b": [1, 2]}', '{"b": [], "a": null}', "[1, 2]", '"a"', "null", "3", '{"b":[{"a":2}]}',
    ))},
    odd=("json_object('a', 1)", "'{}'::JSON", "to_json([1])"),
    forms=(
        "(<JSN>->'<a|b|$.b[0]>')", "json_extract(<JSN>, '$.<a|b|b[0]>')", "to_json(<INT>)", "to_json(<LIST>)",
        "to_json(<REC>)", "to_json(<MAP>)", "json_object('a', <INT>, 'b', <LIST>)", "json_array(<STR>, <INT>)",
        "json_merge_patch(<JSN>, <JSN>)", "to_json(<STR>)", "to_json(<DATE>)",
    ),
    conditions=("json_exists(<JSN>, '$.<a|b>')", "json_contains(<JSN>, '1')"),
    weight=0.8,
)  # fmt: skip
