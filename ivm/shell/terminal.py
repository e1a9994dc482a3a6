"""The shell at a terminal: a prompt at once, and the engine as soon as it is loaded."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.filters import Condition

from catalog.catalog import Catalog
from ivm.shell.complete import is_complete
from ivm.shell.completion import SqlCompleter
from ivm.shell.highlight import STYLE, SqlLexer
from ivm.shell.history import history_file, opened_history

if TYPE_CHECKING:
    from ivm.shell.session import Shell

PROMPT = "ivm> "
MORE = "...> "


def run_terminal(load: Callable[[], tuple[Shell, Callable[[], Catalog]]], greeting: str) -> int:
    """Prompt until the end of the input; an error ends its statement only. Returns the exit code.

    `load` makes the shell, and what tells the names that there are; it runs beside the first prompt. Ctrl-C cancels
    what is typed or what runs, Ctrl-D leaves.
    """
    loading: Future[tuple[Shell, Callable[[], Catalog]]] = Future()
    thread = threading.Thread(target=_fulfil, args=(loading, load), name="ivm-shell-load")
    thread.start()
    session = _session(lambda: loading.result()[1]() if loading.done() and loading.exception() is None else None)
    sys.stdout.write(f"{greeting}\n")
    while True:
        try:
            text = session.prompt(PROMPT)
            shell = loading.result()[0]
        except KeyboardInterrupt:
            continue
        except EOFError:
            return 0
        try:
            run_typed(shell, text)
        except EOFError:
            return 0


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


def _fulfil(
    loading: Future[tuple[Shell, Callable[[], Catalog]]], load: Callable[[], tuple[Shell, Callable[[], Catalog]]]
) -> None:
    try:
        loading.set_result(load())
    except BaseException as error:  # noqa: BLE001  raised where it is waited for
        loading.set_exception(error)


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
