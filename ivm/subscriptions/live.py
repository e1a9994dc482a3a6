"""A view in a notebook that is drawn again whenever it has changed."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from importlib import import_module
from threading import Thread, current_thread
from typing import Any

from ivm.catalog.errors import Error, InterfaceError
from ivm.subscriptions.subscription import Subscription


class Live:
    """Shows a view below the cell that made it, as it is now, until it is closed, or its view or database is gone.

    Made by `View.live`. It needs IPython, which every notebook of Jupyter's has, and no package beside that.
    """

    def __init__(self, draw: Callable[[], str], subscribe: Callable[[], Subscription]) -> None:
        """`draw` gives the view as HTML. InterfaceError where no notebook runs; raises what `subscribe` raises."""
        self._notebook, self._draw = _notebook(), draw
        self._subscription = subscribe()
        try:
            self._shown = self._notebook.display(self._notebook.HTML(draw()), display_id=True)
        except BaseException:
            self._subscription.close()
            raise
        self._thread = Thread(target=self._follow, name="ivm-live", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it is drawn again when something changes."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Leave what is shown as it is. Once is enough."""
        self._subscription.close()
        if self._thread is not current_thread():
            self._thread.join()

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _follow(self) -> None:
        try:
            for _ in self._subscription:
                self._shown.update(self._notebook.HTML(self._draw()))
        except Error as error:
            self._shown.update(self._notebook.HTML(f"<small>{escape(str(error))}</small>"))
        finally:
            self._subscription.close()


def _notebook() -> Any:
    """What shows something in the notebook that runs."""
    try:
        ipython = import_module("IPython")
    except ImportError as error:
        raise InterfaceError("cannot show a view that changes: IPython is not there; do it in a notebook") from error
    if ipython.get_ipython() is None:
        raise InterfaceError("cannot show a view that changes: no notebook runs here; read it, or subscribe to it")
    return import_module("IPython.display")
