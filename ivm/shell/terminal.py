"""The shell at a terminal: a prompt at once, SQL in colours, and the engine as soon as it is loaded."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import split_lines
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from ivm.catalog.catalog import Catalog
from ivm.shell.completion import SqlCompleter
from ivm.shell.names import KEYWORDS, TYPES, is_command, is_complete

if TYPE_CHECKING:
    from ivm.shell.session import Shell

PROMPT = "ivm> "
IN_TRANSACTION = "ivm*> "
MORE = "...> "
STYLE = Style.from_dict(
    {
        "keyword": "ansiblue bold",
        "type": "ansicyan",
        "text": "ansigreen",
        "number": "ansimagenta",
        "comment": "ansibrightblack italic",
        "command": "bold",
    }
)

_PARTS = re.compile(
    r"""
      (?P<text>'(?:[^']|'')*(?:'|\Z) | \$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z))
    | (?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<name>"(?:[^"]|"")*(?:"|\Z))
    | (?P<number>\b\d[\d_]*(?:\.\d*)?(?:e[+-]?\d+)?\b)
    | (?P<word>[^\W\d]\w*)
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_WORDS = {**dict.fromkeys(KEYWORDS, "class:keyword"), **dict.fromkeys(TYPES, "class:type")}


def run_terminal(load: Callable[[], Shell], greeting: str) -> int:
    """Prompt until the end of the input; an error ends its statement only. Returns the exit code.

    `load` makes the shell; it runs beside the first prompt. Ctrl-C cancels what is typed or what runs, Ctrl-D leaves.
    """
    loading = ThreadPoolExecutor(1, "ivm-shell-load").submit(load)
    session = _session(lambda: loading.result().catalog if loading.done() and loading.exception() is None else None)
    sys.stdout.write(f"{greeting}\n")
    prompt = PROMPT
    while True:
        try:
            text = session.prompt(prompt)
            shell = loading.result()
        except KeyboardInterrupt:
            continue
        except EOFError:
            if loading.done() and loading.exception() is None:
                loading.result().leave()
            return 0
        try:
            run_typed(shell, text)
        except EOFError:
            shell.leave()
            return 0
        prompt = IN_TRANSACTION if shell.db.in_transaction else PROMPT


def run_typed(shell: Shell, text: str) -> None:
    """Run what was typed at one prompt; what goes wrong is told. EOFError if it was a wish to leave."""
    try:
        shell.forget()
        shell.feed(text.strip("\n"))
    except EOFError:
        raise
    except KeyboardInterrupt:
        shell.interrupted()
    except Exception as error:  # noqa: BLE001  nobody at a prompt is helped by a traceback
        shell.tell(error)


def _session(catalog: Callable[[], Catalog | None]) -> PromptSession[str]:
    """Enter ends a statement with a semicolon, and begins another line of one without."""
    session: PromptSession[str] = PromptSession(
        history=opened_history(history_file()),
        completer=SqlCompleter(catalog),
        complete_while_typing=False,
        lexer=SqlLexer(),
        style=STYLE,
        include_default_pygments_style=False,
        multiline=Condition(lambda: not is_complete(session.default_buffer.text)),
        prompt_continuation=MORE,
        reserve_space_for_menu=4,
    )
    return session


class SqlLexer(Lexer):
    """Styles the parts of statements, over several lines; a command has a style of its own."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """The styled text of each line."""
        text = document.text
        parts: StyleAndTextTuples = [("class:command", text)] if is_command(text) else _styled(text)
        lines = list(split_lines(parts))
        return lambda number: lines[number] if number < len(lines) else []


def _styled(text: str) -> StyleAndTextTuples:
    parts: StyleAndTextTuples = []
    end = 0
    for found in _PARTS.finditer(text):
        parts.append(("", text[end : found.start()]))
        kind = found.lastgroup if found.lastgroup != "tag" else "text"
        parts.append((_WORDS.get(found[0].upper(), "") if kind == "word" else f"class:{kind}", found[0]))
        end = found.end()
    parts.append(("", text[end:]))
    return parts


def history_file() -> Path:
    """Where what was typed is kept: `IVM_HISTORY`, else in the user's directory for what programs remember."""
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
