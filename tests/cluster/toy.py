"""A toy of a sharded database: counters by key, how many counters have which value, how many values occur how often, ...

At each level a shard keeps numbers by key. A number that changes from a to b is told to the shards of a and of b at the
next level, where a is a key with one less, and b one with one more. So a message that is lost or doubled shows. It is
as strict as engines are: levels come one after the other, and what was not kept is not saved.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from ivm.catalog.errors import ConstraintError
from ivm.cluster.files.files import Files as Root
from ivm.cluster.protocol.terms import Exchange, Message, Order, Shard, Unwritten
from ivm.durable.files import Files, read_batches
from ivm.storage.storage import Readable
from ivm.storage.stored import Stored

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


class Known:
    """The last two snapshots, by their names: of each the files of pieces, by what these are."""

    def __init__(self) -> None:
        self.last: list[tuple[str, dict[str, Stored]]] = []

    def loaded(self, name: str, head: bytes) -> None:
        """There is one."""
        said = json.loads(head)["pieces"]
        self.last = [*self.last[-1:], (name, {text: Stored(*written) for text, written in said})]


class Pieces:
    """See `Saving`: of texts, of which those that the last snapshot but one has are not written again."""

    def __init__(self, known: Known, texts: Sequence[str], said: str = "") -> None:
        self.known, self.texts, self.said = known, texts, said
        self.head = b""

    def write(self, files: Files, base: str) -> tuple[bytes, Sequence[Stored]]:
        """See `Saving.write`."""
        there = dict(self.known.last).get(base, {})
        made: dict[str, Stored] = {}
        for text in self.texts:
            if text not in made:
                made[text] = there.get(text) or files.write("level", [pa.record_batch({"text": [text]})])
        self.head = json.dumps({"said": self.said, "pieces": [(text, made[text]) for text in self.texts]}).encode()
        return self.head, [made[text] for text in self.texts]

    def written(self, name: str) -> None:
        """See `Saving.written`."""
        self.known.loaded(name, self.head)


def read_pieces(head: bytes, place: Readable) -> list[str]:
    """What was said, and the texts."""
    plain = json.loads(head)
    files = [Stored(*written) for _, written in plain["pieces"]]
    return [plain["said"], *(read_batches(place, each)[0].column("text")[0].as_py() for each in files)]


class ToyShard:
    """See `ivm.cluster.protocol.terms.Shard`. `meet` is called in the middle of each step, and may raise."""

    def __init__(self, shard: int, levels: int, meet: Callable[[], None] = lambda: None) -> None:
        self.shard = shard
        self.levels = levels
        self.meet = meet
        self.numbers: list[Counter[int]] = [Counter() for _ in range(levels)]
        self.defined: list[str] = []
        self.snapshots = Known()
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

    def save(self) -> Pieces:
        """See `Shard.save`: a piece for each level."""
        assert self._at is None
        numbers, defined = self._copied()
        return Pieces(self.snapshots, [json.dumps(sorted(each.items())) for each in numbers], json.dumps(defined))

    def tell(self, order: Order, level: int) -> tuple[Unwritten, ...]:
        """See `Shard.tell`."""
        return ()

    def hold(self) -> tuple[Unwritten, ...]:
        """See `Shard.hold`."""
        return ()

    def load(self, head: bytes, place: Readable, name: str) -> None:
        """See `Shard.load`."""
        assert not self.contents()
        self.snapshots.loaded(name, head)
        defined, *numbers = map(json.loads, read_pieces(head, place))
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

    def follow(self, root: Root, changes: Sequence[Change]) -> int:
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
