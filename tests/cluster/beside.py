"""What is written beside the work, or, where writing takes no time, at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

from ivm.cluster.files.cleaner import Cleaner
from ivm.cluster.files.versions import Version

P = ParamSpec("P")
T = TypeVar("T")


class AtOnce(Executor):
    """Does what is submitted before `submit` returns, so that the order is known."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """See `Executor.submit`."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  whoever asks for the result is told
            future.set_exception(error)
        return future


class CleansAtOnce(Cleaner):
    """Cleans before `begin` returns, likewise."""

    def begin(self, chain: str, newest: Version) -> None:
        """See `Cleaner.begin`."""
        self.clean(chain, newest)
