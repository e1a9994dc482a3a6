"""Disjoint classes of column positions."""

from __future__ import annotations

from collections.abc import Iterable

Classes = tuple[tuple[int, ...], ...]
"""Disjoint, each ascending and of at least two members, ordered by their first member."""


def merged_classes(groups: Iterable[Iterable[int]]) -> Classes:
    """The finest classes that hold the members of each group together. Cost: groups times classes."""
    classes: list[set[int]] = []
    for group in groups:
        joined = set(group)
        apart = []
        for known in classes:
            if joined & known:
                joined |= known
            else:
                apart.append(known)
        classes = [*apart, joined]
    return tuple(sorted(tuple(sorted(c)) for c in classes if len(c) > 1))


def representatives(classes: Classes) -> dict[int, int]:
    """The first member of the class of each column that is in one."""
    return {column: group[0] for group in classes for column in group}
