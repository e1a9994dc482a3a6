"""What was found out last, remembered up to a number of entries."""

from __future__ import annotations

from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Values by their keys; of more than `most` those go that nobody has asked for the longest.

    Any thread may call anything: a key that two ask for at once may be unknown to one of them.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[Key, Value] = {}  # what was asked for last stands last

    def get(self, key: Key) -> Value | None:
        """What is remembered; None if nothing is."""
        found = self.take(key)
        if found is not None:
            self._kept[key] = found
        return found

    def take(self, key: Key) -> Value | None:
        """What is remembered, which is forgotten: nobody else has it until it is put back."""
        return self._kept.pop(key, None)

    def put(self, key: Key, value: Value) -> None:
        """Remember a value."""
        self._kept[key] = value
        while len(self._kept) > self._most:
            self._kept.pop(next(iter(tuple(self._kept)), key), None)
