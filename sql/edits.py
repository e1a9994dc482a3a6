"""Edits of a text: what is replaced in it, by offsets, before anybody reads it."""

from __future__ import annotations

from collections.abc import Sequence

Edit = tuple[int, int, str]
"""From an offset to another there is to be a text."""


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text with its edits, of which none overlap."""
    pieces, at = list[str](), 0
    for start, end, written in sorted(edits, key=lambda edit: edit[:2]):
        pieces += [text[at:start], written]
        at = end
    return "".join([*pieces, text[at:]])
