"""What a state is made of, as it is now: it can be put back, and compared with what another moment left.

So all histories are walked as a tree, each branch of which is run once: where it forks, the state is put back, with all
arrays where they lie, since kernels hold their addresses. No kind of state need know of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable
from functools import cache, partial
from types import MethodType, ModuleType
from typing import Any
from weakref import ref

import numpy as np

from ivm.trace.state import WeakList
from ivm.trace.text.dictionary import TextDictionary

_UNTOLD = frozenset({"edition", "version", "visited", "_given"})
"""Attributes that say how often something happened, or are written anew whenever they are read: states that differ in
them alone are the same."""
_OURS = ("ivm.", "tests.")
_NONE: frozenset[str] = frozenset()
_LOWEST = 1 << 32
"""No array lies at a lower address: a process has its code and data there, if anything."""
_set = object.__setattr__


class Image:
    """All that is reached from `root`: attributes, lists, queues, dictionaries, sets, and arrays with what they hold.

    Texts are not: a dictionary keeps the code of a text, whoever has come to know it. Nor are the attributes `memos`,
    each after the name of its class.
    """

    def __init__(self, root: Any, memos: Collection[str] = ()) -> None:
        self._memos: dict[str, set[str]] = {}
        for place, _, name in (memo.rpartition(".") for memo in memos):
            self._memos.setdefault(place, set()).add(name)
        self.held: list[WeakList[Any]] = []
        self._seen: dict[int, tuple[int, Any]] = {}
        self._arrays: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
        self._lists: list[tuple[list[Any], list[Any]]] = []
        self._queues: list[tuple[deque[Any], list[Any]]] = []
        self._dicts: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
        self._sets: list[tuple[set[Any], set[Any]]] = []
        self._slots: list[tuple[Any, list[tuple[str, Any]]]] = []
        seen, todo = self._seen, [root]
        while todo:
            each = todo.pop()
            kind: Any = type(each)
            take = _taker(kind)
            if take is not None and id(each) not in seen:
                seen[id(each)] = len(seen), each
                todo.extend(take(self, each))

    def put_back(self) -> None:
        """Let all be as it was."""
        for array, values in self._arrays:
            if values is not array:
                np.copyto(array, values)
        for items, there in self._lists:
            items[:] = there
        for queue, there in self._queues:
            queue.clear()
            queue.extend(there)
        for names, entries in self._dicts:
            names.clear()
            names.update(entries)
        for members, were in self._sets:
            members.clear()
            members.update(were)
        for each, attributes in self._slots:
            for name, value in attributes:
                _set(each, name, value)

    def print(self) -> int:
        """The same number for another image of the same; but for chance, another one for any other."""
        seen, nobody = self._seen, (-1, None)
        places = {array.ctypes.data: -place for place, (array, _) in enumerate(self._arrays)}

        def told(value: Any) -> Hashable:
            place = seen.get(id(value), nobody)[0]
            is_plain = place < 0 and isinstance(value, Hashable) and not isinstance(value, memoryview)
            return value if is_plain else place

        parts: list[Hashable] = []
        untold = {id(entries["_given"]) for _, entries in self._dicts if "_given" in entries}
        for array, values in self._arrays:
            if id(array) in untold:
                continue
            if _may_tell_addresses(values):
                parts.append(tuple([places.get(word, word) for word in values.tolist()]))
            else:
                parts.append(values.tobytes())
        parts.extend(tuple([told(item) for item in items]) for _, items in (*self._lists, *self._queues))
        for _, entries in self._dicts:
            parts.append(tuple([(name, told(value)) for name, value in entries.items() if name not in _UNTOLD]))
        parts.extend(frozenset(members) for _, members in self._sets)
        for _, attributes in self._slots:
            parts.append(tuple([told(value) for name, value in attributes if name not in _UNTOLD]))
        return hash(tuple(parts))

    def take_array(self, array: Any) -> Iterable[Any]:
        """An array, or what it is a part of."""
        if isinstance(array.base, np.ndarray):
            return (array.base,)
        if array.dtype != object:
            self._arrays.append((array, array.copy() if array.flags.writeable else array))
        return ()

    def take_list(self, items: Any) -> Iterable[Any]:
        """A list and its items; that of readers names who is held."""
        self._lists.append((items, list(items)))
        if isinstance(items, WeakList):
            self.held.append(items)
        return items

    def take_queue(self, items: Any) -> Iterable[Any]:
        """A queue and its items."""
        self._queues.append((items, list(items)))
        return items

    def take_dict(self, entries: Any) -> Iterable[Any]:
        """A dictionary and its values."""
        self._dicts.append((entries, dict(entries)))
        return entries.values()

    def take_set(self, members: Any) -> Iterable[Any]:
        """A set; its members are plain values."""
        self._sets.append((members, set(members)))
        return ()

    def take_object(self, each: Any) -> Iterable[Any]:
        """An object and its attributes."""
        found: list[Any] = []
        kind: Any = type(each)
        memos = self._memos.get(kind.__name__, _NONE)
        entries = getattr(each, "__dict__", None)
        if entries is not None:
            there = {name: value for name, value in entries.items() if name not in memos}
            self._dicts.append((entries, there))
            found.extend(there.values())
        names = [name for name in _slots_of(kind) if name not in memos and hasattr(each, name)]
        attributes = [(name, getattr(each, name)) for name in names]
        if attributes:
            self._slots.append((each, attributes))
            found.extend(value for _, value in attributes)
        return found


def _may_tell_addresses(values: np.ndarray[Any, Any]) -> bool:
    return values.dtype == np.int64 and values.ndim == 1 and values.size > 0 and int(values.max()) >= _LOWEST


@cache
def _taker(kind: Any) -> Callable[[Image, Any], Iterable[Any]] | None:
    """How an image takes objects of this type, None: not at all."""
    if issubclass(kind, TextDictionary | type | ModuleType):
        return None
    if issubclass(kind, np.ndarray):
        return Image.take_array
    if issubclass(kind, list):
        return Image.take_list
    if issubclass(kind, deque):
        return Image.take_queue
    if issubclass(kind, dict):
        return Image.take_dict
    if issubclass(kind, set):
        return Image.take_set
    if issubclass(kind, tuple):
        return lambda _, each: each
    if issubclass(kind, ref):
        return lambda _, each: (each(),)
    if issubclass(kind, partial):
        return lambda _, each: (each.func, *each.args, *each.keywords.values())
    if issubclass(kind, MethodType):
        return lambda _, each: (each.__self__,)
    return Image.take_object if kind.__module__.startswith(_OURS) else None


@cache
def _slots_of(kind: Any) -> tuple[str, ...]:
    return tuple(
        name
        for each in kind.__mro__
        for name in getattr(each, "__slots__", ())
        if name not in ("__weakref__", "__dict__")
    )
