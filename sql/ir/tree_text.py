"""Writes a tree whose nodes may stand in several places: what was written once is referred to by its number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Tree = TypeVar("Tree")


class TreeText(Generic[Tree]):
    """The lines of `root`: those of each node as `lines_of` gives them, the first at the node's depth, and below them
    its inputs, one level deeper.

    A node with inputs that stands in several places is written in the first of them, marked `[n]`; the others only say
    `see [n]`. Equal nodes count as one if they are one object or their texts are equal. Cost: linear in the number of
    different nodes.
    """

    def __init__(
        self, root: Tree, inputs_of: Callable[[Tree], Sequence[Tree]], lines_of: Callable[[Tree], Sequence[str]]
    ) -> None:
        self._inputs_of, self._lines_of = inputs_of, lines_of
        self._alive: list[Tree] = []  # so that no other node takes an id
        self._number_of: dict[int, int] = {}
        self._numbers: dict[tuple[tuple[str, ...], tuple[int, ...]], int] = {}
        self._lines: list[tuple[str, ...]] = []
        self._inputs: list[tuple[int, ...]] = []
        self._root = self._visit(root)

    def text(self) -> str:
        """All lines, without a newline at the end."""
        uses = Counter({self._root: 1})
        for number in range(self._root, -1, -1):  # inputs have smaller numbers than what reads them
            uses.update(dict.fromkeys(self._inputs[number], 0))
            for below in self._inputs[number]:
                uses[below] += 1
        lines: list[str] = []
        self._write(self._root, 0, uses, {}, lines)
        return "\n".join(lines)

    def _visit(self, node: Tree) -> int:
        known = self._number_of.get(id(node))
        if known is None:
            inputs = tuple(map(self._visit, self._inputs_of(node)))
            lines = tuple(self._lines_of(node))
            known = self._numbers.setdefault((lines, inputs), len(self._lines))
            if known == len(self._lines):
                self._lines.append(lines)
                self._inputs.append(inputs)
            self._number_of[id(node)] = known
            self._alive.append(node)
        return known

    def _write(self, number: int, depth: int, uses: Counter[int], labels: dict[int, int], lines: list[str]) -> None:
        indent = "  " * depth
        if number in labels:
            lines.append(f"{indent}see [{labels[number]}]")
            return
        first, *rest = self._lines[number]
        shared = uses[number] > 1 and self._inputs[number]
        if shared:
            labels[number] = len(labels) + 1
        lines.append(f"{indent}{first}{f'  [{labels[number]}]' if shared else ''}")
        lines += [indent + line for line in rest]
        for below in self._inputs[number]:
            self._write(below, depth + 1, uses, labels, lines)
