"""What a loop is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ivm.catalog.types import SqlType
from ivm.dataflow.graph import Graph
from ivm.dataflow.node import Node
from ivm.operators.arrange import ArrangeLater
from ivm.operators.entered import Entered
from ivm.operators.held_back import MfpByRound
from ivm.operators.numbered import ByValue
from ivm.operators.round_node import RoundNode


@dataclass(frozen=True, slots=True)
class Fed:
    """A binding: its node in the loop, and the node at which its changes come back, if somebody reads them there."""

    node: Node
    back: Node | None
    types: tuple[SqlType, ...]
    """Those of its columns, and of the round."""


@dataclass(slots=True)
class Scope:
    """What a loop is made of: what people call it; its dataflow; of each input the node at which it enters; bindings;
    nodes of groups, each with the node at which its changes go on, those that others read first; programs that may
    raise; what looks up outside; what is arranged once rounds are over; of bindings whose rounds go by value, how; and
    whether what comes back waits for its round.
    """

    names: Sequence[str] = ()
    graph: Graph = field(default_factory=Graph)
    entering: list[Node] = field(default_factory=list)
    bindings: list[Fed] = field(default_factory=list)
    groups: list[tuple[RoundNode, Node]] = field(default_factory=list)
    holding: list[MfpByRound] = field(default_factory=list)
    looking: list[Entered] = field(default_factory=list)
    later: list[ArrangeLater] = field(default_factory=list)
    valued: dict[int, ByValue] = field(default_factory=dict)
    waits: bool = True
