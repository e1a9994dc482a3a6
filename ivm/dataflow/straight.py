"""Straight loops: one node of groups, to which all that it gives comes back along stages that keep nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ivm.dataflow.node import Node
from ivm.dataflow.scope import Scope
from ivm.operators.arrange import ArrangeLater
from ivm.operators.multiplicities import Signed
from ivm.operators.projection import Laid, ReadInPlace
from ivm.operators.round_reduce import Cells
from ivm.operators.stage import Stage
from ivm.operators.walk import Walk
from ivm.trace.delta import Layout, plain_layout
from ivm.trace.keyed.round_groups import RoundExtremes, RoundGroups


@dataclass(slots=True)
class Straight:
    """Such a loop. `node`: that of the group; `layout`: of what comes back, the round and a one last; `lines`: with the
    layout that each begins with; `later`: what has it arranged.
    """

    group: Cells[RoundGroups] | Cells[RoundExtremes]
    node: Node
    layout: Layout
    lines: list[tuple[Walk, Layout]] = field(default_factory=list)
    later: list[ArrangeLater] = field(default_factory=list)


class _OtherwiseError(Exception):
    """The loop is not straight."""


def straight(scope: Scope) -> Straight | None:
    """The loop, if it is straight."""
    if len(scope.groups) != 1 or len(scope.bindings) != 1:
        return None
    (operator, giving), (binding,) = scope.groups[0], scope.bindings
    if not isinstance(operator, Cells) or operator.driven is None or binding.back is None:
        return None
    if binding.node is not giving or giving.readers:
        return None
    (node,) = [each for each in scope.graph.nodes if each.operator is operator]
    found = Straight(operator, node, plain_layout(len(binding.types) + 1))
    try:
        for layout, stages in _from_start(binding.back, found):
            first, *others = *stages, ReadInPlace(operator.reads)
            if isinstance(first, Laid):  # so that many rows may go through what follows in stretches
                found.lines.append((Walk(others), first.lay(layout)))
            else:
                found.lines.append((Walk([first, *others]), layout))
    except _OtherwiseError:
        return None
    return found if found.lines else None


def _from_start(back: Node, found: Straight) -> Iterator[tuple[Layout, Sequence[Stage]]]:
    """The lines from where changes come back."""
    fed = found.layout.first(len(found.layout) - 1)
    for reader in back.readers:
        if not isinstance(reader.operator, Signed):
            yield from ((fed, stages) for stages in _through(reader, back, found))
            continue
        for further in reader.readers:
            if isinstance(further.operator, ArrangeLater):
                found.later.append(further.operator)
            else:
                yield from ((found.layout, stages) for stages in _through(further, reader, found))


def _through(node: Node, source: Node, found: Straight) -> Iterator[list[Stage]]:
    """The stages of all ways from a node, in which changes of a source come in, to the groups."""
    if node.operator is found.group:
        yield []
        return
    for number, each in enumerate(node.inputs):
        if each is not source:
            continue
        stages = node.operator.stages(number)
        if stages is None or not node.readers:
            raise _OtherwiseError
        for reader in node.readers:
            for rest in _through(reader, node, found):
                yield [*stages, *rest]
