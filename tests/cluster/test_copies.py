"""Copies of shards in processes: what is kept, undone, followed and loaded, case by case."""

from __future__ import annotations

import ast
import random
import threading
import time

import pytest

from ivm.catalog.errors import ConstraintError, StorageError
from ivm.cluster.files.versions import Version
from ivm.cluster.protocol.terms import Exchange, Group, Message, Order, Status, Superseded
from ivm.cluster.shard.copies import Copies
from tests.cluster.beside import AtOnce
from tests.cluster.cases import Cluster
from tests.cluster.toy import Change, Known, Pieces, ToyShard, read_pieces


def rows(*rows):
    return Change({}, list(rows))


ONE = rows((0, 2), (1, 2), (2, 1), (3, 5))
TWO = rows((0, 1), (1, -1), (5, 5))
BAD = rows((0, 9), (1, -9))


def test_a_copy_that_went_through_all_of_a_version_goes_on():
    cluster = Cluster()
    for change in (ONE, TWO, Change({"define": "x"}), ONE):
        cluster.commit(change)
    cluster.compare(cluster.one)
    assert len(cluster.made) == 2
    assert not cluster.folder.inner.names("pieces/0")


def test_a_copy_that_missed_a_level_does_not_count_as_of_that_version():
    cluster = Cluster()
    for change in (ONE, TWO, ONE):  # some levels in one process, some in the other
        cluster.commit(change, [cluster.one, cluster.two])
    assert len(cluster.made) == 4, "they follow by the logs"
    cluster.compare()


def test_what_was_tried_and_refused_is_not_kept():
    cluster = Cluster()
    cluster.commit(ONE)
    _, statuses = cluster.try_(BAD, "bad")
    for each in statuses:
        assert each.failure is not None
        with pytest.raises(ConstraintError, match="counter 1 would be -7"):
            raise each.failure.error()
    assert cluster.made[1].contents() == cluster.toy.expected([ONE])[1], "the one that failed is as before at once"
    cluster.commit(TWO)
    cluster.compare()
    assert len(cluster.made) == 2 + 2 + 2


def test_a_version_that_was_gone_through_and_not_published_is_undone():
    cluster = Cluster()
    cluster.commit(ONE)
    cluster.try_(TWO, "lost")
    cluster.commit(ONE)
    assert len(cluster.made) == 2
    cluster.try_(TWO, "lost again")
    cluster.compare()


def test_the_same_version_by_another_process_is_followed():
    cluster = Cluster()
    cluster.commit(ONE)
    cluster.try_(TWO, "of a driver that died")
    cluster.commit(rows((0, 1)), [cluster.two])
    cluster.commit(rows((1, 1)), [cluster.one])
    cluster.compare()
    assert len(cluster.made) == 4 + 2


def test_an_error_stops_all_shards_and_is_told_by_all():
    cluster = Cluster(shards=3, levels=4)
    cluster.commit(ONE)
    order, inputs = cluster.order(BAD, "bad")
    for level in range(1, 5):
        inputs, statuses = cluster.go(order, inputs, level, [cluster.one] * 3)
        assert [each.failure is not None for each in statuses] == [level > 1, True, level > 1]
        notes = [sum(b"ivm note" in each for each in said) for said in inputs]
        assert notes == {1: [2, 1, 2], 4: [0, 0, 0]}.get(level, [1, 1, 1])
    assert {each.failure for each in statuses} == {statuses[0].failure}
    cluster.commit(TWO)
    cluster.compare()


def test_any_level_may_run_again_anywhere():
    cluster = Cluster(shards=3, levels=4)
    chance = random.Random(1)
    for change in (ONE, TWO, ONE):
        order, inputs = cluster.order(change, f"id {cluster.last.version + 1}")
        seen: list[list[list[bytes]]] = []
        for level in range(1, 5):
            seen.append(inputs)
            for _ in range(8):
                again, shard = chance.randrange(level), chance.randrange(3)
                process = chance.choice([cluster.one, cluster.two])
                cluster.run(process, order, shard, again + 1, seen[again][shard])
            inputs, statuses = cluster.go(order, inputs, level, chance.choices([cluster.one, cluster.two], k=3))
        cluster.last = cluster.versions.publish(cluster.last, order, statuses, time=1)
        cluster.changes.append(change)
    cluster.compare()


def test_two_tasks_of_one_shard_at_once_are_right():
    cluster = Cluster(shards=1, levels=2)
    cluster.commit(ONE)
    cluster.made[0].meet = lambda: time.sleep(0.001)
    for number in range(20):
        order, inputs = cluster.order(TWO if number % 2 else ONE, f"n{number}")
        for level in (1, 2):
            answers: list[tuple[list[Message], Status]] = []
            go = threading.Barrier(3)

            def run(order=order, level=level, inputs=inputs, answers=answers, go=go):
                go.wait()
                answers.append(cluster.run(cluster.one, order, 0, level, inputs[0]))

            threads = [threading.Thread(target=run) for _ in range(3)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            assert len(answers) == 3
            said = [[m for m in messages if b"ivm note" not in m.payload] for messages, _ in answers]
            assert said[0] == said[1] == said[2]
            messages, status = answers[number % 3]
            inputs = [[each.payload for each in messages]]
        cluster.last = cluster.versions.publish(cluster.last, order, [status], time=1)
        cluster.changes.append(TWO if number % 2 else ONE)
    cluster.compare()


def test_shards_of_one_process_do_not_wait_for_each_other():
    cluster = Cluster(shards=2, levels=1)
    order, inputs = cluster.order(ONE, "a")
    both = threading.Barrier(2, timeout=60)
    process = cluster.process()

    def meet():
        both.wait()

    process._make = lambda shard: ToyShard(shard, 1, meet)
    threads = [threading.Thread(target=cluster.run, args=(process, order, i, 1, inputs[i])) for i in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not both.broken


def test_a_task_of_a_version_long_published_is_of_no_use():
    cluster = Cluster()
    order, inputs = cluster.order(ONE, "id 1")
    cluster.commit(ONE)
    cluster.run(cluster.one, order, 0, 1, inputs[0])  # nobody has told this process that it was published
    cluster.commit(TWO)
    cluster.commit(TWO)
    with pytest.raises(Superseded, match="version 2 was published meanwhile; open the database anew"):
        cluster.run(cluster.one, order, 0, 1, inputs[0])
    cluster.compare()


def test_an_order_after_a_version_that_nobody_published_is_of_no_use():
    cluster = Cluster()
    cluster.commit(ONE)
    order, inputs = cluster.order(TWO, "b")
    for process in (cluster.one, cluster.two):
        with pytest.raises(Superseded, match="version 1: it was published by another driver"):
            cluster.run(process, order._replace(published="not so"), 0, 1, inputs[0])
    cluster.compare()


def test_a_step_that_is_broken_off_is_undone():
    cluster = Cluster(shards=1)
    cluster.commit(ONE)
    order, inputs = cluster.order(TWO, "id 2")

    def fail():
        raise MemoryError

    for shard in cluster.made:
        shard.meet = fail
    with pytest.raises(MemoryError):
        cluster.run(cluster.one, order, 0, 1, inputs[0])
    for shard in cluster.made:
        shard.meet = lambda: None
    cluster.commit(TWO)
    assert len(cluster.made) == 1
    cluster.compare()


def test_what_the_exchange_has_lost_or_doubled_is_noticed():
    cluster = Cluster()
    order, inputs = cluster.order(ONE, "a")
    inputs, _ = cluster.go(order, inputs, 1, [cluster.one] * 2)
    for payloads in (
        [each for each in inputs[0] if b"ivm note" not in each],
        inputs[0] + inputs[0],
    ):
        with pytest.raises(StorageError, match="the exchange has lost or doubled messages"):
            cluster.run(cluster.one, order, 0, 2, payloads)
    with pytest.raises(StorageError, match="the exchange has lost or doubled messages"):
        cluster.run(cluster.one, order, 0, 1, inputs[0])


def test_messages_come_in_one_order():
    cluster = Cluster(shards=1, levels=2)
    order, _ = cluster.order(ONE, "a")
    payloads = [b"[[0, [[0, 1]]]]", b"[[0, [[1, 2]]]]", b"[[0, [[2, 3]]]]"]
    given: list[list[list[list[int]]]] = []
    for chosen in (payloads, payloads[::-1]):
        process = cluster.process()
        process._make = lambda shard: Noting(shard, 2, given)
        cluster.run(process, order, 0, 1, chosen)
    assert given == [[[[0, 1]], [[1, 2]], [[2, 3]]]] * 2
    logs = [cluster.folder.inner.read(name).to_pybytes() for name in cluster.folder.inner.names("logs")]
    assert logs[0] == logs[1]


def test_what_is_large_goes_by_a_file_of_its_own_which_the_log_names():
    cluster = Cluster(shards=2, levels=2)
    large = cluster.process(large=len(b"[[1, [[1, 1], [3, 1]]]]"))
    order, inputs = cluster.order(rows((0, 1), (2, 3), (4, 1)), "id 1")
    inputs, _ = cluster.go(order, inputs, 1, [large] * 2)
    said = [each for payloads in inputs for each in payloads if b"ivm note" not in each]
    assert [each[:9] for each in said] == [b"ivm file\0"]
    _, statuses = cluster.go(order, inputs, 2, [cluster.one] * 2)
    cluster.last = cluster.versions.publish(cluster.last, order, statuses, time=1)
    cluster.changes.append(rows((0, 1), (2, 3), (4, 1)))
    logs = {each.stored.file for each in cluster.last.logs}
    others = [name for name in cluster.folder.inner.names("logs") if name not in logs]
    assert [cluster.folder.inner.read(name).to_pybytes() for name in others] == [b"[[1, [[1, 2], [3, 1]]]]"]
    cluster.compare()
    cluster.folder.ruined.add(others[0])
    with pytest.raises(StorageError, match=f"cannot read memory/{others[0]}: it is damaged"):
        cluster.compare(cluster.process())


class Noting(ToyShard):
    def __init__(self, shard, levels, given):
        super().__init__(shard, levels)
        self.given = given

    def step(self, order, level, inputs):
        self.given.append(list(inputs))
        return super().step(order, level, inputs)


def test_copies_of_shards_that_are_elsewhere_go():
    cluster = Cluster(shards=2, levels=1)
    cluster.commit(ONE)
    for _ in range(20):
        order, inputs = cluster.order(ONE, f"id {cluster.last.version + 1}")
        _, statuses = cluster.go(order, inputs, 1, [cluster.one, cluster.two])
        cluster.last = cluster.versions.publish(cluster.last, order, statuses, time=1)
        cluster.changes.append(ONE)
    assert (list(cluster.one._copies), list(cluster.two._copies)) == ([0], [1])
    cluster.compare()


def test_nothing_is_logged_where_nothing_came_in():
    cluster = Cluster(shards=2, levels=3)
    version = cluster.commit(rows((0, 1)))
    assert [(each.group.number, each.level) for each in version.logs] == [(0, 1), (1, 2), (1, 3)]
    assert cluster.commit(Change({"define": "x"})).logs == ()
    cluster.compare()


def test_an_error_while_it_is_gone_through_again_is_none_of_the_users():
    cluster = Cluster(shards=1)
    cluster.commit(ONE)

    def fail():
        raise ConstraintError("an older release")

    process = cluster.process()
    process._make = lambda shard: ToyShard(shard, 3, fail)
    order, inputs = cluster.order(TWO, "b")
    with pytest.raises(StorageError, match="cannot go through version 1 again: an older release; use the same release"):
        cluster.run(process, order, 0, 1, inputs[0])


def test_snapshots_are_written_by_a_thread_of_their_own():
    cluster = Cluster(shards=1, every=2)
    process = cluster.process(beside=None)
    for change in (ONE, TWO, ONE, TWO):
        cluster.commit(change, [process])
    for _ in range(200):
        if cluster.folder.inner.names("snapshots/0"):
            break
        time.sleep(0.02)
    cluster.compare()
    assert len(cluster.folder.inner.names("snapshots/0")) == 1


class Listing:
    """A shard that has what it was given, by version and level."""

    def __init__(self):
        self.kept, self.tried = [], []

    def step(self, order, level, payloads):
        self.tried.append((order.version, order.id, level, list(payloads)))
        return [b"%d of %d" % (level, order.version)]

    def tell(self, order, level):
        return ()

    def hold(self):
        return ()

    def undo(self):
        self.tried = []

    def keep(self):
        self.kept, self.tried = self.kept + self.tried, []

    def save(self):
        return Pieces(Known(), [], repr(self.kept))

    def load(self, head, place, name):
        self.kept = ast.literal_eval(read_pieces(head, place)[0])


def test_versions_may_have_more_levels_or_fewer():
    versions = Cluster().versions
    exchange = Exchange(lambda said, *_: [Message(0, each) for each in said], lambda payloads: {0: payloads})
    processes = [Copies(versions, lambda shard: Listing(), exchange, every=4, beside=AtOnce()) for _ in range(2)]
    last, expected = Version(), []
    chance = random.Random(3)
    for version, levels in enumerate([1, 3, 2, 4, 1, 1, 3, 2, 1, 4], 1):
        order = Order(version, f"id {version}", last.id, b"", levels, 1)
        given = [b"0 of %d" % version]
        for level in range(1, levels + 1):
            messages, status = chance.choice(processes).run(order, Group(0, 1), level, given)
            expected.append((version, order.id, level, [b"%d of %d" % (level - 1, version)]))
            given = [each.payload for each in messages]
        assert not messages, "nobody is told after the last level"
        last = versions.publish(last, order, [status], time=version)
        for process in (*processes, Copies(versions, lambda shard: Listing(), exchange)):
            with process.reading(0, last.version, last.id) as shard:
                assert isinstance(shard, Listing)
                assert shard.kept == expected


def test_shards_of_a_group_have_one_message_and_one_log_together():
    cluster = Cluster(shards=7, levels=3, groups=2)
    change = rows(*((key, key + 1) for key in range(12)))
    order, inputs = cluster.order(change, "id 1")
    assert [len(each) for each in inputs] == [1, 1]
    for level in (1, 2, 3):
        inputs, statuses = cluster.go(order, inputs, level, [cluster.one, cluster.two])
        assert max(map(len, inputs)) <= {1: 3, 2: 3, 3: 0}[level], "one of each group, and a note"
    cluster.last = cluster.versions.publish(cluster.last, order, statuses, time=1)
    cluster.changes.append(change)
    assert len(cluster.last.logs) == len(cluster.folder.inner.names("logs")) <= 2 * 3
    cluster.compare()
    cluster.groups = 3  # another executor: shards read logs of groups that they were in
    cluster.commit(TWO)
    cluster.groups = 1
    cluster.commit(ONE)
    cluster.compare()


def test_what_has_come_to_another_group_is_not_lost():
    cluster = Cluster(shards=4, levels=1, groups=2)
    order, inputs = cluster.order(ONE, "id 1")
    with pytest.raises(StorageError, match="what is for shard 1 has come to group 0 of 2: try again"):
        cluster.run(cluster.one, order, 0, 1, [*inputs[0], *inputs[1]])
