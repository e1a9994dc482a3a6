"""Groups that a kernel has stepped, and seals together with others, against those that are sealed one by one."""

from __future__ import annotations

from ivm.kernels.groups.block import PARTITIONS
from ivm.kernels.groups.offer import OPEN, OWES
from tests.joins.test_walk_to_groups import ones
from tests.joins.test_walk_to_log import settled


def test_groups_that_a_kernel_seals_are_as_those_that_are_sealed_alone() -> None:
    """Groups that come and go, many at once, with and without a reader, who sees them as they were."""
    (case, one), (other_case, other) = settled(1), settled(1)
    by_kernel, readers = 0, []
    for number in range(16):
        for each, chain in (case, one), (other_case, other):
            each.commit()
            chain.graph.seal(each.time, each.time)
            chain.graph.step({chain.source: ones(each, (1, -5, 4, 2, -2)[number % 5])})
            kept = chain.reduces[0].groups
            if chain is other:
                chain.graph.marks.offers.clear()
            elif kept.offer[OPEN] and not kept.offer[OWES]:
                by_kernel += 1
            chain.graph.seal(each.time, each.time)
            assert not kept.offer[OPEN]
        groups_of = [chain.reduces[0].groups for chain in (one, other)]
        for what in (
            lambda each: each.state[: each.used].tolist(),
            lambda each: each._store.counts[: PARTITIONS + 1].tolist(),
            lambda each: each.edition,
        ):
            assert what(groups_of[0]) == what(groups_of[1])
        if number == 6:
            readers = [(each.reader(case.time), each.state[: each.used, 2:].tolist()) for each in groups_of]
        for reader, rows in readers:
            assert reader.rows(0, len(rows))[:, 2:].tolist() == rows
        if number == 10:
            readers.clear()
            del reader
    assert by_kernel > 4
