"""The conformance kit asks in another process, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from misstep.policies.conformance import check_policy
from misstep.policies.load import load_policy
from misstep.tasks.generate import generate
from misstep.tasks.load import load_task
from misstep.tasks.task import Task
from support.unsteady import PLANNING

RULE = "says the same in another process, with another order of hashes"


@pytest.mark.parametrize(
    ("name", "differs"), [("Place", True), ("Hashes", True), ("Steady", False)]
)
def test_a_policy_that_depends_on_its_process(tmp_path: Path, name: str, differs: bool) -> None:
    (tmp_path / "p.py").write_text(PLANNING)
    task = load_task(generate("gripper", balls=4))
    assert isinstance(task, Task)
    spec = f"python:{tmp_path / 'p.py'}:{name}"
    asked, findings = check_policy(lambda: load_policy(spec, task), states=60)
    assert asked == 60
    assert (RULE in [finding.rule for finding in findings]) is differs


def test_a_policy_that_declares_it(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(PLANNING)
    task = load_task(generate("gripper", balls=2))
    assert isinstance(task, Task)
    spec = f"python:{tmp_path / 'p.py'}:Declared"
    _, findings = check_policy(lambda: load_policy(spec, task), states=5)
    assert "is a function of the state" in [finding.rule for finding in findings]
