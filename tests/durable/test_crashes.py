import subprocess
import sys
from pathlib import Path

import pytest


def _kill(folder, *arguments):
    run = [sys.executable, "-m", "tests.durable.crash", str(folder), *arguments]
    done = subprocess.run(run, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_nothing_acknowledged_is_lost_where_processes_are_killed(tmp_path):
    assert "kills" in _kill(tmp_path, "--kills", "12")


@pytest.mark.parametrize("durability", ["interval", "off"])
def test_where_commits_do_not_wait_they_are_there_up_to_one(tmp_path, durability):
    assert "kills" in _kill(tmp_path, "--kills", "5", "--durability", durability)


def test_commits_that_are_written_before_they_are_decided_are_there_or_not(tmp_path):
    assert "kills" in _kill(tmp_path, "--kills", "8", "--large", "64", "--beside")


def test_what_is_altered_and_what_transactions_do_is_there_or_not(tmp_path):
    assert "kills" in _kill(tmp_path, "--kills", "6", "--defining")


def test_named_subscriptions_go_on_after_each_kill(tmp_path):
    assert "kills" in _kill(tmp_path, "--kills", "12", "--named")


@pytest.mark.slow
@pytest.mark.parametrize("defining", [[], ["--defining"]])
def test_the_same_often_of_named_subscriptions(tmp_path, defining):
    assert "kills" in _kill(tmp_path, "--kills", "100", "--named", *defining)


@pytest.mark.slow
@pytest.mark.parametrize("large", [64, 1 << 14])
@pytest.mark.parametrize("durability", ["commit", "interval", "off"])
def test_the_same_often_of_large_commits(tmp_path, durability, large):
    beside = ["--beside"] if durability == "commit" else []
    assert "kills" in _kill(tmp_path, "--kills", "100", "--large", f"{large}", "--durability", durability, *beside)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_same_often(tmp_path, seed):
    assert "kills" in _kill(tmp_path, "--kills", "150", "--seed", str(seed), "--deep")


@pytest.mark.slow
@pytest.mark.parametrize("beside", [[], ["--beside"]])
def test_the_same_often_of_what_exists(tmp_path, beside):
    assert "kills" in _kill(tmp_path, "--kills", "150", "--defining", "--deep", *beside)


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["interval", "off"])
def test_the_same_often_where_commits_do_not_wait(tmp_path, durability):
    assert "kills" in _kill(tmp_path, "--kills", "150", "--durability", durability, "--deep")
