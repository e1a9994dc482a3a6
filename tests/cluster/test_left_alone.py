"""Copies of shards that go on while somebody reads them, and tasks that nobody waits for any more."""

from __future__ import annotations

import pytest

from ivm.cluster.protocol.terms import Superseded
from tests.cluster.cases import Cluster
from tests.cluster.test_copies import ONE, TWO
from tests.cluster.toy import ToyShard


def test_what_is_read_is_as_of_its_version_though_the_copy_goes_on_just_then(monkeypatch):
    cluster = Cluster(shards=1)
    cluster.commit(ONE)
    before = cluster.last
    drop, done = cluster.one._drop_others, list[int]()

    def go_on(shard: int, version: int) -> None:
        drop(shard, version)
        if not done:
            done.append(1)
            cluster.commit(TWO)
            cluster.commit(ONE)

    monkeypatch.setattr(cluster.one, "_drop_others", go_on)
    with cluster.one.reading(0, before.version, before.id) as shard:
        assert isinstance(shard, ToyShard)
        assert shard.contents() == cluster.toy.expected([ONE])[0]
    assert done
    with pytest.raises(Superseded), cluster.one.reading(0, before.version, "another's"):
        pass
    cluster.commit(TWO)
    cluster.compare()


def test_a_task_that_nobody_waits_for_ends_between_two_shards_and_may_run_again():
    cluster, steps = Cluster(shards=3, groups=1), list[int]()

    class Unwanted(Exception):
        pass

    def between() -> None:
        steps.append(1)
        if len(steps) == 2:
            raise Unwanted

    one = cluster.process(between=between)
    cluster.commit(ONE)
    order, inputs = cluster.order(TWO, "id 2")
    with pytest.raises(Unwanted):
        cluster.run(one, order, 0, 1, inputs[0])
    cluster.commit(TWO, [one])
    cluster.compare(one)
