"""A folder in memory that refuses, forgets, answers late, shows late and garbles, as a seed has it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

import pyarrow as pa

from ivm.storage.storage import Shared
from tests.cluster.memory import MemoryFolder


@dataclass(frozen=True)
class Rates:
    """How often a call fails, and how."""

    refuse: float = 0.0
    """Nothing is done, and that is said."""
    deny: float = 0.0
    """All is done, and it is said that nothing was."""
    late: float = 0.0
    """The same, but it is done only later."""
    hide: float = 0.0
    """What was written is not seen at once."""
    garble: float = 0.0
    """What is read is not what is there."""
    longest: int = 20
    """So many calls later it is done, or seen."""


CALM = Rates()


class Faulty:
    """See `ivm.storage.storage.Shared`. `before` is called with the name of each call; what it raises, the call raises."""

    def __init__(self, chance: random.Random, rates: Rates = CALM, inner: Shared | None = None) -> None:
        self.inner = inner or MemoryFolder()
        self.rates = rates
        self.before: Callable[[str], None] = lambda call: None
        self.counts: Counter[str] = Counter()
        self.ruined: set[str] = set()
        """Files that are damaged for good."""
        self._chance = chance
        self._lock = Lock()
        self._calls = 0
        self._hidden: dict[str, int] = {}
        self._late: list[tuple[int, Callable[[], object]]] = []

    def where(self, name=""):
        return self.inner.where(name)

    def put(self, name, pieces):
        whole = b"".join(pieces)
        self._write("put", name, lambda: self.inner.put(name, [whole]))

    def put_new(self, name, data):
        return self._write("put_new", name, lambda: self.inner.put_new(name, data))

    def read(self, name, *, mapped=True):
        self._meet("read")
        if self._is_hidden(name):
            raise FileNotFoundError(2, "not seen yet", name)
        data = self.inner.read(name)
        if name in self.ruined or self._happens("garble"):
            whole = data.to_pybytes()
            return pa.py_buffer(bytes([whole[0] ^ 1]) + whole[1:] if whole else b"?")
        return data

    def names(self, under=""):
        self._meet("names")
        return [each for each in self.inner.names(under) if not self._is_hidden(each)]

    def remove(self, name):
        self._write("remove", name, lambda: self.inner.remove(name))

    def remove_under(self, under):
        for name in self.names(under):
            self.remove(name)

    def settle(self):
        """All that is late is done, and all is seen."""
        for _, do in self._late:
            do()
        self._late.clear()
        self._hidden.clear()

    def _write(self, call, name, do):
        self._meet(call)
        if self._happens("deny"):
            do()
            raise OSError(5, "no answer")
        if self._happens("late"):
            self._late.append((self._calls + self._chance.randint(1, self.rates.longest), do))
            raise OSError(5, "no answer in time")
        if call != "remove" and self._happens("hide"):
            self._hidden[name] = self._calls + self._chance.randint(1, self.rates.longest)
        return do()

    def _meet(self, call):
        self._calls += 1
        self.counts[call] += 1
        with self._lock:
            due = [each for each in self._late if each[0] <= self._calls]
            self._late = [each for each in self._late if each[0] > self._calls]
        for _, do in due:
            do()
        self.before(call)
        if self._happens("refuse"):
            raise OSError(16, "refused")

    def _happens(self, what):
        rate = getattr(self.rates, what)
        if rate and self._chance.random() < rate:
            self.counts[what] += 1
            return True
        return False

    def _is_hidden(self, name):
        return self._hidden.get(name, 0) > self._calls
