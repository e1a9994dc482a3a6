"""What can go wrong around TPC-H data: a machine that lacks a tool, a stream that cannot be made or read."""

from __future__ import annotations

from ivm.catalog.errors import Error


class SetupError(Error):
    """Something that generation needs is not on this machine (Java, the TPC-H generator)."""


class GenerateError(Error):
    """A stream cannot be generated as asked (parameters out of range, the target exists, the generator failed)."""


class StreamError(Error):
    """A stream directory cannot be read: missing or truncated files, a manifest that does not match them."""
