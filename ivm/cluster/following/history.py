"""The history of a folder, as its pages have it: which versions there are of each chain, and at which logical times.

Pages are read where they are needed, and found by time by a search, newest first. What is missing is never passed over:
versions are taken as far back as each is the one before the next.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from ivm.catalog.errors import StorageError
from ivm.cluster.files.chains import files_of
from ivm.cluster.files.files import Files
from ivm.cluster.files.versions import COMMITS, Version, Versions, number_of
from ivm.cluster.protocol import orders
from ivm.cluster.protocol.orders import Definition

_PAGES = 512
"""So many pages are remembered, at most."""
_READING = 8
"""So many are read at once."""


class Stretch(NamedTuple):
    """Versions of a chain one after the other, without a gap, from `first` to `last`.

    `chain`: its name. `made`: the last of them that only made again what the chain before had, 0 if none did. `begin`:
    the logical time since when all changes are known. `moved`: the chain that follows, if one does.
    """

    chain: str
    first: int
    last: int
    made: int
    begin: int
    moved: str

    @property
    def start(self) -> int:
        """The version at `begin`."""
        return self.made or (0 if self.first == 1 and not self.chain else self.first)


class History:
    """What the pages of a folder say. One thread at a time uses it."""

    def __init__(self, root: Files) -> None:
        self._root = root
        self._pages: dict[tuple[str, int], Version] = {}
        self._definitions: dict[tuple[str, int], list[tuple[int, Definition]]] = {}

    def files(self, chain: str) -> Files:
        """Where the files of a chain are."""
        return files_of(self._root, chain)

    def stretches(self) -> list[Stretch]:
        """Those that there are now, oldest first; the last one is of the chain that counts. Empty if there is none.

        Cost: a list and a page or two for each chain since the root.
        """
        found, chain = list[Stretch](), ""
        while True:
            numbers = [number_of(name) for name in self.files(chain).names(COMMITS)]
            if not numbers:
                if chain:
                    raise StorageError(
                        f"cannot find any version under {self.files(chain).where()}; restore the whole folder from one "
                        "backup"
                    )
                return []
            moved = ""
            newest = self.page(chain, numbers[-1])
            while newest.moved:  # the first to say so has the version before it
                numbers, moved, end = numbers[:-1], newest.moved, newest
                if not numbers or numbers[-1] != end.version - 1:
                    break
                newest = self.page(chain, numbers[-1])
            if numbers and (not moved or numbers[-1] == end.version - 1):
                found.append(self._stretch(chain, numbers, moved))
            if not moved:
                return found
            chain = moved

    def page(self, chain: str, version: int) -> Version:
        """The page of a version."""
        known = self._pages.get((chain, version))
        if known is None:
            known = Versions(self.files(chain)).at(version)
            if len(self._pages) >= _PAGES:
                self._pages.clear()
            self._pages[chain, version] = known
        return known

    def newest(self, stretch: Stretch) -> Version:
        """The last version."""
        return self.page(stretch.chain, stretch.last)

    def definitions(self, stretch: Stretch) -> list[tuple[int, Definition]]:
        """What was defined up to the last version, each with the version that did. Cost: a file for each, once."""
        newest = self.newest(stretch)
        place = (stretch.chain, newest.defined)
        if place not in self._definitions:
            found, versions = [], Versions(self.files(stretch.chain))
            defined = newest if newest.version == newest.defined else versions.at(newest.defined)
            for stored, text in zip(defined.plans, versions.definitions(newest), strict=True):
                what = orders.read(text)
                assert isinstance(what, Definition), "a commit defines nothing"
                found.append((number_of(stored.file), what))
            self._definitions = {place: found}
        return self._definitions[place]

    def last_at(self, stretch: Stretch, time: int) -> int:
        """The last version that is not after a logical time, which is not before `begin`. Cost: few pages, if it is
        one of the last.
        """
        low, high, step = stretch.start, stretch.last, 1
        probe = high
        while probe > low and self.page(stretch.chain, probe).time > time:
            probe, high, step = max(low, probe - step), probe - 1, step * 2
        later = bisect_left(range(probe + 1, high + 1), True, key=lambda n: self.page(stretch.chain, n).time > time)
        return probe + later

    def after(self, stretch: Stretch, version: int, upto: int) -> Sequence[Version]:
        """The versions after one up to another. StorageError if one does not follow from the one before."""
        numbers = range(version + 1, upto + 1)
        previous = self.page(stretch.chain, version).id
        found = list(self._all_pages(stretch.chain, numbers))
        for each in found:
            if each.previous != previous:
                raise StorageError(
                    f"cannot read the history of {self.files(stretch.chain).where()}: version {each.version} does not "
                    f"follow version {each.version - 1}; restore the whole folder from one backup"
                )
            previous = each.id
        return found

    def _all_pages(self, chain: str, numbers: Sequence[int]) -> Iterator[Version]:
        missing = [number for number in numbers if (chain, number) not in self._pages]
        if len(missing) < _READING // 2:
            return (self.page(chain, number) for number in numbers)
        with ThreadPoolExecutor(_READING) as threads:
            read = dict(zip(missing, threads.map(Versions(self.files(chain)).at, missing), strict=True))
        return (read[number] if number in read else self.page(chain, number) for number in numbers)

    def _stretch(self, chain: str, numbers: Sequence[int], moved: str) -> Stretch:
        last = first = numbers[-1]
        for number in reversed(numbers[:-1]):
            if number != first - 1:
                break
            first = number
        made = self._made(chain, first, last)
        if made:
            begin = self.page(chain, made).time
        else:
            begin = 0 if first == 1 and not chain else self.page(chain, first).time
        return Stretch(chain, first, last, made, begin, moved)

    def _made(self, chain: str, first: int, last: int) -> int:
        """The last version that only made again what there was; 0 if there is none."""
        if not self.page(chain, first).again:
            return 0
        return first + bisect_left(range(first + 1, last + 1), True, key=lambda n: not self.page(chain, n).again)
