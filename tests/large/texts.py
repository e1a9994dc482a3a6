"""Queries of any size, each of one kind of largeness: what a generator, a tool or somebody hostile would write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

TABLES = """
    CREATE TABLE t (k BIGINT PRIMARY KEY, a INTEGER NOT NULL, b INTEGER, c DECIMAL(12, 2), d DOUBLE, s VARCHAR, x DATE);
    CREATE TABLE u (k BIGINT PRIMARY KEY, a INTEGER NOT NULL, b INTEGER, s VARCHAR);
    CREATE TABLE plain (a INTEGER, b INTEGER, s VARCHAR)
"""


@dataclass(frozen=True, slots=True)
class Large:
    """A kind of large text: `write(n)` gives the query, `full` is the size that it is asked for."""

    full: int
    write: Callable[[int], str]


LARGE: dict[str, Large] = {}
"""All of them, by name."""


def large(full: int) -> Callable[[Callable[[int], str]], Callable[[int], str]]:
    """Keep the decorated text among `LARGE`, by its name."""

    def keep(write: Callable[[int], str]) -> Callable[[int], str]:
        LARGE[write.__name__] = Large(full, write)
        return write

    return keep


def _each(pattern: str, n: int) -> Iterator[str]:
    return (pattern.format(i=i, j=i * 7 % 1000, p="ab"[i % 2]) for i in range(n))


def joined(between: str, pattern: str, n: int) -> str:
    """`pattern` n times, with {i} the number, {j} another, {p} one of two letters."""
    return between.join(_each(pattern, n))
