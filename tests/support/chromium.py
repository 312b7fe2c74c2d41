"""A headless Chromium, driven over a pipe by its own protocol: no package and no port is needed.

`--remote-debugging-pipe` reads commands from descriptor 3 and writes answers to 4, JSON with a null character behind
each message. That is all that a driver of a browser does for us, in a hundred lines.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    *(
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
    ),
    *("--remote-debugging-pipe", "--hide-scrollbars", "--force-color-profile=srgb", "--mute-audio"),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--font-render-hinting=none",
    ),
)
# The copies in between are for the case that one end stands in the place of the other.
CONNECT = """
import os, sys
for _ in range(5): os.dup(0)
ends = [os.dup(int(end)) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
SECONDS = 60.0  # for one answer


def find_chromium() -> str | None:
    given = os.environ.get("MISSTEP_CHROMIUM")
    return (given and shutil.which(given)) or next(
        (path for name in NAMES if (path := shutil.which(name))), None
    )


class BrowserError(AssertionError):
    """The browser, or the page in it, did not do what was asked."""


class Chromium:
    """One browser with one page."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        read_commands, self._commands = os.pipe()
        self._answers, write_answers = os.pipe()

        # A small program puts the pipes where Chromium looks for them, and becomes Chromium.
        ends = (str(read_commands), str(write_answers))
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", CONNECT, *ends),
                *(program, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"),
            ],
            pass_fds=(read_commands, write_answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_commands)
        os.close(write_answers)
        self._number = 0
        self._rest = b""
        self.events: list[dict[str, Any]] = []
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self) -> None:
        """Take the page that is there."""
        ends, page = time.monotonic() + SECONDS, None
        while page is None:  # it may answer before its first page is there
            targets = self.ask("Target.getTargets", session=None)["targetInfos"]
            page = next((own["targetId"] for own in targets if own["type"] == "page"), None)
            if page is None and time.monotonic() > ends:
                raise BrowserError("the browser opens no page")
        attached = self.ask("Target.attachToTarget", session=None, targetId=page, flatten=True)
        self.session: str = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    # -- the protocol -----------------------------------------------------------------------------

    def ask(self, method: str, session: str | None = "", **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = self.session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        ends = time.monotonic() + SECONDS
        while True:
            answer = self._receive(ends)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _receive(self, ends: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            left = ends - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                raise BrowserError(f"no answer within {SECONDS:.0f} s")
            piece = os.read(self._answers, 2**20)
            if not piece:
                raise BrowserError("the browser has ended")
            self._rest += piece
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    # -- the page ---------------------------------------------------------------------------------

    def size(self, width: int, height: int, scale: float = 1, mobile: bool = False) -> None:
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=mobile,
        )

    def dark(self, on: bool) -> None:
        features = [{"name": "prefers-color-scheme", "value": "dark" if on else "light"}]
        self.ask("Emulation.setEmulatedMedia", features=features)

    def open(self, file: Path, fragment: str = "") -> None:
        """Open a report and wait until it can be used."""
        self.ask("Page.navigate", url="about:blank")
        self.events.clear()
        self.ask("Page.navigate", url=file.resolve().as_uri() + fragment)
        self.wait("document.documentElement?.dataset.ready === '1'")

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        answer = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", str(details)))
        return answer["result"].get("value")

    def wait(self, condition: str, seconds: float = 30) -> None:
        ends = time.monotonic() + seconds
        while not self.run(condition):
            if time.monotonic() > ends:
                raise BrowserError(f"in vain: {condition}; {self.problems()}")
            time.sleep(0.02)

    def press(self, key: str) -> None:
        """One key, as if typed."""
        named = {"Enter": 13, "Escape": 27}
        code = {"windowsVirtualKeyCode": named[key]} if key in named else {"text": key}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **code)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, **code)

    def text(self, selector: str) -> str:
        return str(self.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def click(self, selector: str) -> None:
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def screenshot(self, *, whole: bool = False) -> bytes:
        found = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(found["data"])

    def problems(self) -> list[str]:
        """Errors on the console, uncaught ones, and what the security policy refused."""
        self.run("0")  # lets events come in
        found = []
        for event in self.events:
            own = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(own["exceptionDetails"].get("exception", own)))
            elif event["method"] == "Log.entryAdded" and own["entry"]["level"] == "error":
                found.append(own["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and own["type"] == "error":
                found.append(str(own["args"]))
        return found

    def requests(self) -> list[str]:
        """Addresses that the page has asked for, itself included."""
        self.run("0")
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._profile.cleanup()


def main() -> int:
    """`python -m support.chromium` says which browser the tests take; it fails if there is none."""
    program = find_chromium()
    print(program or "there is no Chromium here")
    return 0 if program else 1


__all__ = ["BrowserError", "Chromium", "find_chromium"]

if __name__ == "__main__":
    sys.exit(main())
