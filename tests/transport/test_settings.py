"""What is wrong with a session's settings is said at once, a line for each; none of this starts Spark."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

import ivm.spark
from ivm.catalog.errors import ClusterError, UnsupportedError
from ivm.spark.settings import ADVISED, NEEDED, check, check_session, cores, is_one_process, problems

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
    with pytest.raises(UnsupportedError, match="on a session of Spark Connect: its driver is elsewhere"):
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


def test_one_process_is_told_from_a_cluster():
    assert all(is_one_process({"spark.master": master}) for master in ("local", "local[2]", "local[*]", "local[2,4]"))
    assert not any(is_one_process({"spark.master": m}) for m in ("local-cluster[2,1,1024]", "spark://local", "yarn"))
