"""New decisions of a policy on a planning task, in states that the campaign has not tested.

If all states of a task can be enumerated, states are drawn uniformly without repetition, so that a share among them
estimates the share among all reachable states. On a larger task, a draw is a random walk from the initial state,
followed by the policy's run from its end. Only one decision of a draw counts if it fits a description, because
neighbours on one run are not independent. The share is then an estimate for states that such walks and runs meet.
States where the policy gives no answer in time do not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from misstep._core import CounterRandom
from misstep.policies.policy import TIMED_OUT, Policy
from misstep.runs.outcomes import STOPPING
from misstep.runs.runner import PolicyRunner
from misstep.tasks.census import small_task
from misstep.tasks.task import State, Task

BATCH = 256
MOST_STATES = 20_000  # drawn from one small task
MOST_WALKS = 2_000  # on one large task
LONGEST_WALK = 60
LONGEST_RUN = 200
_STREAM = 0x6661  # so that no walk is one of the fuzzer's


class Fresh(NamedTuple):
    """A state and the policy's operator there; None if it stops, crashes, or chooses an inapplicable operator."""

    state: State
    operator: int | None


def fresh_decisions(
    task: Task,
    policy: Policy,
    known: set[tuple[int, ...]],
    seed: int,
) -> Iterator[list[Fresh]]:
    """Draws, each a list of decisions; `known` are the states that do not count."""
    runner = PolicyRunner(policy)
    small = small_task(task)
    if small is None:
        yield from _walks(task, runner, set(known), seed)
        return
    random = CounterRandom(seed, _STREAM)
    order = list(range(len(small.space)))
    waiting: list[State] = []
    for drawn in range(min(len(order), MOST_STATES)):
        # The shuffle of Fisher and Yates, as far as it is needed.
        other = drawn + random.below(len(order) - drawn)
        order[drawn], order[other] = order[other], order[drawn]
        state = small.space.state(order[drawn])
        if state.values not in known and not task.is_goal(state):
            waiting.append(state)
        if len(waiting) == BATCH:
            yield from _asked(runner, waiting)
            waiting = []
    if waiting:
        yield from _asked(runner, waiting)


def _asked(runner: PolicyRunner, states: list[State]) -> Iterator[list[Fresh]]:
    ids = runner.graph.add(np.array([state.values for state in states], dtype=np.int32))
    runner.ask(ids)
    decisions = runner.graph.decisions(ids).tolist()
    successors = runner.graph.successors(ids).tolist()
    for state, operator, successor in zip(states, decisions, successors, strict=True):
        if operator == TIMED_OUT:
            continue  # nobody knows what it would do
        applies = operator >= 0 and successor >= 0
        yield [Fresh(state, operator if applies else None)]


def _walks(
    task: Task, runner: PolicyRunner, known: set[tuple[int, ...]], seed: int
) -> Iterator[list[Fresh]]:
    for number in range(MOST_WALKS):
        random = CounterRandom(seed, _STREAM + 1 + number)
        state = task.initial_state
        for _ in range(random.below(LONGEST_WALK + 1)):
            operators = task.applicable(state)
            if not operators:
                break
            state = task.apply(state, operators[random.below(len(operators))])
        if task.is_goal(state):
            continue
        trace = runner.trace(state, LONGEST_RUN)
        chosen: list[int | None] = [*trace.operators]
        if trace.outcome in STOPPING:
            chosen.append(None)
        found = []
        for own, operator in zip(trace.states, chosen, strict=False):
            if own.values not in known:
                known.add(own.values)
                found.append(Fresh(own, operator))
        # In random order, so that the first decision that fits is a random one.
        for k in range(len(found) - 1, 0, -1):
            other = random.below(k + 1)
            found[k], found[other] = found[other], found[k]
        yield found


__all__ = ["Fresh", "fresh_decisions"]
