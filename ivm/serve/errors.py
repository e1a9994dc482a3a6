"""What a server says to clients beside the errors of the database."""

from __future__ import annotations

from ivm.catalog.errors import OperationalError


class LimitError(OperationalError):
    """More was asked than one client may have: rows, bytes, seconds or connections; says which limit it is."""


class TooLongError(LimitError):
    """A statement took longer than one may."""


class NotFoundError(OperationalError):
    """There is no table or view of the name that is asked for; names those that are near."""


class CancelledError(OperationalError):
    """A statement was ended before it was done, since nobody waits for it any more, or somebody said so."""


class DeniedError(OperationalError):
    """Who asks is not known: no user, password or token, or a wrong one."""


class BusyError(LimitError):
    """As many are served at a time as may be."""
