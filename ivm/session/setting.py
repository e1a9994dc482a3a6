"""What SET, RESET and USE do."""

from __future__ import annotations

from catalog.errors import UnsupportedError
from ivm.session.core import Core
from sql.parse_settings import SEARCH_PATH
from sql.statements import Set

_TIME_ZONE = "timezone"


def set_to(core: Core, statement: Set) -> None:
    """Let a setting have the value; BindError or UnsupportedError for one that it cannot have."""
    if statement.name == SEARCH_PATH:
        core.settings.path = core.settings.names.schemas(statement.value or "")
        return
    if statement.name == _TIME_ZONE:
        if statement.value is not None and statement.value.strip("'\" ").upper() not in ("UTC", "GMT"):
            what = "SET TimeZone is supported for 'UTC' only, so that a view means the same in every session"
            raise UnsupportedError(f"{what}; write x AT TIME ZONE 'Europe/Zurich'")
        return
    raise UnsupportedError(f"SET {statement.name} is not supported; leave it out")
