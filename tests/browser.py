"""Chromium without a window, for tests of pages: it is spoken to by its own protocol, so no driver is needed."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from websockets.sync.client import connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_SECONDS = 20.0


def found_browser() -> str | None:
    """The program, as IVM_CHROMIUM says or where the path has it; None where there is none."""
    named = os.environ.get("IVM_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """A page that is shown. What it logs as an error, or throws, fails `check`."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._asked = 0
        self.wrong: list[str] = []
        for domain in ("Page", "Runtime", "Log"):
            self.do(f"{domain}.enable")

    def do(self, method: str, **params: Any) -> Any:
        """Carry out a command of the protocol; its result."""
        self._asked += 1
        self._socket.send(json.dumps({"id": self._asked, "method": method, "params": params}))
        while True:
            told = json.loads(self._socket.recv(timeout=_SECONDS))
            if told.get("id") == self._asked:
                assert "error" not in told, told
                return told["result"]
            self._note(told)

    def _note(self, told: Any) -> None:
        if told.get("method") == "Runtime.exceptionThrown":
            details = told["params"]["exceptionDetails"]
            self.wrong.append(details.get("exception", {}).get("description", details["text"]))
        elif told.get("method") == "Log.entryAdded" and told["params"]["entry"]["source"] not in ("network",):
            self.wrong.append(told["params"]["entry"]["text"])

    def go(self, address: str) -> None:
        """Show an address, anew even if only what is behind its # is another."""
        self.do("Page.navigate", url="about:blank")
        self.do("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def run(self, code: str) -> Any:
        """The value of an expression of JavaScript."""
        found = self.do("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, code: str) -> Any:
        """Wait until an expression is true; its value."""
        end = time.monotonic() + _SECONDS
        while not (value := self.run(code)):
            assert time.monotonic() < end, f"{code} is not so; shown is: {self.text()[:3000]}"
            time.sleep(0.03)
        return value

    def text(self, of: str = "body") -> str:
        """What is written in an element, as people see it."""
        return str(self.run(f"document.querySelector({json.dumps(of)})?.innerText ?? ''"))

    def until_text(self, text: str, of: str = "body") -> None:
        """Wait until a text is written in an element."""
        self.until(f"(document.querySelector({json.dumps(of)})?.textContent ?? '').includes({json.dumps(text)})")

    def click(self, selector: str) -> None:
        """Click into the middle of an element, once it is shown, as a mouse does."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.until(f"{element}?.getClientRects().length > 0")
        self.run(f"{element}.scrollIntoView({{block: 'center', inline: 'center'}})")
        box = self.run(f"(({{x, y, width, height}}) => ({{x, y, width, height}}))({element}.getBoundingClientRect())")
        at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2, "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.do("Input.dispatchMouseEvent", type=kind, **at)

    def write(self, selector: str, text: str) -> None:
        """Click into a field, and put a text in the place of what is there."""
        self.click(selector)
        self.run("document.activeElement.select()")
        self.do("Input.insertText", text=text)

    def look(self, width: int, height: int = 900, scheme: str = "light") -> None:
        """Be so wide and so high, light or dark."""
        self.do(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 700
        )
        self.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, file: Path) -> None:
        """What is seen, as a PNG."""
        file.write_bytes(base64.b64decode(self.do("Page.captureScreenshot", format="png")["data"]))

    def check(self) -> None:
        """Nothing has gone wrong in the page so far."""
        self.run("1")  # which brings what was told meanwhile
        assert self.wrong == []


@contextmanager
def browser(program: str, folder: Path) -> Iterator[Page]:
    """A page of a browser of its own, which keeps its files in a folder, and ends with the block."""
    command = [
        program, "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={folder}", "--no-first-run",
        "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
        *(["--no-sandbox"] if os.geteuid() == 0 else []), "about:blank",
    ]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        assert process.stderr is not None
        lines: list[str] = []
        port = None
        for line in process.stderr:
            lines.append(line)
            if port := re.search(r"DevTools listening on ws://127\.0\.0\.1:(\d+)/", line):
                break
        assert port, f"{program} does not run: {''.join(lines)[-2000:]}"
        with urlopen(f"http://127.0.0.1:{port[1]}/json/list", timeout=_SECONDS) as answer:
            shown = next(each for each in json.load(answer) if each["type"] == "page")
        with connect(shown["webSocketDebuggerUrl"], max_size=None) as socket:
            yield Page(socket)
    finally:
        process.terminate()
        try:
            process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stderr is not None:
            process.stderr.close()
