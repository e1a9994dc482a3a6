"""What others hold on to, for as long as they do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar
from weakref import ref

Each = TypeVar("Each")


class Held(list["ref[Each]"]):
    """Weak references in the order in which they came; one leaves when nobody else holds what it refers to.

    Not `WeakSet`: every commit asks whether there are any, and a list that is empty says so in no time.
    """

    def hold(self, each: Each) -> None:
        """One more."""
        self.append(ref(each, self.remove))

    def let_go(self, each: Each) -> None:
        """One less; nothing happens if it is not there."""
        for reference in tuple(self):
            if reference() is each:
                self.remove(reference)

    def each(self) -> Iterator[Each]:
        """Those that are still held; others may come and go meanwhile."""
        return (found for reference in tuple(self) if (found := reference()) is not None)
