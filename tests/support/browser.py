"""A headless Chromium, driven through its debugging pipe (Chrome DevTools Protocol); needs nothing
but the browser.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
PATIENCE = 30.0  # seconds for one answer


def find_chromium() -> str | None:
    """The browser to test in: ``$CHROMIUM``, or the first that is installed."""
    return os.environ.get("CHROMIUM") or next(
        (found for name in NAMES if (found := shutil.which(name))), None
    )


class Page:
    """One tab; *events* collects what the browser reported, errors of the console among them."""

    def __init__(self, write_to: int, read_from: int) -> None:
        self._out, self._in, self._buffer, self._number, self._session = (
            write_to,
            read_from,
            b"",
            0,
            "",
        )
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The browser's answer to one command."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def open(
        self, path: Path, *, dark: bool = False, width: int = 1280, fragment: str = ""
    ) -> None:
        """As :meth:`visit`, of a file."""
        self.visit(path.resolve().as_uri() + fragment, dark=dark, width=width, again=bool(fragment))

    def visit(
        self, url: str, *, dark: bool = False, width: int = 1280, again: bool = False
    ) -> None:
        """Load *url*, in the colour scheme asked for, and wait for the load event; *again*: it may
        be a place in the page that is open, to which the browser would only jump.
        """
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        if again:
            self.leave()
            self.evaluate("new Promise((done) => setTimeout(done, 50))")
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def leave(self) -> None:
        """Leave the page: one that stays open goes on working, and so does who serves it."""
        self.call("Page.navigate", url="about:blank")

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        result = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_for(self, script: str, seconds: float = PATIENCE) -> float:
        """Wait until the expression is true in the page; how long that took [s]."""
        begin = time.monotonic()
        while not self.evaluate(f"Boolean({script})"):
            assert time.monotonic() - begin < seconds, script
            time.sleep(0.002)
        return time.monotonic() - begin

    def settle(self) -> None:
        """Wait until the page has drawn what was last asked of it."""
        frames = "requestAnimationFrame(() => requestAnimationFrame(done))"
        self.evaluate(f"new Promise((done) => {frames})")

    def hover(self, x: float, y: float) -> None:
        """Move the pointer there, in CSS pixels of the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def click_at(self, x: float, y: float) -> None:
        """Move the pointer there and click, as a hand does."""
        self.hover(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def click(self, selector: str) -> None:
        """Click in the middle of the first element that *selector* finds, scrolled into view."""
        middle = f"""(() => {{ const found = document.querySelector({json.dumps(selector)});
          found.scrollIntoView({{block: "center", behavior: "instant"}});
          const box = found.getBoundingClientRect();
          return [box.left + box.width / 2, box.top + box.height / 2]; }})()"""
        self.click_at(*self.evaluate(middle))

    def press(self, key: str) -> None:
        """Press and release a key by its name: ``Enter``, ``ArrowRight``, ``Tab``."""
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowRight": 39, "ArrowLeft": 37, " ": 32}
        text = {"Enter": "\r", " ": " "}.get(key)
        common: dict[str, Any] = {
            "key": key,
            "code": key,
            "windowsVirtualKeyCode": codes.get(key, 0),
        }
        self.call(
            "Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {})
        )
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)
        self.settle()

    def photograph(self, picture: Path) -> None:
        """Write what the window shows as a PNG."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        picture.write_bytes(b64decode(data))

    def complaints(self) -> list[dict[str, Any]]:
        """Exceptions, console errors and warnings, and log entries since the page was opened."""
        self.evaluate("new Promise((done) => setTimeout(done, 100))")
        bad = ("Runtime.exceptionThrown", "Log.entryAdded")
        said = [e for e in self.events if e.get("method") == "Runtime.consoleAPICalled"]
        loud = [e for e in said if e["params"]["type"] in ("error", "warning", "assert")]
        return [e for e in self.events if e.get("method") in bad] + loud

    def requests(self) -> list[str]:
        """Addresses asked for since the page was opened."""
        sent = [e for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [e["params"]["request"]["url"] for e in sent]

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            read = os.read(self._in, 1 << 20)
            assert read, "the browser has gone"
            self._buffer += read
        message, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found


@contextmanager
def chromium(executable: str, folder: Path) -> Iterator[Page]:
    """A browser with an empty profile in *folder*, ended afterwards."""
    commands, send = os.pipe()
    receive, answers = os.pipe()
    log = os.open(os.devnull, os.O_RDWR)
    # The browser reads commands from descriptor 3 and writes answers to 4; high copies cannot be in
    # each other's way.
    high = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 20) for number in (commands, answers)]
    ends = [(log, 0), (log, 1), (log, 2), (high[0], 3), (high[1], 4)]
    browser = os.posix_spawn(
        executable,
        [executable, *FLAGS, f"--user-data-dir={folder}"],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, ours, theirs) for ours, theirs in ends],
        setpgroup=0,
    )
    for number in (commands, answers, log, *high):
        os.close(number)
    try:
        yield Page(send, receive)
    finally:
        os.killpg(browser, signal.SIGTERM)
        os.waitpid(browser, 0)
        os.close(send)
        os.close(receive)
