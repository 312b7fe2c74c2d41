"""The ASNets that ship: what their cards say is so."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from misstep.errors import UnsupportedError, UsageError
from misstep.policies.conformance import check_policy
from misstep.policies.load import load_policy
from misstep.policies.shipped import SHIPPED, shipped, shipped_names
from misstep.runs.single import run_once
from misstep.tasks.task import Task
from misstep.training.testing import TestedTask, TestSettings
from support.commands import misstep, result_of
from support.tasks import generated_task, small_task

EACH = pytest.mark.parametrize("name", shipped_names("asnets"))


def task_named(name: str) -> Task:
    """The instance that a card names: the domain, the sizes and the seed."""
    domain, *sizes = name.split("-")
    values = [re.fullmatch(r"([a-z]+)(\d+)", size) for size in sizes]
    return generated_task(domain, **{found[1]: int(found[2]) for found in values if found})


def test_five_domains() -> None:
    names = shipped_names("asnets")
    assert set(names) >= {"gripper", "blocksworld", "ferry", "visitall", "transport"}
    listed = result_of("list")
    assert [f"shipped:{name}" for name in names] == list(listed["shipped policies"])


@EACH
def test_small_and_as_the_card_says(name: str) -> None:
    own = shipped("asnets", name)
    content = own.file.read_bytes()
    assert own.file == SHIPPED / "asnets" / own.card["policy"]
    assert len(content) == own.card["bytes"] < 200_000
    assert hashlib.sha256(content).hexdigest() == own.card["digest"]
    assert own.card["command"].startswith(f"misstep train asnet {name}-")
    assert f"--seed {own.card['seed']} " in own.card["command"]
    held_out = own.card["held_out"]
    assert held_out["tasks"] == len(held_out["names"])
    assert held_out["coverage"] > held_out["tasks"] / 2  # good enough,
    assert held_out["bugs"] > 0  # and not perfect
    text = own.file.with_suffix(".md").read_text(encoding="utf-8")
    assert own.card["command"] in text


@EACH
def test_it_solves_what_it_was_trained_on(name: str) -> None:
    own = shipped("asnets", name)
    assert own.card["training"]["success"] == 1
    for instance in own.card["training"]["tasks"]:
        task = task_named(instance)
        policy = load_policy(f"shipped:{name}", task)
        assert (policy.name, policy.digest) == (f"shipped:{name}", own.card["digest"])
        assert run_once(policy, task.initial_state).outcome == "goal"


@EACH
def test_the_bugs_of_the_card(name: str) -> None:
    """The native network gives the same bits everywhere, and the test is limited by steps."""
    own = shipped("asnets", name)
    how = own.card["test"]
    settings = TestSettings(pool_size=how["pool"], seed=how["seed"], oracle=how["oracle"])
    weak = own.card["known_weaknesses"]["bugs"]
    instance = min(weak, key=lambda name: (len(name), name))  # the smaller sizes have fewer digits
    task = task_named(instance)
    found = TestedTask(task, settings).test(load_policy(f"shipped:{name}", task), check=True)
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
    for spec in ("shipped:chess", "shipped:", "shipped"):
        with pytest.raises(UsageError, match=r"is shipped; expected one of blocksworld, ferry"):
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
