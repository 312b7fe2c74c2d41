"""The deciders of solvability agree with exhaustive search, state by state."""

from __future__ import annotations

from pathlib import Path

import pytest

import misstep
from misstep.errors import UnsupportedError
from misstep.oracles.solvability.oracle import decider_of
from misstep.oracles.solvability.situation import Reader, Situation
from misstep.oracles.solvability.spanner import decide as decide_spanner
from misstep.tasks.domains import generate
from misstep.tasks.load import load_task
from misstep.tasks.task import State, Task

TOYS = [
    ("spanner", {"spanners": 3, "nuts": 2, "locations": 2}),
    ("matching-blocksworld", {"blocks": 3}),
    ("floortile", {"width": 2, "height": 2, "robots": 1}),
    ("floortile", {"width": 3, "height": 1, "robots": 2}),
]


def reachable(task: Task, most: int) -> dict[State, list[State]] | None:
    """All states with their successors; None if there are more than `most`."""
    successors: dict[State, list[State]] = {}
    waiting = [task.initial_state]
    while waiting:
        state = waiting.pop()
        if state in successors:
            continue
        successors[state] = [task.apply(state, op) for op in task.applicable(state)]
        waiting += successors[state]
        if len(successors) > most:
            return None
    return successors


def solvable_states(task: Task, successors: dict[State, list[State]]) -> set[State]:
    before: dict[State, list[State]] = {}
    for state, following in successors.items():
        for other in following:
            before.setdefault(other, []).append(state)
    found = {state for state in successors if task.is_goal(state)}
    waiting = list(found)
    while waiting:
        for state in before.get(waiting.pop(), ()):
            if state not in found:
                found.add(state)
                waiting.append(state)
    return found


def compare(task: Task, most: int = 200_000, stride: int = 1) -> tuple[int, int]:
    """Compare the decider with the truth on the states of a task; returns how many are solvable and how many not."""
    successors = reachable(task, most)
    assert successors is not None
    truth = solvable_states(task, successors)
    reader, decide = Reader(task), decider_of(task)
    for state in list(successors)[::stride]:
        steps = decide(reader.situation(state))
        assert (steps is not None) == (state in truth), task.fact_names
        if steps is not None:
            for operator in reader.operators(state, steps):
                assert operator in task.applicable(state)
                state = task.apply(state, operator)
            assert task.is_goal(state)
    return len(truth), len(successors) - len(truth)


@pytest.mark.parametrize(("name", "sizes"), TOYS)
def test_toys_are_decided_as_by_exhaustive_search(name: str, sizes: dict[str, int]) -> None:
    solvable, others = compare(load_task(generate(name, **sizes)), stride=7)
    assert min(solvable, others) > 0


@pytest.mark.soundness
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("spanner", {"spanners": 4, "nuts": 3, "locations": 3}),
        ("matching-blocksworld", {"blocks": 3}),
        ("floortile", {"width": 2, "height": 2, "robots": 2}),
        ("floortile", {"width": 3, "height": 2, "robots": 1}),
        ("floortile", {"width": 3, "height": 1, "robots": 2}),
    ],
)
def test_random_tasks_are_decided_as_by_exhaustive_search(
    name: str, sizes: dict[str, int], seed: int
) -> None:
    solvable, others = compare(load_task(generate(name, seed=seed, **sizes)), stride=5)
    assert min(solvable, others) > 0


@pytest.mark.parametrize("domain", ["floortile", "spanner"])
def test_the_files_of_the_competition_are_read(domain: str, shared: Path) -> None:
    folder = shared / "benchmarks" / "ipc23-learning" / domain
    task = load_task(folder / "domain.pddl", folder / "training" / "easy" / "p01.pddl")
    reader, decide = Reader(task), decider_of(task)
    steps = decide(reader.situation(task.initial_state))
    assert steps is not None
    state = task.initial_state
    for operator in reader.operators(state, steps):
        state = task.apply(state, operator)
    assert task.is_goal(state)


def test_spanner_counts_the_spanners_up_to_each_nut() -> None:
    path = [("link", "a", "b"), ("link", "b", "c")]
    objects = {"man": ("bob",)}
    goal = [("tightened", "n1"), ("tightened", "n2")]
    late = [*path, ("at", "bob", "a"), ("at", "n1", "b"), ("at", "n2", "c"), ("usable", "s1")]
    late += [
        ("usable", "s2"),
        ("at", "s1", "c"),
        ("at", "s2", "c"),
        ("loose", "n1"),
        ("loose", "n2"),
    ]
    assert decide_spanner(Situation(late, goal, objects)) is None
    early = [("at", "s1", "b") if fact == ("at", "s1", "c") else fact for fact in late]
    assert decide_spanner(Situation(early, goal, objects)) is not None


def with_problem(domain: str, changes: dict[str, str], folder: Path, **sizes: int) -> Task:
    """A generated task with some of its lines changed."""
    instance = generate(domain, **sizes)
    problem = instance.problem_pddl
    for old, new in changes.items():
        assert old in problem
        problem = problem.replace(old, new)
    (folder / "domain.pddl").write_text(instance.domain_pddl)
    (folder / "problem.pddl").write_text(problem)
    return load_task(folder / "domain.pddl", folder / "problem.pddl")


def test_any_hand_of_a_block_s_polarity_matches(tmp_path: Path) -> None:
    """With a second positive hand, a block that it holds is not as good as broken."""
    third = {
        "hand-positive hand-negative - hand": "hand-positive hand-negative spare - hand",
        "(empty hand-positive)": "(empty hand-positive) (empty spare) (hand-positive spare)",
    }
    task = with_problem("matching-blocksworld", third, tmp_path, blocks=2)
    solvable, others = compare(task)
    assert min(solvable, others) > 0


def test_a_nut_that_is_not_loose_is_never_tightened(tmp_path: Path) -> None:
    changes = {"(loose nut1)": ""}
    task = with_problem("spanner", changes, tmp_path, spanners=2, nuts=2, locations=2)
    assert compare(task)[0] == 0


def test_a_task_of_an_unusual_form_ends_no_campaign(tmp_path: Path) -> None:
    """A tile beside which there is no other, as the file has it, cannot be painted, and the decider says nothing."""
    changes = {"(above tile2-0 tile1-0)": "", "(right-of tile2-1 tile2-0)": ""}
    task = with_problem("floortile", changes, tmp_path, width=2, height=2, robots=1)
    campaign = misstep.test(task, "first", oracle="perfect", objective="goal", pool=5, seed=1)
    assert {record.verdict for record in campaign.records} <= {"UNKNOWN", "OPTIMAL"}


def test_other_domains_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="not known how to decide"):
        decider_of(load_task(generate("gripper")))


TWICE = ("(not (usable ?s))", "")  # a spanner can be used again
FLYING = (
    "(:action walk",
    "(:action fly :parameters (?m - man ?from ?to - location) :precondition (at ?m ?from)"
    " :effect (and (at ?m ?to) (not (at ?m ?from)))) (:action walk",
)


@pytest.mark.parametrize(("old", "new"), [TWICE, FLYING])
def test_a_domain_with_the_same_names_and_other_actions_is_refused(
    old: str, new: str, tmp_path: Path
) -> None:
    """Such tasks may have more plans, so the decider could call a solvable state unsolvable."""
    instance = generate("spanner", spanners=2, nuts=2, locations=2)
    assert old in instance.domain_pddl
    (tmp_path / "domain.pddl").write_text(instance.domain_pddl.replace(old, new))
    (tmp_path / "problem.pddl").write_text(instance.problem_pddl)
    task = load_task(tmp_path / "domain.pddl", tmp_path / "problem.pddl")
    with pytest.raises(UnsupportedError, match="not known how to decide"):
        decider_of(task)


def test_a_verdict_of_the_oracle_rests_on_its_plan() -> None:
    task = generate("spanner", spanners=2, nuts=2, locations=2)
    campaign = misstep.test(task, "random:1", oracle="perfect", objective="goal", pool=30, seed=1)
    verdicts = {record.verdict for record in campaign.records}
    assert verdicts == {"BUG", "OPTIMAL"}
    assert all(r.witness.type == "plan" for r in campaign.records if r.verdict == "BUG")
