"""Conditions that are evaluated together give the same values as one by one, so families are the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from comparison.families.test_conditions import SIZES, walked
from misstep._core import CounterRandom
from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.testing import test as run_test
from misstep.comparison.families import find
from misstep.comparison.families.conditions import Condition, Decided, Possible, Property
from misstep.comparison.families.ground import Ground, Scene
from misstep.comparison.families.language import conditions, domain_of
from misstep.comparison.families.learn import Truth
from misstep.comparison.families.sheet import Sheet
from misstep.tasks.domains import generate
from misstep.tasks.load import load_task
from misstep.tasks.task import Task
from support.made_up import large_campaign


def one_by_one(tried: Sequence[Condition], decided: Sequence[Decided]) -> Truth:
    truth = np.empty((len(decided), len(tried)), dtype=np.bool_)
    for row, own in enumerate(decided):
        truth[row] = [condition.holds(own) for condition in tried]
    return truth


def decisions(task: Task, ground: Ground, count: int, seed: int) -> list[Decided]:
    random = CounterRandom(seed, 6)
    found: list[Decided] = []
    while len(found) < count:
        state = walked(task, random, random.below(12))
        operators = task.applicable(state)
        stops = not operators or random.below(5) == 0
        operator = None if stops else operators[random.below(len(operators))]
        found.append(Decided(Scene(ground, state.values), operator))
    return found


def compare(task: Task, count: int, seed: int) -> None:
    ground = Ground(task)
    domain = domain_of([ground])
    made = decisions(task, ground, count, seed)
    for chosen in [None, *sorted(domain.schemas)]:
        for better in [None, *sorted(domain.schemas)]:
            tried = conditions(domain, chosen, better)
            # Decisions of other schemas as well: they have fewer or more arguments than the conditions expect.
            assert (Sheet(tried).truth(made) == one_by_one(tried, made)).all(), (chosen, better)


@pytest.mark.parametrize("name", ["gripper", "transport"])
def test_all_at_once_is_one_by_one(name: str) -> None:
    compare(load_task(generate(name, seed=1, **SIZES[name])), 6, 1)


def test_a_task_without_files() -> None:
    task = load_task(generate("ferry", seed=2, **SIZES["ferry"]))
    compare(Task(task.sas, name="spelled-out"), 6, 2)


@pytest.mark.soundness
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sorted(SIZES))
def test_all_at_once_is_one_by_one_everywhere(name: str, seed: int) -> None:
    task = load_task(generate(name, seed=seed, **SIZES[name]))
    compare(task, 20, seed)
    compare(Task(task.sas, name="spelled-out"), 20, seed)


def ragged() -> Task:
    """A task whose operators of one schema have different numbers of arguments, none at all among them."""
    lines = ["begin_version", "3", "end_version", "begin_metric", "0", "end_metric", "1"]
    lines += ["begin_variable", "var0", "-1", "4", *(f"Atom at(p{k}, q{k % 2})" for k in range(4))]
    lines += ["end_variable", "0", "begin_state", "0", "end_state", "begin_goal", "1", "0 3"]
    lines += ["end_goal", "4"]
    for k, text in enumerate(["go", "go p1", "go p2 q0", "stay p0 q1 extra"]):
        lines += ["begin_operator", text, "0", "1", f"0 0 -1 {k}", str(k), "end_operator"]
    return Task("\n".join([*lines, "0", ""]).encode(), name="ragged")


def test_operators_of_a_schema_may_have_different_numbers_of_arguments() -> None:
    compare(ragged(), 12, 3)
    task = ragged()
    ground = Ground(task)
    tried = [Possible("go", own=((1, Property("at", place=1, arity=2)),)), Possible("nothing-such")]
    made = decisions(task, ground, 4, 1)
    with pytest.raises(ValueError, match="more than one schema"):
        Sheet(tried)
    assert not Sheet(tried[1:]).truth(made).any()
    assert (Sheet(tried[:1]).truth(made) == one_by_one(tried[:1], made)).all()


class OneByOne:
    """Stands in for the sheet."""

    def __init__(self, tried: Sequence[Condition]) -> None:
        self.tried = tried

    def truth(self, decided: Sequence[Decided]) -> Truth:
        return one_by_one(self.tried, decided)


def test_families_are_the_same_bit_for_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = []
    for seed in (1, 2):
        tasks.append(load_task(generate("gripper", balls=2, scatter=50, seed=seed)))
        tasks[-1].name = f"gripper-{seed}"
    real = run_test(tasks, "noisy:0.3:1+heuristic:ff", pool=20)
    made_up = open_campaign(large_campaign(tmp_path / "c", 24, tasks=2))
    for campaign in (real, made_up):
        fast = find.find_families(campaign.tasks, campaign.records)
        with monkeypatch.context() as patch:
            patch.setattr(find, "Sheet", OneByOne)
            slow = find.find_families(campaign.tasks, campaign.records)
        assert fast
        assert repr(fast) == repr(slow)
    assert any(family.conditions for family in real.families)
