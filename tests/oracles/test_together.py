"""The runs that oracles will need are made together, without an effect on verdicts."""

from __future__ import annotations

import pytest

from misstep.fuzzing.fuzz import fuzz
from misstep.fuzzing.settings import preset
from misstep.oracles.grammar import read_oracle
from misstep.oracles.testing import TestLoop, TestState
from misstep.oracles.together import Runs, run_together
from misstep.oracles.workbench import Workbench
from misstep.policies.load import load_policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import Task
from support.fuzzing import InPython
from support.tasks import rows, small_task

SPEC = "noisy:0.2:3+heuristic:ff"


def judged(task: Task, oracle: str, batch_size: int | None) -> tuple[list[object], list[int]]:
    """Verdicts with their efforts, and the sizes of the batches."""
    pool = fuzz(task, None, preset("p24", bias="none", max_states=30), 1)
    policy = InPython(load_policy(SPEC, task))
    loop = TestLoop(Workbench(PolicyRunner(policy, batch_size=batch_size)), read_oracle(oracle))
    for _ in loop.run([TestState(state) for state in pool.states]):
        pass
    verdicts: list[object] = [
        (v.status, v.gap, v.oracle, v.witness, v.limits, v.effort.expansions)
        for v in (tested.verdict for tested in loop.settle())
    ]
    return verdicts, policy.batches


@pytest.mark.parametrize("name", ["ferry-3", "transport-2", "blocksworld-4"])
@pytest.mark.parametrize(
    "oracle",
    [
        "lookahead(2)",
        "undo | lookahead(2, leaves=5)",
        "elimination, lookahead(1)",
        "lookahead(2, expansions=3)/lookahead(1)",
    ],
)
def test_runs_made_together_do_not_change_verdicts(name: str, oracle: str) -> None:
    task = small_task(name)
    alone, single = judged(task, oracle, 1)
    together, batches = judged(task, oracle, None)
    assert together == alone
    assert len(batches) < len(single)


def test_the_runs_of_several_states_are_asked_for_in_one_batch() -> None:
    """There are far fewer calls than states, and at most a quarter more questions than needed."""
    task = small_task("ferry-3")
    _, single = judged(task, "lookahead(2)", 1)
    _, batches = judged(task, "lookahead(2)", None)
    assert len(batches) < len(single) / 5
    assert sum(single) <= sum(batches) <= 1.25 * sum(single)


def test_runs_are_followed_only_as_far_as_they_are_needed() -> None:
    task = small_task("gripper-4")
    policy = InPython(load_policy("optimal", task))
    runner = PolicyRunner(policy)
    state = rows([task.initial_state])
    run_together(runner, [Runs(state, 2), Runs(state, 3)])
    assert policy.batches == [1, 1, 1]
    run_together(runner, [Runs(state, None)])
    assert sum(policy.batches) == len(runner.trace(task.initial_state).operators)
    run_together(runner, [])
