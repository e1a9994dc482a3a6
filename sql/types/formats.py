"""The formats of strftime and strptime: a % and a letter, with a - between them for no leading zero."""

from __future__ import annotations

import re

WRITTEN = frozenset("YymdHIMSpfgnjUWVGuwaAbhB%cxXT")
"""The letters that strftime knows here."""

READ = frozenset("YymdHIMSpfgnjaAbhB%cxXT")
"""The letters that strptime knows here."""

_SHORTENED = frozenset("ymdHIMSj")
_SPECIFIER = re.compile(r"%-?.?", re.DOTALL)


def unknown_specifier(form: str, letters: frozenset[str]) -> str | None:
    """The first specifier of the format whose letter is not one of `letters`, or that takes no -; else None."""
    for found in _SPECIFIER.findall(form):
        letter = found[-1]
        if len(found) == 1 or letter not in letters or (len(found) == 3 and letter not in _SHORTENED):
            return str(found)
    return None
