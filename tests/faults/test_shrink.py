"""The last bug of a run, with oracles that know everything, and with oracles that do not."""

from __future__ import annotations

import math

import pytest

from misstep.faults.regret import exact_regrets
from misstep.faults.shrink import last_bug
from misstep.runs.runner import Trace
from misstep.tasks.task import State
from support.worlds import COSTS, NAMES, POLICIES, World, world


def gaps(here: World, trace: Trace) -> list[float]:
    """Of the states of a run; those of a loop without the one that closes it."""
    costs = [0.0 if trace.outcome == "goal" else math.inf]
    for op in reversed(trace.operators):
        costs.insert(0, costs[0] + here.task.cost(op))
    truth = [here.h_star(state) for state in trace.states]
    found = [0 if math.isinf(h) else cost - h for cost, h in zip(costs, truth, strict=True)]
    return found[:-1] if trace.outcome == "loop" else found


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", NAMES)
def test_the_last_bug(name: str, costs: tuple[int, ...]) -> None:
    here = world(name, costs)
    for spec in POLICIES:
        runner = here.runner(spec)
        for state in here.states(40):
            trace = runner.trace(state, max_steps=None)
            truth = gaps(here, trace)
            assert truth == sorted(truth, reverse=True)
            by_state = {s: gap > 0 for s, gap in zip(trace.states, truth, strict=False)}
            expected = max((k for k, gap in enumerate(truth) if gap > 0), default=None)
            shrunk = last_bug(trace, by_state.__getitem__)
            assert (None if shrunk is None else shrunk.step) == expected
            if shrunk is not None:
                assert shrunk.state == trace.states[shrunk.step]
                assert shrunk.questions <= 1 + math.ceil(math.log2(len(truth) + 1))
                if shrunk.tight and trace.outcome != "error":
                    regrets = exact_regrets(here.task, trace, here.h_star)
                    assert regrets.decisions[shrunk.step].low == truth[shrunk.step]

            # An oracle that decides two of three states only.
            def partly(s: State, by_state: dict[State, bool] = by_state) -> bool | None:
                return None if hash(s) % 3 == 0 else by_state[s]

            last = [k for k, gap in enumerate(truth) if gap > 0 and partly(trace.states[k])]
            shrunk = last_bug(trace, partly)
            assert (None if shrunk is None else shrunk.step) == (last[-1] if last else None)
            assert shrunk is None or not shrunk.tight or shrunk.step == expected


def test_questions_can_be_limited() -> None:
    here = world("gripper-4", ())
    trace = here.runner("first").trace(here.task.initial_state)
    assert last_bug(trace, lambda _: True, max_questions=0) is None
    once = last_bug(trace, lambda _: True, max_questions=1)
    assert once is not None
    assert (once.questions, once.tight) == (1, False)
