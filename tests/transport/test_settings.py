"""What is wrong with a session's settings is said at once, a line for each; none of this starts Spark."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

import ivm.spark
from ivm.catalog.errors import ClusterError, UnsupportedError
from ivm.spark.sessions import tell_once
from ivm.spark.settings import (
    ADVISED,
    NEEDED,
    check,
    check_session,
    cores,
    expected_executors,
    is_kept,
    is_one_process,
    problems,
    side_by_side,
)

RIGHT = {**NEEDED, "spark.master": "spark://host:7077", "spark.executor.cores": "4"}


def test_what_is_needed_is_enough():
    assert not list(problems(RIGHT, "4.3.0"))
    assert not list(problems({**RIGHT, **ADVISED}, "4.1.0"))
    assert not list(problems({**RIGHT, **ADVISED}, "5.0.0-SNAPSHOT"))
    check(RIGHT, "4.3.0")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("spark.dynamicAllocation.enabled", "true", "set it to false: executors that are let go of take shards"),
        ("spark.python.worker.reuse", "false", "set it to true: shards live in Python workers"),
        ("spark.shuffle.reduceLocality.enabled", "true", "set it to false: shards stay where they are"),
        ("spark.speculation", "TRUE", "set it to false: a second copy"),
        ("spark.locality.wait", "0", "set it to 30s"),
        ("spark.locality.wait", "500ms", "set it to 30s"),
        ("spark.locality.wait", "soon", "set it to 30s"),
    ],
)
def test_each_setting_that_is_wrong_has_its_line(name, value, says):
    (line,) = problems({**RIGHT, name: value}, "4.3.0")
    assert line.startswith(f"{name} is {value}; ")
    assert says in line


def test_what_is_no_session_of_this_process_is_refused_by_name():
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(UnsupportedError, match="on a session of Spark Connect, as serverless ones are: its driver"):
        check_session(remote)
    with pytest.raises(UnsupportedError, match="on a str: it is no SparkSession; give one"):
        check_session("local[2]")
    with pytest.raises(ClusterError, match="a Spark session that was stopped; give a new one"):
        check_session(SimpleNamespace(sparkContext=SimpleNamespace(_jsc=None)))


def test_without_pyspark_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    for name in [name for name in sys.modules if name.startswith("ivm.spark.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ModuleNotFoundError, match=r"pyspark is not installed; install ivm-engine\[spark\]"):
        ivm.spark.connect  # noqa: B018


def test_what_is_not_set_has_spark_s_default():
    without = {name: value for name, value in RIGHT.items() if name not in NEEDED}
    (line,) = problems(without, "4.3.0")
    assert line.startswith("spark.shuffle.reduceLocality.enabled is true;")


def test_all_lines_come_in_one_error():
    with pytest.raises(UnsupportedError) as caught:
        check({**RIGHT, "spark.speculation": "true", "spark.locality.wait": "0s"}, "4.3.0")
    first, *lines = str(caught.value).splitlines()
    assert first == "cannot run a database on this Spark session:"
    assert [line.partition(" ")[0] for line in lines] == ["spark.speculation", "spark.locality.wait"]


@pytest.mark.parametrize("version", ["3.5.6", "4.0.1"])
def test_an_older_spark_is_refused_with_what_to_use(version):
    with pytest.raises(UnsupportedError, match=rf"Spark {version} cannot .*; use Spark 4\.1 or later"):
        check({}, version)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"spark.master": "local-cluster[2, 3, 1024]"}, 3),
        ({"spark.master": "yarn"}, 1),
        ({"spark.master": "k8s://https://host", "spark.executor.cores": "2"}, 2),
        ({"spark.master": "spark://host:7077", "spark.executor.cores": "8"}, 8),
        ({"spark.master": "spark://host:7077"}, None),
    ],
)
def test_the_cores_of_an_executor(settings, expected):
    assert cores(settings) == expected
    unknown = [line for line in problems({**NEEDED, **settings}, "4.3.0") if "spark.executor.cores is not set" in line]
    assert bool(unknown) == (expected is None)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"spark.master": "local[4]"}, 1),
        ({"spark.master": "local-cluster[3, 2, 1024]"}, 3),
        ({"spark.master": "yarn"}, None),
        ({"spark.master": "yarn", "spark.executor.instances": "8"}, 8),
        ({"spark.master": "spark://host:7077"}, None),
        ({"spark.master": "spark://host:7077", "spark.cores.max": "64", "spark.executor.cores": "8"}, 8),
        ({"spark.master": "spark://host:7077", "spark.cores.max": "4", "spark.executor.cores": "8"}, 1),
    ],
)
def test_how_many_executors_there_are_to_be(settings, expected):
    assert expected_executors(settings) == expected


def test_what_is_advised_and_not_set_is_said_once(caplog):
    settings = {**RIGHT, **ADVISED, "spark.app.id": "told once"}
    tell_once(settings)
    assert not caplog.records
    del settings["spark.scheduler.mode"], settings["spark.locality.wait"]
    for _ in range(2):
        tell_once(settings)
    (record,) = caplog.records
    assert "spark.scheduler.mode=FAIR (else jobs of commits wait" in record.message
    assert "spark.locality.wait=30s (else" in record.message
    assert "daemon" not in record.message


def test_one_process_for_all_shards_of_an_executor_wants_no_cores_said():
    kept = {**NEEDED, **ADVISED, "spark.master": "spark://host:7077"}
    assert is_kept(kept)
    assert not list(problems(kept, "4.3.0"))
    assert not is_kept({**kept, "spark.python.use.daemon": "false"})
    (line,) = problems({**kept, "spark.python.daemon.module": "mine"}, "4.3.0")
    assert line.startswith("spark.executor.cores is not set; ")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({}, 4), ({"spark.task.cpus": "2"}, 2), ({"spark.executor.cores": "9", "spark.task.cpus": "2"}, 4),
     ({"spark.task.cpus": "8"}, 1)],
)  # fmt: skip
def test_how_many_threads_a_shard_works_with(settings, expected):
    assert side_by_side({**RIGHT, **settings}) == expected


def test_one_process_is_told_from_a_cluster():
    assert all(is_one_process({"spark.master": master}) for master in ("local", "local[2]", "local[*]", "local[2,4]"))
    assert not any(is_one_process({"spark.master": m}) for m in ("local-cluster[2,1,1024]", "spark://local", "yarn"))
