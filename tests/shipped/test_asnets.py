"""The ASNets that ship have the qualities that their cards state."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from misstep.errors import UnsupportedError, UsageError
from misstep.experiments.definition import load_definition
from misstep.policies.conformance import check_policy
from misstep.policies.load import load_policy
from misstep.policies.shipped import SHIPPED, shipped, shipped_names
from misstep.runs.outcomes import DEFAULT_MAX_STEPS
from misstep.runs.single import run_once
from misstep.tasks.task import Task
from misstep.training.testing import TestedTask, TestSettings
from support.commands import misstep, result_of
from support.tasks import generated_task, small_task

EACH = pytest.mark.parametrize("name", shipped_names("asnets"))


def task_named(name: str) -> Task:
    """The instance that a card names: the domain, the sizes and the seed, as `misstep generate` or as an experiment
    writes them."""
    if "," in name:
        domain, *parts = name.split(", ")
        sizes = {size: int(value) for size, value in (part.split(" ") for part in parts)}
        return generated_task(domain, seed=sizes.pop("task"), **sizes)
    domain, *ends = name.split("-")
    values = [re.fullmatch(r"([a-z]+)(\d+)", size) for size in ends]
    return generated_task(domain, **{found[1]: int(found[2]) for found in values if found})


def settings_of(card: Mapping[str, Any]) -> TestSettings:
    how = {"pool_size" if key == "pool" else key: own for key, own in card["test"].items()}
    return TestSettings(**how)


def test_one_for_every_domain_of_the_papers() -> None:
    names = shipped_names("asnets")
    assert set(names) == {row["domain"] for row in load_definition("policies").top["rows"]}
    listed = result_of("list")
    assert [f"shipped:{name}" for name in names] == list(listed["shipped policies"])


@EACH
def test_small_and_as_the_card_says(name: str) -> None:
    own = shipped("asnets", name)
    content = own.file.read_bytes()
    assert own.file == SHIPPED / "asnets" / own.card["policy"]
    assert len(content) == own.card["bytes"] < 500_000
    assert hashlib.sha256(content).hexdigest() == own.card["digest"]
    held_out = own.card["held_out"]
    assert held_out["tasks"] == len(held_out["names"])
    text = own.file.with_suffix(".md").read_text(encoding="utf-8")
    assert own.card["command"] in text.replace(" \\\n    ", " ")
    good = held_out["coverage"] >= held_out["tasks"] / 2
    assert good == own.card.get("good", True) == ("Not a good policy" not in text)


@EACH
def test_the_page_has_the_numbers_of_the_card(name: str) -> None:
    held_out = shipped("asnets", name).card["held_out"]
    page = (Path(__file__).parents[2] / "docs/training.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
    assert f"| {held_out['coverage']} of {held_out['tasks']}" in row
    assert row.endswith(f"| {held_out['bugs']:,} of {held_out['processed']:,} |")


@EACH
def test_it_solves_what_the_card_says(name: str) -> None:
    own = shipped("asnets", name)
    training = own.card["training"]
    known = training["tasks"] if training["success"] == 1 else []
    tasks = [*known[:3], *known[-1:]] if len(known) > 10 else known
    held_out, unsolved = own.card["held_out"]["names"], own.card["known_weaknesses"]["unsolved"]
    expected = dict.fromkeys(tasks, True) | {held_out[0]: held_out[0] not in unsolved}
    limit = own.card["test"].get("max_steps", DEFAULT_MAX_STEPS)
    for instance, solved in expected.items():
        task = task_named(instance)
        policy = load_policy(f"shipped:{name}", task)
        assert (policy.name, policy.digest) == (f"shipped:{name}", own.card["digest"])
        trace = run_once(policy, task.initial_state, max_steps=limit)
        assert (trace.outcome == "goal") == solved


@EACH
def test_the_bugs_of_the_card(name: str) -> None:
    """The native network gives the same bits everywhere, and the test is limited by steps."""
    own = shipped("asnets", name)
    weak = own.card["known_weaknesses"]["bugs"]
    if not weak:
        assert own.card["held_out"]["bugs"] == 0 or own.card["known_weaknesses"]["unsolved"]
        return
    instance = min(weak, key=lambda name: (len(name), name))  # the smaller sizes have fewer digits
    task = task_named(instance)
    tested = TestedTask(task, settings_of(own.card))
    found = tested.test(load_policy(f"shipped:{name}", task), check=True)
    assert f"{found.bugs} of {found.processed} states" == weak[instance]


@EACH
def test_it_conforms(name: str) -> None:
    task = task_named(shipped("asnets", name).card["training"]["tasks"][-1])
    asked, findings = check_policy(lambda: load_policy(f"shipped:{name}", task), states=50)
    assert asked > 0
    assert findings == []


def test_gripper_learnt_with_four_balls_solves_twenty() -> None:
    card = shipped("asnets", "gripper").card
    assert max(task_named(name).variable_count for name in card["training"]["tasks"]) == 7
    task = generated_task("gripper", balls=20)
    trace = run_once(load_policy("shipped:gripper", task), task.initial_state)
    assert trace.outcome == "goal"
    assert trace.cost == 59  # two balls a way and nothing left out: that is optimal


def test_other_names_and_other_domains() -> None:
    for spec in ("shipped:chess", "shipped:beluga", "shipped:", "shipped"):
        with pytest.raises(
            UsageError,
            match=r"for planning tasks is shipped; expected one of blocksworld, childsnack",
        ):
            load_policy(spec, small_task("gripper-4"))
    with pytest.raises(UnsupportedError, match=r"not of the domain gripper.*misstep generate"):
        load_policy("shipped:gripper", small_task("ferry-3"))


def test_no_traceback_for_a_user(tmp_path: Path) -> None:
    folder = tmp_path / "task"
    assert misstep("generate", "ferry", "--cars", "2", "-o", folder).returncode == 0
    done = misstep("run", folder, "--policy", "shipped:gripper")
    assert done.returncode != 0
    assert "not of the domain gripper" in done.stderr
    assert "Traceback" not in done.stderr
