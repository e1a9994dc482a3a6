"""Values of functions of texts, which a store keeps for as long as somebody has the function."""

from __future__ import annotations

from ivm.catalog.types import BOOLEAN, Physical
from ivm.trace.columns.column import Column, Ints
from ivm.trace.columns.computed import ComputedColumns
from ivm.trace.columns.growable import HotColumn
from ivm.trace.text.texts import Texts


class Function:
    type = BOOLEAN
    memo: Ints | None = None

    def of_texts(self, texts: Texts) -> Column:
        raise AssertionError("nobody asks")

    def of_codes(self, column: Column) -> Column:
        raise AssertionError("nobody asks")


def test_values_are_kept_while_anybody_has_the_function() -> None:
    computed, first, second = ComputedColumns(), Function(), Function()
    values = [HotColumn(Physical.BOOL) for _ in range(3)]
    for (index, function), column in zip(((0, first), (1, first), (0, second)), values, strict=True):
        computed.put(index, function, column)
    assert [computed.get(0, first), computed.get(1, first), computed.get(0, second)] == values
    assert computed.get(1, second) is None
    before = computed.version
    del first, function
    assert computed.columns() == [values[2]]
    assert computed.version != before
    assert computed.get(0, second) is values[2]
    assert all(computed.get(index, Function()) is None for _ in range(9) for index in range(2)), (
        "an id that comes again"
    )


def test_functions_may_outlive_what_is_kept_of_them() -> None:
    computed, function = ComputedColumns(), Function()
    computed.put(0, function, HotColumn(Physical.BOOL))
    del computed
    del function
