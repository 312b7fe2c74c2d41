"""Rule policies: what they permit agrees with the naive version, and those of the zoo with the truth."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from misstep.errors import UnsupportedError
from misstep.policies import zoo
from misstep.policies.conformance import check_policy
from misstep.policies.load import load_policy
from misstep.policies.policy import NO_ACTION, Candidates
from misstep.policies.rules import RulePolicy, RuleSet, parse_rules
from misstep.runs.single import run_once
from misstep.tasks.census import state_space
from misstep.tasks.task import State, Task
from support.rules import NaiveRules, RandomRules
from support.tasks import SMALL, rows, small_task, walk

ZOO = Path(zoo.__file__).parent


def compare(task: Task, rules: RuleSet, states: list[State]) -> int:
    """How many states some rule decides in; fails where the policy and the twin differ."""
    twin = NaiveRules(task, rules)
    expected = [twin.instances(state) for state in states]
    first = RulePolicy(task, rules).decide(rows(states)).operators.tolist()
    assert first == [found[0] if found else NO_ACTION for found in expected]
    everything = RulePolicy(task, rules, choose="all")
    offsets, operators = everything.permitted(rows(states))
    for row, found in enumerate(expected):
        assert operators[offsets[row] : offsets[row + 1]].tolist() == sorted(set(found))
    assert everything.decide(rows(states)).operators.tolist() == first
    return sum(map(bool, expected))


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("gripper-4-scattered", "gripper"),
        ("ferry-3", "ferry"),
        ("spanner-3", "spanner"),
    ],
)
def test_the_zoo_as_the_naive_twin_reads_it(name: str, file: str) -> None:
    task = small_task(name)
    space = state_space(task)
    rules = parse_rules((ZOO / f"{file}.rules").read_text())
    assert compare(task, rules, [space.state(i) for i in range(len(space))]) > 10


@pytest.mark.parametrize("name", sorted(SMALL))
def test_random_rules(name: str) -> None:
    task = small_task(name)
    decided = 0
    for seed in range(4):
        rules = RandomRules(task.lifted, seed).rule_set()
        assert parse_rules(str(rules)) == rules
        decided += compare(task, rules, walk(task, 4, seed=seed))
    assert decided


@pytest.mark.soundness
@pytest.mark.parametrize("name", ["gripper-4", "ferry-3", "spanner-3", "blocksworld-4"])
def test_random_rules_in_all_states(name: str) -> None:
    task = small_task(name)
    space = state_space(task)
    states = [space.state(i) for i in range(len(space))]
    decided = [
        compare(task, RandomRules(task.lifted, seed).rule_set(), states) for seed in range(100, 110)
    ]
    assert 0 < sum(decided) < 10 * len(states)


# How often runs end in which way, from all states that are no goals and have a plan.
TRUTH = {
    ("gripper-4", "gripper"): {"optimal": 254},
    ("gripper-4-scattered", "gripper"): {"optimal": 254},
    ("ferry-3", "ferry"): {"optimal": 75, "costly": 14, "loop": 70},
    ("spanner-3", "spanner"): {"optimal": 26, "stuck": 9},
}


@pytest.mark.parametrize(("name", "file"), TRUTH)
def test_the_bugs_of_the_zoo_are_known(name: str, file: str) -> None:
    task = small_task(name)
    policy = load_policy(f"rules:{ZOO / file}.rules", task)
    space = state_space(task)
    found: Counter[str] = Counter()
    for number, distance in enumerate(space.h_star.tolist()):
        state = space.state(number)
        if not task.is_goal(state) and np.isfinite(distance):
            run = run_once(policy, state)
            good = "optimal" if run.cost == distance else "costly"
            found[good if run.outcome == "goal" else run.outcome] += 1
    assert found == TRUTH[name, file]


def test_a_set_valued_policy_permits_all_instances() -> None:
    task = small_task("gripper-4")
    policy = load_policy(f"rules:--choose=all {ZOO / 'gripper.rules'}", task)
    assert isinstance(policy, RulePolicy)
    assert (policy.set_valued, policy.chooser) == (True, None)
    own = policy.permitted(rows([task.initial_state]))
    names = sorted(task.operator_name(op) for op in own.operators)
    assert names == sorted(
        f"pick ball{i} room-a {g}" for i in range(1, 5) for g in ("left", "right")
    )
    assert policy.permitted(rows([])[:0].reshape(0, task.variable_count)).offsets.tolist() == [0]
    rule = policy.rule_of(task.initial_state)
    assert rule is not None
    assert rule.name == "take-what-lies-wrong"


def test_with_a_chooser_it_is_an_ordinary_policy_that_chooses_among_candidates() -> None:
    task = small_task("gripper-4")
    policy = load_policy(f"rules:{ZOO / 'gripper.rules'}", task)
    assert isinstance(policy, RulePolicy)
    assert (policy.set_valued, policy.chooser, policy.chooses) == (False, "first", True)
    state = rows([task.initial_state])
    with pytest.raises(UnsupportedError):
        policy.permitted(state)
    (first,) = policy.decide(state).operators.tolist()
    assert task.operator_name(first) == "pick ball1 room-a left"
    others = [op for op in task.applicable(task.initial_state) if op != first]
    own = Candidates(np.array([0, len(others)]), np.array(others, dtype=np.int32))
    (second,) = policy.decide(state, own).operators.tolist()
    assert task.operator_name(second) == "pick ball1 room-a right"
    assert check_policy(lambda: load_policy(policy.name, task), states=50)[1] == []


def test_layout_and_comments_do_not_count(tmp_path: Path) -> None:
    task = small_task("gripper-4")
    original = load_policy(f"rules:{ZOO / 'gripper.rules'}", task)
    assert isinstance(original, RulePolicy)
    copy = tmp_path / "copy.rules"
    copy.write_text(str(original.rules).upper())
    other = load_policy(f"rules:{copy}", task)
    assert other.digest == original.digest
    assert load_policy(f"rules:--choose=all {copy}", task).digest != original.digest
    copy.write_text(str(original.rules).replace("(not (goal (at ?b ?r)))", "(goal (at ?b ?r))"))
    assert load_policy(f"rules:{copy}", task).digest != original.digest


def test_a_rule_without_variables_and_conditions() -> None:
    task = small_task("gripper-4")
    text = "(define (policy p) (:domain gripper) (:rule go :action (move room-a room-b)))"
    policy = RulePolicy(task, parse_rules(text))
    move = task.resolve("move room-a room-b", task.initial_state)
    there = task.apply(task.initial_state, move)
    answers = policy.decide(rows([task.initial_state, there]))
    assert answers.operators.tolist() == [move, NO_ACTION]
