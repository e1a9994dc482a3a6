"""What the driver asks keepers for without Spark: their calls, what they answer, and who hangs up. None of this starts Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Client

import pytest

from ivm.spark import home, wanted
from ivm.spark.direct import keepers_of, run
from ivm.spark.home import Home, Request, call, is_held
from ivm.spark.keepers import Keepers, Unreached
from ivm.spark.settings import ADVISED
from ivm.spark.worker import LevelTask, Versions, versions

KEPT = {**ADVISED, "spark.driver.host": "127.0.0.1"}
TASK = f"{__name__}.passed_on"


_doing: dict[str, Callable[[], None]] = {}


def do(name: str) -> None:
    """What a test has put there, as what is asked is pickled."""
    _doing[name]()


@pytest.fixture
def keepers() -> Iterator[Keepers]:
    found = Keepers("127.0.0.1", "127.0.0.1")
    yield found
    found.close()


def until(is_true) -> None:
    ends = time.monotonic() + 20
    while not is_true():
        assert time.monotonic() < ends
        time.sleep(0.005)


def passed_on(
    order: bytes, group: int, groups: int, level: int, payloads: list[bytes]
) -> tuple[list[tuple[int, bytes]], bytes]:
    """Each of two groups sends the other what it was sent."""
    return [(1 - group, each) for each in payloads], b"".join(sorted(payloads))


def stages(levels: int, versions_: Versions) -> list[LevelTask]:
    return [LevelTask(TASK, b"", 2, level, level == levels, versions_) for level in range(1, levels + 1)]


def test_messages_go_from_shard_to_shard_level_by_level(keepers):
    for place in ("a", "b"):
        _called(keepers, place)
    found = run(keepers, {0: "a", 1: "b"}, stages(3, versions()), {0: [b"x", b"y"], 1: [b"z"]})
    assert sorted(found) == [(0, 1, b"xy"), (0, 2, b"z"), (0, 3, b"xy"), (1, 1, b"z"), (1, 2, b"xy"), (1, 3, b"z")]
    assert sorted(run(keepers, {0: "a", 1: "a"}, stages(2, versions()), {1: [b"z"]})) == [
        (0, 1, b""), (0, 2, b"z"), (1, 1, b"z"), (1, 2, b""),
    ]  # fmt: skip


def test_who_fails_says_why_and_goes_on(keepers):
    _called(keepers, "a")
    for function, says in ((int, "ValueError: invalid literal"), (stages(1, Versions("99", "2"))[0].carried_out, "99")):
        with pytest.raises(Unreached, match=says):
            keepers.ask({"a": Request(function, ("x",) if function is int else ({},))})
    assert keepers.ask({"a": Request(int, ("7",))}) == {"a": 7}


def test_who_has_not_called_or_has_hung_up_is_not_there(keepers):
    with pytest.raises(Unreached):
        keepers.ask({"a": Request(int, ("7",))})
    line = _client(keepers, "a")
    until(lambda: keepers.are_there(["a"]))
    assert not keepers.are_there(["a", "b"])
    line.close()
    until(lambda: not keepers.are_there(["a"]))
    line = _client(keepers, "a")
    until(lambda: keepers.are_there(["a"]))
    ends = threading.Timer(0.1, line.close)
    ends.start()
    with pytest.raises(Unreached):
        keepers.ask({"a": Request(int, ("7",))})
    ends.join()


def test_what_nobody_waits_for_ends_at_its_next_step(keepers):
    _called(keepers, "a")
    begun = threading.Event()
    ended = list[str]()

    def go_on() -> None:
        begun.set()
        try:
            while True:
                time.sleep(0.01)
                wanted.check()
        except wanted.Unwanted as error:
            ended.append(str(error))
            raise

    _doing["go on"] = go_on
    wanted.check()

    def ask() -> None:
        with suppress(Unreached):
            keepers.ask({"a": Request(do, ("go on",))})

    asking = threading.Thread(target=ask)
    asking.start()
    assert begun.wait(20)
    keepers.close()
    asking.join()
    until(lambda: ended)
    assert ended == ["whoever asked has hung up"]


def test_what_is_answered_late_reaches_nobody(keepers, monkeypatch):
    _called(keepers, "a")
    begun, goes_on = threading.Event(), threading.Event()

    def answered_late(asked: bytes) -> home.Answer:
        begun.set()
        goes_on.wait(20)
        return home.Answer("late")

    monkeypatch.setattr(home, "_answer_to", answered_late)

    class Interrupted(BaseException):
        pass

    def recv(line):
        begun.wait(20)
        raise Interrupted

    with monkeypatch.context() as context:
        context.setattr("multiprocessing.connection.Connection.recv", recv)
        with pytest.raises(Interrupted):
            keepers.ask({"a": Request(int, ("7",))})
    monkeypatch.undo()
    goes_on.set()
    until(lambda: keepers.are_there(["a"]))  # it calls again
    assert keepers.ask({"a": Request(int, ("8",))}) == {"a": 8}


def test_who_does_not_know_the_key_is_let_go(keepers):
    with pytest.raises(Exception, match="digest"):
        Client((keepers.home.host, keepers.home.port), authkey=b"another")
    assert not keepers.are_there(["a"])
    _called(keepers, "a")


def test_a_home_that_is_gone_is_not_held_for_good(monkeypatch):
    monkeypatch.setattr(home, "_TRIES", 1)
    keepers = Keepers("127.0.0.1", "127.0.0.1")
    call(keepers.home, "a")
    until(lambda: keepers.are_there(["a"]))
    assert is_held()
    keepers.close()
    keepers.close()
    until(lambda: keepers.home not in home._lines)
    call(keepers.home, "a")  # not tried again so soon
    assert keepers.home not in home._lines


@pytest.mark.parametrize(
    ("more", "are_there"),
    [
        ({}, True),
        ({"spark.python.daemon.module": "pyspark.daemon"}, False),
        ({"spark.python.use.daemon": "false"}, False),
        ({"spark.network.crypto.enabled": "true"}, False),
        ({"spark.driver.bindAddress": "203.0.113.7"}, False),
    ],
)
def test_where_keepers_may_call(more, are_there, caplog):
    found = keepers_of({**KEPT, **more})
    assert (found is not None) == are_there
    assert ("cannot listen for the processes of shards" in caplog.text) == ("spark.driver.bindAddress" in more)
    if found is not None:
        found.close()


def _called(keepers: Keepers, place: str) -> None:
    """A thread of this process that is a keeper at a place."""
    threading.Thread(target=home._hold, args=(Home(*keepers.home), place), daemon=True).start()
    until(lambda: keepers.are_there([place]))


def _client(keepers: Keepers, place: str):
    line = home._connected(keepers.home)
    line.send(place)
    return line
