"""What asks a server by HTTP in tests."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Client:
    """Asks at an address, each time by a connection of its own."""

    address: str
    headers: dict[str, str] = field(default_factory=dict)

    def connect(self) -> http.client.HTTPConnection:
        host, _, port = self.address.rpartition("//")[2].rpartition(":")
        return http.client.HTTPConnection(host, int(port), timeout=20)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        said = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, bytes | str):
            body = json.dumps(body)
        connection = self.connect()
        try:
            connection.request(method, path, body, said)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self.ask("POST", path, body, **headers)

    def sql(self, text: str, params: Any = None) -> Any:
        answer = self.post("/sql", {"sql": text} | ({} if params is None else {"params": params}))
        return answer.json

    def events(self, path: str, **headers: str) -> Events:
        return Events(self, path, self.headers | {name.replace("_", "-"): value for name, value in headers.items()})


@dataclass
class Event:
    kind: str
    id: int
    data: Any


class Events:
    """Server-sent events, one after the other."""

    def __init__(self, client: Client, path: str, headers: dict[str, str]) -> None:
        self.connection = client.connect()
        self.connection.request("GET", path, headers=headers)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()
        self._each = self._read()

    def next(self) -> Event:
        return next(self._each)

    def rest(self) -> list[Event]:
        return list(self._each)

    def _read(self) -> Iterator[Event]:
        said: dict[str, str] = {}
        for line in self.answer:
            text = line.decode().rstrip("\n")
            if not text and "data" in said:
                yield Event(said["event"], int(said["id"]), json.loads(said["data"]))
            if not text:
                said = {}
            else:
                name, _, value = text.partition(": ")
                said[name] = value

    def close(self) -> None:
        self.answer.close()
        self.connection.close()

    def __enter__(self) -> Events:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.01)


def listening(client: Client) -> str:
    found = [
        line for line in client.get("/metrics").body.decode().splitlines() if line.startswith("ivm_server_streams{")
    ]
    return found[0].rpartition(" ")[2] if found else "0"
