"""Texts that are read where they lie, anywhere in the process's memory."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ivm.catalog.types import VARCHAR
from ivm.render.scalars.text_natives import like, one_of
from ivm.trace.columns.placed_texts import placed_texts
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.texts import texts_of

TEXTS = ["", "a", "é", "abcdefg", "a long text of many bytes", "abc"]


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_they_are_the_texts_of_the_array(type_: pa.DataType) -> None:
    array = pa.array(TEXTS, pa.string()).cast(type_)
    placed = placed_texts(array, VARCHAR)
    assert placed is not None
    texts, expected = texts_of([placed.text(place) for place in (5, 0, 4, 2)]), [TEXTS[place] for place in (5, 0, 4, 2)]
    assert texts.strings() == expected
    dictionary = TextDictionary()
    assert dictionary.now().strings(dictionary.encode_texts(texts).values) == expected
    for native, holds in ((like("%c%"), lambda text: "c" in text), (one_of("é", "abc"), {"é", "abc"}.__contains__)):
        assert native is not None
        assert native(texts).tolist() == [holds(text) for text in expected]
