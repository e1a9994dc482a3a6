"""Texts of UUIDs: 32 hexadecimal digits, of which each pair may have a - behind it, and braces around, as in DuckDB."""

from __future__ import annotations

import re

_CANONICAL = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_READ = re.compile(r"(?:[0-9a-fA-F]{2}-?){15}[0-9a-fA-F]{2}", re.ASCII)


def uuid_of(text: str) -> str:
    """The one form of a UUID that a text writes, whose order is that of UUIDs; ValueError if it is none."""
    if _CANONICAL.fullmatch(text):
        return text
    bare = text[1:-1] if text[:1] == "{" and text[-1:] == "}" else text
    if not _READ.fullmatch(bare):
        raise ValueError(f"{text!r} is no UUID; write 00112233-4455-6677-8899-aabbccddeeff, for instance")
    digits = bare.replace("-", "").lower()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
