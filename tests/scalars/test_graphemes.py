"""Clusters of characters against DuckDB, which reverses a text by them."""

from __future__ import annotations

import random

import duckdb
import pyarrow as pa

from ivm.render.scalars.graphemes import clusters
from ivm.render.scalars.text_functions import reverse

# Letters, marks that extend and that do not, joiners, pictures, skin tones, flags, Korean, prepended, controls, tags,
# consonants of India that form one sign.
POINTS = (
    "aé\u0300\u0301\u0e33\u102b\u1083\u200c\u200d\u200d\ufe0f\u2640\u2764\U0001f926\U0001f469\U0001f680"
    "\U0001f3fb\U0001f3ff\U0001f1e6\U0001f1f7\U0001f1fa\u1100\u1161\u11a8\uac00\uac01\u0600\u06dd\n\t\xad\u200b"
    "\U000e0067\U000e007f\u0905\u094d\u0937\u093e\uff9e\u3030\u20e3#1"
)


def test_texts_are_reversed_as_duckdb_does():
    chosen = random.Random(29)
    texts = ["", "\U0001f926\U0001f3fc\u200d\u2642\ufe0f!", "e\u0301te\u0301", "\U0001f1e9\U0001f1ea\U0001f1eb"]
    texts += ["é" + "".join(chosen.choices(POINTS, k=chosen.randrange(1, 9))) for _ in range(4000)]
    given = pa.table({"s": texts})
    expected = [row[0] for row in duckdb.connect().from_arrow(given).select("reverse(s)").fetchall()]
    assert [(text, reverse(text)) for text in texts] == list(zip(texts, expected, strict=True))
    assert all("".join(clusters(text)) == text for text in texts)
