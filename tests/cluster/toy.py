"""A toy of a sharded database: counters by key, how many counters have which value, how many values occur how often, ...

At each level a shard keeps numbers by key. A number that changes from a to b is told to the shards of a and of b at the
next level, where a is a key with one less, and b one with one more. So a message that is lost or doubled shows. It is
as strict as engines are: levels come one after the other, and what was not kept is not saved.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ivm.catalog.errors import ConstraintError
from ivm.cluster.files.files import Files
from ivm.cluster.protocol.terms import Exchange, Message, Order, Shard, Told

KEYS = 12
Said = tuple[int, list[list[int]]]
"""A shard, and what it is told: keys, each with what its number changes by."""


def _messages(said: Sequence[Said], shards: int, groups: int) -> list[Message]:
    found: dict[int, list[Said]] = {}
    for each in said:
        found.setdefault(each[0] % groups, []).append(each)
    return [Message(group, json.dumps(sorted(each)).encode()) for group, each in sorted(found.items())]


def _inputs(payloads: Sequence[bytes]) -> dict[int, list[list[list[int]]]]:
    found: dict[int, list[list[list[int]]]] = {}
    for payload in payloads:
        for shard, changes in json.loads(payload):
            found.setdefault(shard, []).append(changes)
    return found


EXCHANGE = Exchange(_messages, _inputs)


class ToyShard:
    """See `ivm.cluster.protocol.terms.Shard`. `meet` is called in the middle of each step, and may raise."""

    def __init__(self, shard: int, levels: int, meet: Callable[[], None] = lambda: None) -> None:
        self.shard = shard
        self.levels = levels
        self.meet = meet
        self.numbers: list[Counter[int]] = [Counter() for _ in range(levels)]
        self.defined: list[str] = []
        self._kept = self._copied()
        self._at: tuple[int, str, int] | None = None

    def step(self, order: Order, level: int, inputs: Sequence[list[list[int]]]) -> list[Said]:
        """See `Shard.step`. A number below zero at level 1 is an error of the user's."""
        before = self._at or (order.version, order.id, 0)
        assert before == (order.version, order.id, level - 1), f"{before} before level {level} of {order}"
        self._at = (order.version, order.id, level)
        what = json.loads(order.what)
        if level == 1 and "define" in what:
            self.defined.append(what["define"])
        changes: Counter[int] = Counter()
        for each in inputs:
            for key, change in each:
                assert key % order.shards == self.shard
                changes[key] += change
        self.meet()
        said: dict[int, Counter[int]] = {}
        for key, change in changes.items():
            old = self.numbers[level - 1][key]
            new = self.numbers[level - 1][key] = old + change
            if new < 0:
                assert level == 1, "a lower level has said too much or too little"
                raise ConstraintError(f"counter {key} would be {new}")
            for number, sign in ((old, -1), (new, +1)):
                if number:
                    said.setdefault(number % order.shards, Counter())[number] += sign
        if level == self.levels:
            return []
        return [
            (to, sorted([k, n] for k, n in each.items() if n))
            for to, each in sorted(said.items())
            if any(each.values())
        ]

    def undo(self) -> None:
        """See `Shard.undo`."""
        self.numbers, self.defined = [Counter(each) for each in self._kept[0]], list(self._kept[1])
        self._at = None

    def keep(self) -> None:
        """See `Shard.keep`."""
        assert self._at is None or self._at[2] == self.levels
        self._kept = self._copied()
        self._at = None

    def save(self) -> Iterator[bytes]:
        """See `Shard.save`: a piece for each level."""
        assert self._at is None
        numbers, defined = self._copied()
        pieces = [json.dumps(sorted(each.items())).encode() for each in numbers]
        return iter([json.dumps(defined).encode(), *pieces])

    def tell(self, order: Order, level: int) -> tuple[Told, ...]:
        """See `Shard.tell`."""
        return ()

    def hold(self) -> tuple[Told, ...]:
        """See `Shard.hold`."""
        return ()

    def load(self, pieces: Iterable[bytes]) -> None:
        """See `Shard.load`."""
        assert not self.contents()
        defined, *numbers = map(json.loads, pieces)
        self.defined = defined
        self.numbers = [Counter(dict(each)) for each in numbers]
        self._kept = self._copied()

    def contents(self) -> dict[str, object]:
        """All that is here."""
        found: dict[str, object] = {
            f"{level}.{key}": n for level, each in enumerate(self.numbers) for key, n in each.items() if n
        }
        return found | ({"defined": list(self.defined)} if self.defined else {})

    def _copied(self) -> tuple[list[Counter[int]], list[str]]:
        return [Counter(each) for each in self.numbers], list(self.defined)


@dataclass(frozen=True)
class Change:
    """What a user asks for: numbers by key, or a definition. A bad one breaks a constraint."""

    what: dict[str, str]
    rows: list[tuple[int, int]] = field(default_factory=list)


class Toy:
    """What `tests.cluster.schedule` needs to know of a kind of shards, and one engine as the reference."""

    exchange = EXCHANGE

    def __init__(self, shards: int, levels: int) -> None:
        self.shards = shards
        self.levels = levels

    def make(self, shard: int, meet: Callable[[], None]) -> ToyShard:
        """A new shard."""
        return ToyShard(shard, self.levels, meet)

    def draw(self, chance: random.Random, number: int, attempt: int) -> Change:
        """Any change, the try of a batch of this number."""
        if chance.random() < 0.1:
            return Change({"define": f"{number}.{attempt}"})
        rows = [(chance.randrange(KEYS), chance.choice([1, 1, 1, 2, 3, -1])) for _ in range(chance.randint(0, 6))]
        return Change({}, rows)

    def is_definition(self, change: Change) -> bool:
        """Whether it defines anything."""
        return "define" in change.what

    def order(self, change: Change) -> tuple[bytes, list[Said]]:
        """What the driver says to all, and to some shards at the first level."""
        rows: list[list[list[int]]] = [[] for _ in range(self.shards)]
        for key, n in change.rows:
            rows[key % self.shards].append([key, n])
        return json.dumps(change.what).encode(), [(shard, each) for shard, each in enumerate(rows) if each]

    def time(self, order: Order, change: Change) -> int:
        """That of the version."""
        return order.version

    def follow(self, root: Files, changes: Sequence[Change]) -> int:
        """There are no views."""
        return 0

    def expected(self, changes: Sequence[Change]) -> list[dict[str, object]]:
        """The contents of each shard after changes, by an engine that starts anew. ConstraintError for a bad one."""
        defined = [change.what["define"] for change in changes if "define" in change.what]
        numbers: list[Counter[int]] = [Counter()]
        for change in changes:
            for key, n in change.rows:
                numbers[0][key] += n
            if min(numbers[0].values(), default=0) < 0:
                raise ConstraintError("a counter is below zero")
        for _ in range(1, self.levels):
            numbers.append(Counter(n for n in numbers[-1].values() if n))
        found: list[dict[str, object]] = [{"defined": defined} if defined else {} for _ in range(self.shards)]
        for level, each in enumerate(numbers):
            for key, n in each.items():
                if n:
                    found[key % self.shards][f"{level}.{key}"] = n
        return found

    def contents(self, shard: Shard) -> dict[str, object]:
        """All that a shard has."""
        assert isinstance(shard, ToyShard)
        return shard.contents()
