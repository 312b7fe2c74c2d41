"""How far a campaign is: on a terminal, without one, and what is said about the time that is left."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from misstep.cli import output
from misstep.cli import progress as module
from misstep.cli.pace import Pace, in_words, left_of_tasks
from misstep.cli.progress import CampaignProgress, Watch, clock
from support.commands import misstep

SLOW = """
import time

def choose(state):
    time.sleep(0.02)
    return 0
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tasks and a policy that takes its time: some seconds of work."""
    home = tmp_path_factory.mktemp("progress")
    for number in (1, 2):
        misstep(
            "generate",
            "gripper",
            "--balls",
            "2",
            "--scatter",
            "50",
            "--seed",
            str(number),
            "-o",
            home / f"suite/g{number}",
        )
    (home / "slow.py").write_text(SLOW)
    return home


def command(suite: Path, out: str, *more: str) -> list[str]:
    policy = f"python:{suite / 'slow.py'}:choose"
    given = [
        "--suite",
        str(suite / "suite"),
        "--policy",
        policy,
        "--pool",
        "12",
        "--out",
        str(suite / out),
    ]
    return [sys.executable, "-m", "misstep", "test", *given, *more]


def on_terminal(words: list[str], columns: int) -> tuple[bytes, int]:
    """What a command writes to a terminal of that width, and its exit code."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm"}
    for name in ("COLUMNS", "LINES"):  # would be taken for the size of the terminal
        environment.pop(name, None)
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break  # the other end is closed
        if not part:
            break
        said += part
    os.close(ours)
    return said, process.wait()


def screen(said: str) -> list[str]:
    """What is left on the screen: a terminal that knows the few controls that bars use."""
    lines, row = [""], 0
    for part in re.split(r"(\r\n|\n|\r|\x1b\[[0-9;?]*[A-Za-z])", said):
        if part in ("\r\n", "\n"):
            row += 1
            if row == len(lines):
                lines.append("")
        elif part == "\x1b[2K":
            lines[row] = ""
        elif part.startswith("\x1b[") and part.endswith("A"):
            row = max(0, row - int(part[2:-1] or 1))
        elif part and not part.startswith(("\x1b", "\r")):
            lines[row] += part
    return lines


def test_on_a_terminal(suite: Path) -> None:
    raw, code = on_terminal(command(suite, "terminal"), 100)
    said = raw.decode()
    assert code == 1, said
    assert re.search(r"[01] of 2 tasks", said)
    assert "bugs so far" in said
    assert re.search(r"g[12]/problem: \w+", said)
    assert "\\x1b" not in said  # controls of bars reach the terminal as such
    left = [line for line in screen(said) if line.strip()]
    assert not any("so far" in line or "━" in line for line in left)  # no row stays behind
    begin = [line.split()[0] for line in left if not line.startswith(" ")]
    assert begin[-3:] == ["found", "worst", "next"]
    assert left[0].startswith("task ")


def test_select_draws_its_bar_and_a_table_that_fits(suite: Path) -> None:
    words = ["select", str(suite), "--policies", "first", "heuristic:ff", "--pool", "3"]
    said, code = on_terminal([sys.executable, "-m", "misstep", *words], 60)
    assert code == 0
    assert b"\\x1b" not in said  # a control that is written out is a bar that is not drawn
    assert max(map(len, screen(said.decode()))) <= 62
    assert b"heuristic:ff\r\n  score " in said


def test_without_a_terminal(suite: Path) -> None:
    done = subprocess.run(
        command(suite, "pipe", "--json"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["tested"] == 24
    assert len(done.stdout.splitlines()) == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("[")]
    assert re.fullmatch(
        r"\[0:0[12]\] (loading the tasks and the policy|g\d/problem: .*); \d+ bugs? so far",
        lines[0],
    )
    assert "\x1b" not in done.stderr
    assert "━" not in done.stderr


def test_lines_are_written_every_so_often(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "FIRST_LINE", 0.01)
    monkeypatch.setattr(module, "EVERY", 0.01)
    progress = CampaignProgress()
    progress.begin()
    progress("g: judging", 3, 10, 2)
    progress.tasks(1, 4)
    said = ""
    while said.count("\n") < 3:
        said += capsys.readouterr().err
    progress.stop()
    after = capsys.readouterr().err
    assert "g: judging 3 of 10; 1 of 4 tasks done; 2 bugs so far\n" in said + after
    assert not progress._clock.is_alive()


def test_quick_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with module.campaign_progress() as progress:
        progress("g: judging", 3, 10, 2)
    assert capsys.readouterr().err == ""


def test_names_are_written_out_where_rich_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = module._two_rows()
    progress = CampaignProgress()
    monkeypatch.setattr(progress, "_bars", rows)
    progress("\x1b[2J[red]" + "x" * 200 + ": judging", 1, None, 0)
    text = rows.tasks[1].description
    assert "\x1b" not in text
    assert text.endswith(": judging")
    assert len(text) <= module.NAME
    assert len(rows.tasks) == 2


# -- what is left ---------------------------------------------------------------------------------


def test_steady_work_is_estimated() -> None:
    pace = Pace(0, 0.0)
    for second in range(1, 11):
        pace.see(10 * second, float(second))
    assert pace.left(200, 10.0) == pytest.approx(10.0)
    assert pace.left(200, 13.0) == pytest.approx(7.0)
    assert pace.left(None, 10.0) is None
    assert pace.left(100, 10.0) is None  # it is done
    assert pace.left(100_000, 10.0) is None  # too little of it is known


def test_unsteady_or_young_work_is_not() -> None:
    slower = Pace(0, 0.0)
    for second, done in enumerate([50, 80, 90, 95, 97, 98, 99, 100], 1):
        slower.see(done, float(second))
    assert slower.left(200, 8.0) is None
    young = Pace(0, 0.0)
    for step in range(1, 5):
        young.see(step, step / 2)
    assert young.left(10, 2.0) is None
    still = Pace(0, 0.0)
    still.see(1, 100.0)
    assert still.left(2, 200.0) is None


def test_a_pace_keeps_little() -> None:
    pace = Pace(0, 0.0)
    for step in range(1, 100_000):
        pace.see(step, step / 1000)
    assert len(pace._seen) <= 401
    assert pace.left(200_000, 100.0) == pytest.approx(100.0, rel=0.01)


def test_tasks_are_estimated_only_from_tasks_like_them() -> None:
    assert left_of_tasks([10.0, 11.0, 12.0], 5, 4.0) == pytest.approx(51.0)
    assert left_of_tasks([10.0, 11.0], 5, 4.0) is None  # too few
    assert left_of_tasks([1.0, 10.0, 100.0], 5, 4.0) is None  # they grow
    assert left_of_tasks([10.0, 11.0, 12.0], 5, 40.0) is None  # the next one takes longer already
    assert left_of_tasks([10.0, 11.0, 12.0], 0, 0.0) is None


def test_watch_keeps_the_pace_of_each_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    watch = Watch()
    watch.tasks(0, 5)
    for second in range(1, 11):  # two tasks at the same time
        now[0] = float(second)
        watch.report("a: judging", 10 * second, 200, 1)
        watch.report("b: judging", 5 * second, 100, 1)
    assert (
        watch.line()
        == "[0:10] b: judging 50 of 100; about 10 s left of this; 0 of 5 tasks done; 1 bug so far"
    )
    for done in (1, 2, 3):
        now[0] += 20
        watch.tasks(done, 5)
    assert watch.left_of_all() == "about 45 s"
    for number in range(200):
        watch.report(f"{number}: judging", 1, 2, 3)
    assert len(watch._paces) <= module.MOST_PHASES


def test_times_in_words() -> None:
    assert [in_words(seconds) for seconds in (0.1, 12, 89, 200, 7200)] == [
        *("about 5 s", "about 10 s", "about 90 s", "about 3 min", "about 2 h")
    ]
    assert [clock(seconds) for seconds in (0, 61.9, 3671)] == ["0:00", "1:01", "1:01:11"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class NoClock:
    """A timer whose thread never has its turn, as while native work holds Python's lock."""

    def __init__(self, *_: object) -> None:
        self.daemon = False

    def start(self) -> None:
        pass

    cancel = start


def test_a_report_draws_the_line_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(output, "Timer", NoClock)
    monkeypatch.setattr(output, "TERMINAL_QUIET_SECONDS", -1.0)
    monkeypatch.setattr(output, "REFRESH_SECONDS", -1.0)
    with output.search_progress("proving", "states") as report:
        report(1234, 0, 0, 0, 0.0)
        report(5678, 0, 0, 0, 0.0)
        assert "5,678 states" in screen.getvalue()
