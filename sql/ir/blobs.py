r"""Texts of BLOBs: ASCII, and \xAA for each byte that is none, as DuckDB reads and writes them.

A BLOB is here a string whose bytes, with Python's surrogates for those that are not UTF-8, are the BLOB's.
"""

from __future__ import annotations

import re

ANY_BYTES = "surrogateescape"
_READ = re.compile(r"\\x([0-9a-fA-F]{2})|([^\\])", re.DOTALL)


def bytes_of(text: str) -> str:
    """The BLOB that a text writes; ValueError for a character beyond ASCII and a backslash without two digits."""
    parts, at = bytearray(), 0
    for match in _READ.finditer(text):
        if match.start() != at or (match[2] and not match[2].isascii()):
            break
        parts.append(int(match[1], 16) if match[1] else ord(match[2]))
        at = match.end()
    if at != len(text):
        raise ValueError(f"{text!r} writes no BLOB: bytes that are not ASCII are written as \\xAA")
    return parts.decode(errors=ANY_BYTES)


def blob_text(raw: bytes) -> str:
    r"""A BLOB as DuckDB writes it: what cannot be printed, quotes and backslashes as \xAA."""
    return "".join(chr(byte) if 32 <= byte < 127 and byte not in b"\\'\"" else f"\\x{byte:02X}" for byte in raw)
