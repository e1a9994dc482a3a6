"""What SET, RESET and USE do."""

from __future__ import annotations

from catalog.errors import UnsupportedError
from ivm.session.core import Core
from sql.parse_settings import SEARCH_PATH
from sql.statements import Set


def set_to(core: Core, statement: Set) -> None:
    """Let a setting have the value; BindError or UnsupportedError for one that it cannot have."""
    if statement.name == SEARCH_PATH:
        core.settings.path = core.settings.names.schemas(statement.value or "")
        return
    raise UnsupportedError(f"SET {statement.name} is not supported; leave it out")
