"""What computes each scalar function: one body for each that `ivm.sql.ir.functions` declares.

Importing this raises if a declared function has no body, or a body no declaration.

How to add a body, in the file of its family or in a new one that is listed below:

* A function of text is a line of `TEXTS` in `texts.py`: how Python computes it of single values and, if it reads one
  text and is called often, a native over bytes. Memos, dictionaries and NULLs are taken care of.
* A function of numbers, dates or truth has `steps`: expressions that mean the same of whole columns as of one row's
  words, such as `script.let(f"{a} + {b}")`. numpy runs them for the interpreter, and a fused loop has them compiled in.
  They may call the functions of `ivm.catalog.calendar` and `ivm.kernels.numbers.elementwise`, where longer ones go.
* What evaluates an argument on some rows only asks the script for it there: see `case` in `logic.py`.
* A function that DuckDB is asked for needs no more than its declaration; nor do those of the application's, which no
  program calls.
* What cannot be said in such steps, since it computes with Python's integers, has a form for the interpreter.
"""

from __future__ import annotations

from ivm.render.scalars.bodies import (
    arithmetic,
    called,
    casts,
    comparisons,
    intervals,
    logic,
    moments,
    nested,
    rounding,
    series,
)
from ivm.render.scalars.bodies.body import Body
from ivm.render.scalars.bodies.texts import TEXTS
from ivm.render.scalars.texts import REGEXES
from ivm.sql.ir.functions import FUNCTIONS

_FAMILIES = (arithmetic, rounding, comparisons, intervals, logic, casts, moments, nested, series, called)

BODIES = {
    **{body.name: body for family in _FAMILIES for body in family.BODIES},
    **{name: Body(name) for name in (*TEXTS, *REGEXES)},
    **{name: Body(name) for name, function in FUNCTIONS.items() if function.asked is not None},
}
"""All bodies by the functions' names."""

if BODIES.keys() != FUNCTIONS.keys():
    missing, unknown = sorted(FUNCTIONS.keys() - BODIES.keys()), sorted(BODIES.keys() - FUNCTIONS.keys())
    raise ImportError(f"functions that are declared without a body: {missing}; bodies that nobody declared: {unknown}")
