"""What DuckDB must be told so that its aggregates do not depend on the order in which rows come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token

_FIRST, _LAST = "ASC NULLS LAST", "ASC NULLS FIRST"
_ORDERED = {
    **dict.fromkeys(["string_agg", "group_concat", "listagg", "list", "array_agg", "any_value", "first"], _FIRST),
    **dict.fromkeys(["arg_min", "argmin", "min_by", "arg_max", "argmax", "max_by", "mode"], _FIRST),
    "last": _LAST,
}


def aggregate_orders(text: str, tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    """Where to insert what: the first argument, ascending, at the end of each aggregate's ORDER BY.

    So ties are decided as the engine decides them. Window functions are left alone.
    """
    for i, token in enumerate(tokens[:-2]):
        order = _ORDERED.get(token.text.lower())
        before = tokens[i - 1].text.upper() if i else ""
        if order is None or tokens[i + 1].text != "(" or before in (".", "FETCH"):
            continue
        stop, commas, ordered = _closing(tokens, i + 2)
        start = i + 3 if tokens[i + 2].text.upper() in ("DISTINCT", "ALL") else i + 2
        if stop == start or _is_windowed(tokens, stop):
            continue
        end = min([*commas, *ordered, stop])
        argument = text[tokens[start].start : tokens[end - 1].end + 1]
        lead = "," if ordered else " ORDER BY"
        yield tokens[stop].start, f"{lead} {argument} {order}"


def _closing(tokens: Sequence[Token], start: int) -> tuple[int, list[int], list[int]]:
    """Where the parenthesis opened before `start` closes, and the commas and ORDER BYs directly inside."""
    depth = 0
    commas: list[int] = []
    ordered: list[int] = []
    for i in range(start, len(tokens)):
        word = tokens[i].text.upper()
        if word in ("(", "[", "{"):
            depth += 1
        elif word in (")", "]", "}"):
            if depth == 0:
                return i, commas, ordered
            depth -= 1
        elif depth == 0 and word == ",":
            commas.append(i)
        elif depth == 0 and word in ("ORDER", "ORDER BY"):
            ordered.append(i)
    return len(tokens) - 1, commas, ordered


def _is_windowed(tokens: Sequence[Token], closing: int) -> bool:
    """Whether OVER follows, after FILTER (..) perhaps."""
    at = closing + 1
    if at + 1 < len(tokens) and tokens[at].text.upper() == "FILTER":
        at = _closing(tokens, at + 2)[0] + 1
    return at < len(tokens) and tokens[at].text.upper() == "OVER"
