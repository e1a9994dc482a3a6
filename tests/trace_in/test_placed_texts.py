"""Texts that are read where they lie, anywhere in the process's memory."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pytest

from ivm.catalog.types import VARCHAR
from ivm.render.scalars.text_natives import like, one_of
from ivm.trace.columns.placed_texts import placed_texts, scattered
from ivm.trace.text.dictionary import TextDictionary

TEXTS = ["", "a", "é", "abcdefg", "a long text of many bytes", "abc"]


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_they_are_the_texts_of_the_array(type_: pa.DataType) -> None:
    array = pa.array(TEXTS, pa.string()).cast(type_)
    placed = placed_texts(array, VARCHAR)
    assert placed is not None
    starts, ends = placed.bounds(np.array([5, 0, 4, 2]))
    texts, expected = scattered(starts, ends), ["abc", "", "a long text of many bytes", "é"]
    assert ends.max() <= len(texts.data), "each byte of them is one of the array"
    assert texts.strings() == expected
    dictionary = TextDictionary()
    assert dictionary.now().strings(dictionary.encode_texts(texts).values) == expected
    for native, holds in ((like("%c%"), lambda text: "c" in text), (one_of("é", "abc"), {"é", "abc"}.__contains__)):
        assert native is not None
        assert native(texts).tolist() == [holds(text) for text in expected]


def test_nothing_is_read_behind_a_text() -> None:
    """The page behind the last text cannot be read: a process that does so ends."""
    script = """
        import ctypes, mmap
        import numpy as np
        from ivm.render.scalars.text_natives import like
        from ivm.trace.columns.exported import PAGE
        from ivm.trace.columns.placed_texts import scattered

        size = mmap.PAGESIZE
        pages = mmap.mmap(-1, 2 * size)
        begin = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        pages[size - 11 : size] = b"some, texts"
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(begin + size), size, 0) == 0
        end = begin + size - PAGE
        texts = scattered(np.array([end - 5, end - 11, end - 1]), np.array([end, end, end]))
        print(texts.strings(), like("%xt%")(texts).tolist())
    """
    said = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert said.stdout == "['texts', 'some, texts', 's'] [True, True, False]\n"
