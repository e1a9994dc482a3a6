"""Random legal parameters of the 22 queries, by the substitution rules of the specification's section 2.4."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from random import Random

from ivm.tpch import queries
from tests.tpch.vocabulary import COLORS, CONTAINERS, MODES, NATIONS, REGIONS, SEGMENTS, TYPES

Parameters = dict[str, str]
"""The name of each parameter in the specification, and its value as it stands in the text."""


def parameters(query: str, rng: Random) -> Parameters:
    """A legal set of parameters for a query ('q1' .. 'q22'), as `rng` draws it; KeyError for another name.

    Q11's fraction is that of scale factor 1.
    """
    return _DRAW[query](rng)


def text(query: str, values: Mapping[str, str]) -> str:
    """The query's text with `values` in place of the validation parameters.

    KeyError for an unknown query or a parameter without a value.
    """
    template = queries.text(query)
    for written, replacement in _SITES[query]:
        template = template.replace(written, replacement)
    return template.format_map(values)


def _integer(rng: Random, low: int, high: int) -> str:
    return str(rng.randint(low, high))


def _month(rng: Random, first: tuple[int, int], last: tuple[int, int]) -> str:
    """The first day of a month from `first` to `last` (year, month), both included."""
    low, high = (year * 12 + month - 1 for year, month in (first, last))
    month = rng.randint(low, high)
    return datetime.date(month // 12, month % 12 + 1, 1).isoformat()


def _year(rng: Random) -> str:
    return f"{rng.randint(1993, 1997)}-01-01"


def _brand(rng: Random) -> str:
    return f"Brand#{rng.randint(1, 5)}{rng.randint(1, 5)}"


def _several(rng: Random, name: str, values: list[str]) -> Parameters:
    return {f"{name}{number}": value for number, value in enumerate(values, 1)}


def _q6(rng: Random) -> Parameters:
    return {"DATE": _year(rng), "DISCOUNT": f".{rng.randint(2, 9):02}", "QUANTITY": _integer(rng, 24, 25)}


def _q8(rng: Random) -> Parameters:
    nation = rng.choice(tuple(NATIONS))
    return {"NATION": nation, "REGION": NATIONS[nation], "TYPE": rng.choice(TYPES)}


def _q16(rng: Random) -> Parameters:
    sizes = _several(rng, "SIZE", [str(size) for size in rng.sample(range(1, 51), 8)])
    return {"BRAND": _brand(rng), "TYPE": rng.choice(TYPES).rpartition(" ")[0], **sizes}


def _q19(rng: Random) -> Parameters:
    quantities = [_integer(rng, low, low + (9 if low == 1 else 10)) for low in (1, 10, 20)]
    brands = [_brand(rng) for _ in range(3)]
    return {**_several(rng, "QUANTITY", quantities), **_several(rng, "BRAND", brands)}


def _q20(rng: Random) -> Parameters:
    return {"COLOR": rng.choice(COLORS), "DATE": _year(rng), "NATION": rng.choice(tuple(NATIONS))}


def _q22(rng: Random) -> Parameters:
    codes = rng.sample(range(10, 10 + len(NATIONS)), 7)
    return _several(rng, "I", [str(code) for code in codes])


_DRAW: dict[str, Callable[[Random], Parameters]] = {
    "q1": lambda rng: {"DELTA": _integer(rng, 60, 120)},
    "q2": lambda rng: {
        "SIZE": _integer(rng, 1, 50),
        "TYPE": rng.choice(TYPES).rpartition(" ")[2],
        "REGION": rng.choice(REGIONS),
    },
    "q3": lambda rng: {"SEGMENT": rng.choice(SEGMENTS), "DATE": f"1995-03-{rng.randint(1, 31):02}"},
    "q4": lambda rng: {"DATE": _month(rng, (1993, 1), (1997, 10))},
    "q5": lambda rng: {"REGION": rng.choice(REGIONS), "DATE": _year(rng)},
    "q6": _q6,
    "q7": lambda rng: _several(rng, "NATION", rng.sample(tuple(NATIONS), 2)),
    "q8": _q8,
    "q9": lambda rng: {"COLOR": rng.choice(COLORS)},
    "q10": lambda rng: {"DATE": _month(rng, (1993, 2), (1995, 1))},
    "q11": lambda rng: {"NATION": rng.choice(tuple(NATIONS)), "FRACTION": "0.0001"},
    "q12": lambda rng: {**_several(rng, "SHIPMODE", rng.sample(MODES, 2)), "DATE": _year(rng)},
    "q13": lambda rng: {
        "WORD1": rng.choice(("special", "pending", "unusual", "express")),
        "WORD2": rng.choice(("packages", "requests", "accounts", "deposits")),
    },
    "q14": lambda rng: {"DATE": _month(rng, (1993, 1), (1997, 12))},
    "q15": lambda rng: {"DATE": _month(rng, (1993, 1), (1997, 10))},
    "q16": _q16,
    "q17": lambda rng: {"BRAND": _brand(rng), "CONTAINER": rng.choice(CONTAINERS)},
    "q18": lambda rng: {"QUANTITY": _integer(rng, 312, 315)},
    "q19": _q19,
    "q20": _q20,
    "q21": lambda rng: {"NATION": rng.choice(tuple(NATIONS))},
    "q22": _q22,
}

VALIDATION: dict[str, Parameters] = {
    "q1": {"DELTA": "90"},
    "q2": {"SIZE": "15", "TYPE": "BRASS", "REGION": "EUROPE"},
    "q3": {"SEGMENT": "BUILDING", "DATE": "1995-03-15"},
    "q4": {"DATE": "1993-07-01"},
    "q5": {"REGION": "ASIA", "DATE": "1994-01-01"},
    "q6": {"DATE": "1994-01-01", "DISCOUNT": ".06", "QUANTITY": "24"},
    "q7": {"NATION1": "FRANCE", "NATION2": "GERMANY"},
    "q8": {"NATION": "BRAZIL", "REGION": "AMERICA", "TYPE": "ECONOMY ANODIZED STEEL"},
    "q9": {"COLOR": "green"},
    "q10": {"DATE": "1993-10-01"},
    "q11": {"NATION": "GERMANY", "FRACTION": "0.0001"},
    "q12": {"SHIPMODE1": "MAIL", "SHIPMODE2": "SHIP", "DATE": "1994-01-01"},
    "q13": {"WORD1": "special", "WORD2": "requests"},
    "q14": {"DATE": "1995-09-01"},
    "q15": {"DATE": "1996-01-01"},
    "q16": {
        "BRAND": "Brand#45",
        "TYPE": "MEDIUM POLISHED",
        **{f"SIZE{i}": str(size) for i, size in enumerate((49, 14, 23, 45, 19, 3, 36, 9), 1)},
    },
    "q17": {"BRAND": "Brand#23", "CONTAINER": "MED BOX"},
    "q18": {"QUANTITY": "300"},
    "q19": {
        **{f"QUANTITY{i}": quantity for i, quantity in enumerate(("1", "10", "20"), 1)},
        **{f"BRAND{i}": brand for i, brand in enumerate(("Brand#12", "Brand#23", "Brand#34"), 1)},
    },
    "q20": {"COLOR": "forest", "DATE": "1994-01-01", "NATION": "CANADA"},
    "q21": {"NATION": "SAUDI ARABIA"},
    "q22": {f"I{i}": str(code) for i, code in enumerate((13, 31, 23, 29, 30, 18, 17), 1)},
}
"""The parameters that the texts are written with."""

_DATE = "date '{DATE}'"
_QUANTITIES = tuple(
    (f"l_quantity >= {q} and l_quantity <= {q} + 10", f"l_quantity >= {{{n}}} and l_quantity <= {{{n}}} + 10")
    for q, n in (("1", "QUANTITY1"), ("10", "QUANTITY2"), ("20", "QUANTITY3"))
)
_CODES = ", ".join(f"'{{I{i}}}'" for i in range(1, 8))

_SITES: dict[str, tuple[tuple[str, str], ...]] = {
    "q1": (("'90' day", "'{DELTA}' day"),),
    "q2": (("p_size = 15", "p_size = {SIZE}"), ("'%BRASS'", "'%{TYPE}'"), ("'EUROPE'", "'{REGION}'")),
    "q3": (("'BUILDING'", "'{SEGMENT}'"), ("date '1995-03-15'", _DATE)),
    "q4": (("date '1993-07-01'", _DATE),),
    "q5": (("'ASIA'", "'{REGION}'"), ("date '1994-01-01'", _DATE)),
    "q6": (("date '1994-01-01'", _DATE), (" .06 ", " {DISCOUNT} "), ("l_quantity < 24", "l_quantity < {QUANTITY}")),
    "q7": (("'FRANCE'", "'{NATION1}'"), ("'GERMANY'", "'{NATION2}'")),
    "q8": (("'BRAZIL'", "'{NATION}'"), ("'AMERICA'", "'{REGION}'"), ("'ECONOMY ANODIZED STEEL'", "'{TYPE}'")),
    "q9": (("'%green%'", "'%{COLOR}%'"),),
    "q10": (("date '1993-10-01'", _DATE),),
    "q11": (("'GERMANY'", "'{NATION}'"), ("* 0.0001", "* {FRACTION}")),
    "q12": (("'MAIL'", "'{SHIPMODE1}'"), ("'SHIP'", "'{SHIPMODE2}'"), ("date '1994-01-01'", _DATE)),
    "q13": (("'%special%requests%'", "'%{WORD1}%{WORD2}%'"),),
    "q14": (("date '1995-09-01'", _DATE),),
    "q15": (("date '1996-01-01'", _DATE),),
    "q16": (
        ("'Brand#45'", "'{BRAND}'"),
        ("'MEDIUM POLISHED%'", "'{TYPE}%'"),
        ("(49, 14, 23, 45, 19, 3, 36, 9)", f"({', '.join(f'{{SIZE{i}}}' for i in range(1, 9))})"),
    ),
    "q17": (("'Brand#23'", "'{BRAND}'"), ("'MED BOX'", "'{CONTAINER}'")),
    "q18": (("sum(l_quantity) > 300", "sum(l_quantity) > {QUANTITY}"),),
    "q19": (
        ("'Brand#12'", "'{BRAND1}'"),
        ("'Brand#23'", "'{BRAND2}'"),
        ("'Brand#34'", "'{BRAND3}'"),
        *_QUANTITIES,
    ),
    "q20": (("'forest%'", "'{COLOR}%'"), ("date '1994-01-01'", _DATE), ("'CANADA'", "'{NATION}'")),
    "q21": (("'SAUDI ARABIA'", "'{NATION}'"),),
    "q22": (("('13', '31', '23', '29', '30', '18', '17')", f"({_CODES})"),),
}
"""Where the parameters stand: what is written there, and what is put in its place."""
