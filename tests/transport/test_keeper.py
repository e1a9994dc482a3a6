"""Workers hand their tasks to one process, whatever dies. A process that forks workers as Spark's does, without Spark."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from tests.house.modules import ROOT

FORKS = """
import os, signal, socket, sys, time
from ivm.spark import keeper

def serve(connection, is_authenticated):
    said = connection.recv(100).decode().split()
    if said[0] == "sleep":
        time.sleep(float(said[1]))
    if said[0] == "fail":
        raise ValueError("as a task does whose connection is gone")
    connection.sendall(f"{os.getpid()} {is_authenticated};".encode())
    return 0

keeper.IDLE = float(sys.argv[1])
relay = keeper.Relay(serve, lambda: False)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    if os.fork():
        connection.close()
        continue
    listener.close()
    code, is_authenticated = 0, False
    while not code:
        code = relay(connection, is_authenticated)
        is_authenticated = True
    os._exit(0)
"""


class Forks:
    """The process that forks workers, of which each connection has one."""

    def __init__(self, idle: float = 60) -> None:
        command = [sys.executable, "-c", FORKS, str(idle)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, text=True)
        assert self.process.stdout is not None
        self._said = self.process.stdout
        self._port = int(self._said.readline())
        self._workers = list[socket.socket]()

    def worker(self) -> socket.socket:
        self._workers.append(socket.create_connection(("127.0.0.1", self._port), timeout=20))
        return self._workers[-1]

    def end(self) -> None:
        for worker in self._workers:
            worker.close()
        self.process.kill()
        self.process.wait()
        self._said.close()


def asked(worker: socket.socket, what: str = "pid") -> tuple[int, bool]:
    """By which process a task was run, and whether its connection was authenticated."""
    worker.sendall(what.encode())
    pid, is_authenticated = worker.recv(100).decode().rstrip(";").split()
    return int(pid), is_authenticated == "True"


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def until_gone(pid: int) -> None:
    ends = time.monotonic() + 20
    while is_alive(pid):
        assert time.monotonic() < ends
        time.sleep(0.01)


@pytest.fixture
def forks() -> Iterator[Forks]:
    found = Forks()
    yield found
    found.end()


def test_one_process_runs_the_tasks_of_all_workers_one_after_the_other(forks):
    workers = [forks.worker() for _ in range(5)]
    first = [asked(worker) for worker in workers]
    assert len({pid for pid, _ in first}) == 1
    assert not any(is_authenticated for _, is_authenticated in first)
    began, answers = time.monotonic(), list[tuple[int, bool]]()
    threads = [threading.Thread(target=lambda w=w: answers.append(asked(w, "sleep 0.05"))) for w in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(answers) == {(first[0][0], True)}
    assert time.monotonic() - began >= 0.25


def test_a_task_dies_with_the_keeper_and_what_waits_is_run_by_the_next(forks):
    one, other = forks.worker(), forks.worker()
    keeper, _ = asked(one)
    asked(other)
    one.sendall(b"sleep 20")
    time.sleep(0.1)
    other.sendall(b"pid")
    time.sleep(0.1)
    os.kill(keeper, signal.SIGKILL)
    assert one.recv(100) == b"", "its worker has ended"
    next_ = int(other.recv(100).decode().split()[0])
    assert next_ != keeper
    assert asked(forks.worker()) == (next_, False)


def test_a_task_that_fails_ends_its_worker_and_not_the_keeper(forks):
    one, other = forks.worker(), forks.worker()
    keeper, _ = asked(one)
    one.sendall(b"fail")
    one.shutdown(socket.SHUT_WR)
    assert one.recv(100) == b""
    assert asked(other) == (keeper, False)


def test_it_ends_with_the_process_that_forks_and_when_it_is_idle(forks):
    keeper, _ = asked(forks.worker())
    forks.end()
    until_gone(keeper)
    brief = Forks(idle=0.2)
    worker = brief.worker()
    keeper, _ = asked(worker)
    until_gone(keeper)
    assert asked(worker)[0] != keeper
    brief.end()
