"""Do families of bugs say what is wrong? Rule policies with one planted mistake, whose description is known.

The description that is found is compared with the known one on every reachable state from where the goal can be
reached: it has to fit the same decisions, but for a few.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.testing import test as run_test
from misstep.comparison.families.conditions import Decided
from misstep.comparison.families.find import Described, describe
from misstep.comparison.families.ground import Ground, Scene
from misstep.policies.function import StateView
from misstep.policies.load import load_policy
from misstep.policies.policy import Policy
from misstep.runs.runner import ask
from misstep.tasks.domains import generate
from misstep.tasks.load import load_task
from misstep.tasks.task import State, Task
from support.family_plants import MISTAKES, Mistake
from support.planted import PERFECT, PlanningTruth


def campaign_on(mistake: Mistake, folder: Path) -> tuple[Campaign, Any]:
    """A campaign, and what its policy is loaded from."""
    tasks = []
    for number, sizes in enumerate(mistake.sizes):
        task = load_task(generate(mistake.domain, seed=1, **sizes))
        task.name = f"p{number}"
        tasks.append(task)
    source: Any
    if isinstance(mistake.rules, str):
        file = folder / "mutant.rules"
        file.write_text(mistake.rules)
        source = f"rules:{file}"
    else:
        truths = {task.digest: PlanningTruth(task) for task in tasks}
        wrong = mistake.rules

        def source(view: StateView) -> Any:
            truth = truths[view.task.digest]
            choice = wrong(view, truth)
            return truth.best(view) if choice is PERFECT else choice

    return run_test(tasks, source, pool=mistake.pool, seed=0), source


def agreement(mistake: Mistake, own: Described, task: Task, source: Any) -> tuple[int, int]:
    """On how many decisions both descriptions fit, and on how many one of them does."""
    truth, policy, ground = PlanningTruth(task), load_policy(source, task), Ground(task)
    assert isinstance(policy, Policy)
    space = truth.space
    decisions = ask(policy, np.array([space.state(n).values for n in range(len(space))])).operators
    both = either = 0
    for number, decision in enumerate(decisions.tolist()):
        state: State = space.state(number)
        if task.is_goal(state) or math.isinf(truth.distance(state)):
            continue
        operator = decision if decision >= 0 else None
        chosen = None if operator is None else ground.operator(operator)[0]
        if own.schemas[0] is not None and chosen != own.schemas[0]:
            continue
        view = StateView(state, task)
        action = None if operator is None else task.vocabulary.action(operator)
        told = Decided(Scene(ground, state.values), operator if own.schemas[0] else None)
        fits = all(condition.holds(told) == positive for condition, positive in own.rule)
        right = mistake.intended(view, action)
        both += fits and right
        either += fits or right
    return both, either


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda own: own.name.replace(" ", "-"))
def test_the_right_description_is_found(mistake: Mistake, tmp_path: Path) -> None:
    campaign, source = campaign_on(mistake, tmp_path)
    found = describe(campaign.tasks, campaign.records)
    own = next(one for one in found if one.family.signature == mistake.signature and one.rule)
    print([one.family.sentence for one in found])
    counts = [
        agreement(mistake, own, task, source) for task in campaign.tasks if isinstance(task, Task)
    ]
    both, either = (sum(column) for column in zip(*counts, strict=True))
    assert both >= 0.85 * either > 0, (both, either, own.family.sentence)
    for words in mistake.words:
        assert words in own.family.sentence, own.family.sentence
