"""What functions of texts answered, remembered by code."""

from __future__ import annotations

import numpy as np

from ivm.catalog.types import Physical
from ivm.render.scalars.text_memo import TextMemo
from ivm.trace.columns.column import Column
from ivm.trace.text.dictionary import TextDictionary


def test_codes_may_lie_apart() -> None:
    """So lie those of a group's key, in the words of the keys."""
    dictionary = TextDictionary()
    codes = dictionary.codes(["a", "bb", "ccc"])
    memo = TextMemo(dictionary, lambda new: Column(new.astype(np.int64) * 2), Physical.INT64)
    apart = np.repeat(codes.astype(np.int32), 2)[::2]
    assert not apart.flags.c_contiguous
    assert memo.lookup(Column(apart)).values.tolist() == [2 * code for code in codes.tolist()]
