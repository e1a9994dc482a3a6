"""`ivm serve`: a database for other processes, by HTTP, Arrow Flight SQL and Postgres's protocol."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ivm.serve.server import Server, serve
    from ivm.serve.settings import Limits, Settings
    from ivm.serve.users import Role, User, user_with_password, user_with_token

__all__ = ["Limits", "Role", "Server", "Settings", "User", "serve", "user_with_password", "user_with_token"]

_PLACES = {"server": ("Server", "serve"), "settings": ("Limits", "Settings")}
"""Where a name is that is not among the users; imported when it is first asked for, since help needs none of it."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'ivm.serve' has no attribute {name!r}")
    place = next((place for place, names in _PLACES.items() if name in names), "users")
    return getattr(importlib.import_module(f"ivm.serve.{place}"), name)
