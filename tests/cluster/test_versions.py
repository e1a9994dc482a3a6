"""Versions are published once, and found again."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from ivm.catalog import errors
from ivm.catalog.errors import StorageError
from ivm.cluster.files.files import PAGE, Files
from ivm.cluster.files.versions import Version, Versions, is_published
from ivm.cluster.protocol.terms import Failure, Feed, Group, Log, Order, Status, Superseded
from ivm.storage.stored import Stored
from tests.cluster.faulty import Faulty, Rates

LOG = Log(Group(0, 2), 1, Stored("logs/x", 3, 4))
BIG = b"\0\xff" * 5000


def versions(rates=None, pauses=(0,) * 50):
    return Versions(Files(Faulty(random.Random(0), rates or Rates()), pauses))


def order(last, id_, what=b"", shards=2, levels=2):
    return Order(last.version + 1, id_, last.id, what, levels, shards)


def statuses(shards=2, level=2):
    return [Status(Group(n, shards), level, (LOG,) if n == 0 else ()) for n in reversed(range(shards))]


def publish(found, last, id_, what=b"", **more):
    return found.publish(last, order(last, id_, what), statuses(), time=7, **more)


def test_the_first_version_is_of_nothing():
    assert versions().newest() == versions().at(0) == Version()


def test_what_is_published_is_found_again():
    found = versions()
    one = publish(found, Version(), "a", b"what", batch=("s", 4))
    two = publish(found, one, "b", BIG)
    three = publish(found, two, "c", batch=("t", 1))
    assert [found.at(n) for n in (1, 2, 3)] == [one, two, three] == list(found.between(0, "", 3))
    assert found.newest() == three
    assert found.order_of(one) == order(Version(), "a", b"what")
    assert found.order_of(two) == order(one, "b", BIG)
    assert (one.logs_of(0), one.logs_of(1), one.time) == ({1: LOG.stored}, {}, 7)
    assert dict(three.batches) == {"s": 4, "t": 1}


def test_a_page_names_feeds_if_there_are_any():
    found, feed = versions(), Feed("mark", 1, True, Stored("feeds/1/x", 3, 4))
    told = [each._replace(feeds=(feed,) * each.group.number) for each in statuses()]
    one = found.publish(Version(again=True), order(Version(), "a"), told, time=7)
    two = publish(found, replace(one, again=False), "b")
    assert [found.at(n) for n in (1, 2)] == [one, two]
    assert (one.feeds, one.again, two.feeds, two.again) == ((feed,), True, (), False)
    plain = PAGE.read(found.files, f"commits/{2:020}", dict)
    assert not {"feeds", "again"} & plain.keys(), "it is as it was before there were any"


def test_batches_that_were_published_are_known():
    one = publish(versions(), Version(), "a", batch=("s", 4))
    assert [is_published(one, ("s", n)) for n in (3, 4, 5)] == [True, True, False]
    assert not is_published(one, ("t", 0))


def test_definitions_are_found_in_their_order():
    found = versions()
    last = Version()
    assert found.definitions(last) == []
    for i, what in enumerate([b"one", None, BIG, None, b"three"]):
        last = publish(found, last, str(i), what or b"", is_definition=what is not None)
    assert found.definitions(last) == found.definitions(found.newest()) == [b"one", BIG, b"three"]
    assert found.definitions(found.at(2)) == [b"one"]
    assert found.order_of(found.at(3)).what == BIG


def test_of_two_drivers_the_second_is_told_to_stop():
    found = versions()
    one = publish(found, Version(), "a")
    with pytest.raises(Superseded, match=r"memory/commits/0+1 was written by another driver; one at a time"):
        publish(found, Version(), "b")
    assert found.newest() == one


@pytest.mark.parametrize("rates", [Rates(deny=0.5), Rates(late=0.5), Rates(refuse=0.5), Rates(hide=0.5)])
def test_an_answer_that_was_lost_is_no_loss(rates):
    found = versions(rates)
    last = Version()
    for i in range(30):
        last = publish(found, last, str(i), BIG, is_definition=True)
    assert found.newest() == last
    assert len(found.definitions(last)) == 30


def test_nobody_knows_after_an_error_that_lasts():
    found = versions(Rates(deny=1.0), pauses=(0,))
    with pytest.raises(StorageError, match=r"cannot write memory/commits/0+1: no answer; see to it"):
        publish(found, Version(), "a")
    found.files._folder.rates = Rates()
    assert found.newest().id == "a"
    with pytest.raises(Superseded):
        publish(found, Version(), "b")


def test_what_is_published_long_after_it_was_removed_is_not():
    found = versions()
    one = publish(found, Version(), "a")
    two = publish(found, one, "b")
    found.files.remove(f"commits/{1:020}")
    with pytest.raises(Superseded):
        publish(found, Version(), "late")
    assert found.files.names("commits") == [f"commits/{2:020}"]
    assert found.newest() == two


def test_a_page_that_is_damaged_is_named():
    found = versions()
    publish(found, Version(), "a")
    name = f"commits/{1:020}"
    folder = found.files._folder
    page = folder.read(name).to_pybytes()
    for damaged, says in (
        (b"", "it is damaged, or not written by ivm"),
        (page[:-1], "it is damaged"),
        (page.replace(b'"a"', b'"b"'), "it is damaged"),
        (page.replace(b"format 3", b"format 2"), "it has format 2, and this release of ivm reads format 3"),
    ):
        folder.put(name, [damaged])
        with pytest.raises(StorageError, match=f"cannot read memory/{name}: {says}"):
            found.newest()


def test_a_page_of_other_things_is_named():
    found = versions()
    found.files._folder.put(f"commits/{1:020}", [PAGE.page({"version": 1})])
    with pytest.raises(StorageError, match="it was not written by ivm"):
        found.newest()


def test_versions_that_do_not_follow_are_refused():
    found = versions()
    one = publish(found, Version(), "a")
    publish(found, one, "b")
    with pytest.raises(StorageError, match=r"commits/0+1: it does not follow version 0"):
        list(found.between(0, "x", 2))
    other = versions()
    publish(other, Version(), "c")
    found.files._folder.put(f"commits/{1:020}", [other.files._folder.read(f"commits/{1:020}")])
    with pytest.raises(StorageError, match=r"commits/0+2: it does not follow version 1"):
        list(found.between(0, "", 2))


@pytest.mark.parametrize(
    "wrong",
    [
        statuses()[:1],
        [*statuses()[:1]] * 2,
        [*statuses(), Status(Group(0, 1), 2, ())],
        statuses(level=1),
        [statuses()[0]._replace(failure=Failure("ConstraintError", "no")), statuses()[1]],
    ],
)
def test_what_not_all_have_gone_through_is_not_published(wrong):
    found = versions()
    with pytest.raises(ValueError, match="not every shard has gone through"):
        found.publish(Version(), order(Version(), "a"), wrong, time=1)
    with pytest.raises(ValueError, match="does not follow version 5"):
        found.publish(replace(Version(), version=5), order(Version(), "a"), statuses(), time=1)
    assert found.newest() == Version()


def test_a_failure_is_the_error_that_it_was():
    error = Failure("ConstraintError", "says so").error()
    assert (type(error), str(error)) == (errors.ConstraintError, "says so")
    assert type(Failure("NewerError", "says so").error()) is errors.Error
