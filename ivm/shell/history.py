"""What was typed before, in a file that only its user may read."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory


def history_file() -> Path:
    """Where it is kept: `IVM_HISTORY`, else in the user's directory for what programs remember."""
    chosen = os.environ.get("IVM_HISTORY")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_STATE_HOME", "")
    state = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state"
    return state / "ivm" / "history"


def opened_history(path: Path) -> History:
    """The history in a file, which is made with mode 0600; in memory only, where it cannot be written."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)) as file:
            os.fchmod(file.fileno(), 0o600)
    except (OSError, RuntimeError):
        return InMemoryHistory()
    return _KeptHistory(path)


class _KeptHistory(FileHistory):
    """A history that goes on without its file when that can no longer be read or written."""

    def load_history_strings(self) -> Iterable[str]:
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        with contextlib.suppress(OSError):
            super().store_string(string)
