"""A view in a notebook that is drawn again whenever it has changed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape
from importlib import import_module
from threading import Thread, current_thread
from typing import Any

from ivm.catalog.errors import Error, InterfaceError
from ivm.subscriptions.live_widget import new_widget
from ivm.subscriptions.subscription import Subscription


class Live:
    """Shows a view below the cell that made it, as it is now, until it is closed, or its view or database is gone.

    Made by `View.live`. It needs IPython, which every notebook of Jupyter's has. With anywidget it is a widget,
    `widget`, that may stand among others as well; without, what is shown is replaced, and `widget` is None.
    """

    def __init__(self, draw: Callable[[], str], subscribe: Callable[[], Subscription]) -> None:
        """`draw` gives the view as HTML. InterfaceError where no notebook runs; raises what `subscribe` raises."""
        notebook, self._draw = _notebook(), draw
        self._subscription = subscribe()
        try:
            self.widget = new_widget(drawn := draw())
            self._show = _shown(notebook, drawn) if self.widget is None else _shown_by(notebook, self.widget)
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

    def _ipython_display_(self) -> None:
        """Nothing: a cell that ends with it shows it already."""

    def _follow(self) -> None:
        try:
            for _ in self._subscription:
                self._show(self._draw())
        except Error as error:
            self._show(f"<small>{escape(str(error))}</small>")
        finally:
            self._subscription.close()


def _shown(notebook: Any, drawn: str) -> Callable[[str], None]:
    """Show HTML; what replaces it by other."""
    handle = notebook.display(notebook.HTML(drawn), display_id=True)
    return lambda again: handle.update(notebook.HTML(again))


def _shown_by(notebook: Any, widget: Any) -> Callable[[str], None]:
    """The same of a widget."""
    notebook.display(widget)
    return partial(setattr, widget, "drawn")


def _notebook() -> Any:
    """What shows something in the notebook that runs."""
    try:
        ipython = import_module("IPython")
    except ImportError as error:
        raise InterfaceError("cannot show a view that changes: IPython is not there; do it in a notebook") from error
    if ipython.get_ipython() is None:
        raise InterfaceError("cannot show a view that changes: no notebook runs here; read it, or subscribe to it")
    return import_module("IPython.display")
