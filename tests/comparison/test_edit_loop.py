"""The loop of a user: test, mend the policy by hand, see the fix, hold it with a gate; a new bug turns the gate red.

All of it with the commands that a user types.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import misstep, result_of

# An optimal policy, but for what is planted.
POLICY = """
import numpy as np
import misstep


class Mine:
    def __init__(self, task):
        self.inner = misstep.load_policy("optimal", task)

    def act(self, state):
        {planted}
        rows = np.array([state.values], dtype=np.int32)
        return int(self.inner.decide(rows).operators[0])
"""
STOPS = """if "carry(ball1, left)" in state.facts and "at-robot(room-b)" in state.facts:
            return None  # never drops the first ball of the left hand"""
GOES = """if "carry(ball2, right)" in state.facts and "at-robot(room-b)" in state.facts:
            return "move room-b room-a"  # takes the second ball away again"""
FINE = "pass"


class Workplace:
    """A task, and the file of a policy that is edited."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.task = place / "task"
        assert misstep("generate", "gripper", "--balls", "3", "-o", self.task).returncode == 0

    @property
    def policy(self) -> str:
        return f"python:{self.place / 'mine.py'}:Mine"

    def edit(self, planted: str) -> None:
        (self.place / "mine.py").write_text(POLICY.format(planted=planted))

    def folder(self, name: str) -> Path:
        return self.place / name


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


def test_the_loop(work: Workplace) -> None:
    known, first = work.place / "known.json", work.folder("first")

    # 1. Test: the planted bug is found and kept as the baseline.
    work.edit(STOPS)
    tested = ("--policy", work.policy, "--pool", "30")
    arguments = ("test", work.task, *tested, "-o", first, "--write-baseline", known)
    found = result_of(*arguments, code=1)
    assert found["bugs"]["total"] == found["bugs"]["fails"] > 0
    families = json.loads(known.read_text())["families"]
    assert list(families) == ["stops instead of drop"]

    # 2. With its own baseline the same policy passes, although it has bugs.
    held = ("--baseline", known, "--fail-on", "new,worse")
    same = result_of("test", work.task, *tested, "-o", work.folder("same"), *held, code=0)
    assert same["gate"]["passed"]
    assert len(same["gate"]["still"]) == found["bugs"]["total"]

    # 3. Mended by hand: the same states, and every bug is fixed.
    work.edit(FINE)
    second = work.folder("second")
    again = ("test", "--pool-from", first, *tested, "-o", second)
    mended = result_of(*again, *held, code=0)
    assert mended["bugs"]["total"] == 0
    assert len(mended["gate"]["fixed"]) == found["bugs"]["total"]
    compared = result_of("compare", first, second)
    (change,) = compared["changes"]
    assert change["counts"]["fixed"] == found["bugs"]["total"]
    assert compared["families"][0]["went"] == families
    assert list(compared["differs"]) == ["version of the policy"]

    # 4. The gate is green, also with the new baseline, which has no bugs.
    tight = work.place / "tight.json"
    fine = ("test", work.task, *tested, "-o", work.folder("third"), "--write-baseline", tight)
    assert misstep(*fine).returncode == 0
    assert json.loads(tight.read_text())["families"] == {}

    # 5. A new bug is planted, and the gate is red; the reports say why.
    work.edit(GOES)
    reports = [work.place / name for name in ("junit.xml", "found.sarif", "summary.md")]
    options = zip(("--junit", "--sarif", "--markdown"), reports, strict=True)
    written = [word for pair in options for word in pair]
    for number, baseline in enumerate((known, tight)):
        out = work.folder(f"red-{number}")
        red = ("test", work.task, *tested, "-o", out, "--baseline", baseline, *written)
        failed = result_of(*red, code=1)
        assert not failed["gate"]["passed"]
        new = failed["gate"]["new"]
        assert new
    assert len(new) == failed["bugs"]["total"]  # nothing is known to the tight baseline
    assert "## Misstep: gate failed" in reports[2].read_text()
    assert all("move instead of drop" in path.read_text() for path in reports)


def test_stopping_at_the_first_new_bug(work: Workplace) -> None:
    """Known bugs do not stop the work, a new one does; the campaign goes on later."""
    known = work.place / "known.json"
    work.edit(STOPS)
    config = work.place / "small.toml"
    config.write_text("[planning]\nchunk = 3\nround = 2\n")
    tested = ("--policy", work.policy, "--pool", "20", "--config", config)
    first = ("test", work.task, *tested, "-o", work.folder("first"), "--write-baseline", known)
    assert misstep(*first).returncode == 1
    held = ("--baseline", known, "--stop-at-first")
    whole = result_of("test", work.task, *tested, "-o", work.folder("same"), *held, code=0)
    assert whole["finished"]
    work.edit(GOES)
    out = work.folder("stopped")
    stopped = result_of("test", work.task, *tested, "-o", out, *held, code=1)
    assert not stopped["finished"]
    assert stopped["tested"] < stopped["states"]
    resumed = ("test", "--resume", "-o", out, "--policy", work.policy, "--baseline", known)
    went_on = result_of(*resumed, code=1)
    assert went_on["finished"]
    assert went_on["tested"] == went_on["states"]


def test_retest_shows_the_fix(work: Workplace) -> None:
    first = work.folder("first")
    work.edit(STOPS)
    tested = ("test", work.task, "--policy", work.policy, "--pool", "30", "-o", first)
    found = result_of(*tested, code=1)
    work.edit(FINE)
    again = result_of("retest", first, "--policy", work.policy, "-o", work.folder("a"), code=0)
    assert again["counts"]["fixed"] == found["bugs"]["total"]
    assert again["counts"]["new"] == 0
    work.edit(GOES)
    mended = work.folder("a")
    red = result_of("retest", mended, "--policy", work.policy, "-o", work.folder("b"), code=1)
    assert red["counts"]["new"] > 0
    # Compared with what was tested before, unless a baseline is named.
    gate = ("--fail-on", "new", "--markdown", work.place / "summary.md")
    held = ("retest", mended, "--policy", work.policy, *gate)
    failed = result_of(*held, "-o", work.folder("c"), code=1)
    assert len(failed["gate"]["new"]) == red["counts"]["new"]
    assert "| new bugs |" in (work.place / "summary.md").read_text()
    allowed = ("retest", mended, "--policy", work.policy, "--max-bugs", "1000")
    assert result_of(*allowed, "-o", work.folder("d"), code=0)["gate"]["passed"]
