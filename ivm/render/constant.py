"""Renders constants: rows in engine form become columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from catalog.types import Physical
from ivm.operators.ends import Feed
from ivm.plan.constant import ConstantPlan
from ivm.render.scalars.columns import stored
from ivm.trace.column import DTYPES, Column
from ivm.trace.delta import Delta, delta_of
from ivm.trace.dictionary import TextDictionary
from sql.ir.scalar import Value


def constant_feed(plan: ConstantPlan, dictionary: TextDictionary) -> Feed:
    """A feed that never changes."""

    def read(time: int) -> Iterator[Delta]:
        if plan.rows:  # encoded each time: nobody else keeps the codes of its texts
            types = [column.type.physical for column in plan.row]
            columns = [_column([row[i] for row in plan.rows], each, dictionary) for i, each in enumerate(types)]
            yield delta_of(columns, time, None, len(plan.rows))

    return Feed(read)


def _column(values: list[Value], physical: Physical, dictionary: TextDictionary) -> Column:
    valid = np.array([v is not None for v in values], np.bool_)
    coded = physical is Physical.CODE
    plain = [0 if v is None else dictionary.code(str(v)) if coded else v for v in values]
    words = np.array(plain, object if physical is Physical.WIDE else DTYPES[physical])
    return Column(stored(words, physical), None if valid.all() else valid)
