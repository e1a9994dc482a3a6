"""The compiler's process: compiles one loop after the other, and keeps them for all. See `elsewhere`."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from typing import TextIO

from ivm.render.scalars.cache import load

IDLE_SECONDS = 30.0
"""For how long it waits for another loop; then it gives its memory back, some 150 MB."""


def serve() -> None:
    """Take orders from the standard input until it ends, and answer each in a line: "" or what was wrong."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whatever a library prints is no answer
    orders: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(sys.stdin, orders), daemon=True).start()
    print("ready", file=answers, flush=True)
    while True:
        try:
            order = orders.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            return
        print(json.dumps(_carried_out(order)), file=answers, flush=True)


def _receive(lines: TextIO, orders: queue.SimpleQueue[str]) -> None:
    """When there are no more orders, nobody is there to give them, whatever is being compiled."""
    for line in lines:
        orders.put(line)
    os._exit(0)


def _carried_out(order: str) -> str:
    asked = json.loads(order)
    if asked["folder"] is None:
        os.environ.pop("IVM_CACHE_DIR", None)
    else:
        os.environ["IVM_CACHE_DIR"] = asked["folder"]
    try:
        load(asked["source"])
    except Exception as error:  # noqa: BLE001  the answer says so
        return f"{type(error).__name__}: {error}"
    return ""
