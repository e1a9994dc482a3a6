"""Batches that are put together against the same arrays, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT, BOOLEAN, DATE, INTEGER, VARCHAR, SqlType, decimal
from ivm.intake.as_it_is import AsItIs
from ivm.trace.columns.arrow import arrow_type
from ivm.trace.columns.batches import FAN, Batches
from ivm.trace.columns.together import Together

_FEW_TEXTS = pa.array(["", "a", "größer", "a text"])
_MANY_TEXTS = pa.array([str(number) for number in range(10_000)])
FORMS: dict[str, tuple[SqlType, list[Any], Any]] = {
    "int": (INTEGER, [0, -1, 2**31 - 1], pa.int32()),
    "short": (BIGINT, [0, -1, 7], pa.int32()),
    "decimal": (decimal(15, 2), [Decimal("0.00"), Decimal("-1.25")], pa.decimal64(15, 2)),
    "wide": (decimal(30, 2), [Decimal("0.00"), Decimal("1.25")], pa.decimal128(30, 2)),
    "day": (DATE, [0, 1, 20_000], pa.date32()),
    "truth": (BOOLEAN, [True, False], pa.bool_()),
    "text": (VARCHAR, ["", "a", "größer", "x" * 100], pa.string()),
    "large": (VARCHAR, ["", "a"], pa.large_string()),
    "few": (VARCHAR, [0, 1, 3], _FEW_TEXTS),
    "many": (VARCHAR, [0, 1, 9_999], _MANY_TEXTS),
    "fresh": (VARCHAR, [0, 1], None),
}
FIELDS = tuple(Field(name, kind) for name, (kind, _, _) in FORMS.items())


def array_of(values: Sequence[Any], form: Any) -> pa.Array:
    """An array that begins behind the first value of another one."""
    if form is None:
        form = pa.array(["b", f"{len(values)}"])
    if isinstance(form, pa.Array):
        return pa.DictionaryArray.from_arrays(pa.array([0, *values], pa.int16()), form)[1:]
    return pa.array([values[0], *values], form)[1:]


@pytest.mark.parametrize("nulls", [False, True])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_all_columns_in_one(nulls: bool, data: Any) -> None:
    random = data.draw(st.randoms(use_true_random=False))
    taken, rows, size = AsItIs(FIELDS), Batches(), data.draw(st.sampled_from([1, 3, 250, 400]))
    for number in range(FAN + 1):
        count = random.randint(1, size)
        arrays = []
        for _, values, form in FORMS.values():
            drawn = random.choices(values, k=count)
            if nulls and number % 7 == 3 and form is not None and not isinstance(form, pa.Array):
                drawn = [*drawn[:-1], None] if count > 1 else drawn
            arrays.append(array_of(drawn, form))
        looked_at = taken.taken(pa.record_batch(arrays, names=list(FORMS)))
        assert looked_at is not None
        rows.batches.append(looked_at[0])
        rows.levels.append(0)
        rows.places.append(None if data.draw(st.integers(0, 200)) == 0 else looked_at[3])
        rows.texts.append({})
        rows.pieces.push(count)
    types = {index: field.type for index, field in enumerate(FIELDS)}
    together, made = Together(rows, 1, types), None
    while made is None:
        made = together.go_on(rows)
    assert [batch.num_rows for batch in made.batches] == [
        rows.batches[0].num_rows,
        rows.pieces.rows - rows.pieces.start(1),
    ]
    whole = made.batches[1]
    whole.validate(full=True)
    for at, (field, column) in enumerate(zip(FIELDS, whole.columns, strict=True)):
        wanted = pa.concat_arrays([each.column(at).cast(arrow_type(field.type)) for each in rows.batches[1:]])
        assert column.cast(arrow_type(field.type)).equals(wanted)
        assert column.null_count == wanted.null_count
        if field.name in ("int", "short", "decimal", "wide", "day", "few"):
            assert column.type == rows.batches[1].column(at).type


def test_a_wide_table_keeps_pace_with_its_batches() -> None:
    """Of however many columns, fewer steps than it takes batches to be put together next."""
    width = 500
    rows, types = Batches(), dict.fromkeys(range(width), BIGINT)
    for number in range(FAN):
        form = pa.int64() if number % 2 else pa.int32()
        rows.batches.append(pa.record_batch([pa.array([number], form)] * width, names=[*map(str, range(width))]))
        rows.levels.append(0)
        rows.places.append(None)
        rows.texts.append({})
        rows.pieces.push(1)
    together, made, steps = Together(rows, 0, types), None, 0
    while made is None:
        made, steps = together.go_on(rows), steps + 1
    assert steps < FAN - FAN // 4
    assert made.batches[0].column(width - 1).to_pylist() == list(range(FAN))
