"""Check in plain Python that a shared strategy is safe: every state is checked once for all records that rest on it.

A strategy is safe if no state of it is unsafe or an end of runs, if the label of each applies, and if each outcome is
a state of it again, or a goal, or a dead end: then its runs stay in it until they end well, whatever the outcomes are.
The successors that the strategy lists for its states must be the real ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from misstep.checking.errors import CheckError
from misstep.checking.jani import SafetyTask, State
from misstep.checking.shared import SharedStrategy


def closed_problem(task: SafetyTask, strategy: SharedStrategy) -> str | None:
    """The error in a strategy that was read from a file, or None."""
    if len(strategy.columns) != len(task.model.slots):
        return f"its states have {len(strategy.columns)} values, not {len(task.model.slots)}"
    try:
        derived = successors(task, strategy.states, strategy.labels)
    except CheckError as error:
        return str(error)
    for number, targets in enumerate(derived):
        if targets != list(strategy.successors(number)):
            label = task.labels[strategy.labels[number]]
            return f"state {number}: {label} does not lead where the strategy says"
    return None


def successors(task: SafetyTask, states: Sequence[State], labels: Sequence[int]) -> list[list[int]]:
    """Where each state leads within the strategy, in ascending order; an error if the strategy is not safe."""
    numbers = {state: number for number, state in enumerate(states)}
    if not states:
        raise CheckError("it has no state")
    if len(numbers) != len(states):
        raise CheckError("it has a state twice")
    ends: dict[State, str | None] = {}
    found = []
    for number, (state, label) in enumerate(zip(states, labels, strict=True)):
        try:
            found.append(_targets(task, state, label, numbers, ends))
        except CheckError as error:
            raise CheckError(f"state {number}: {error}") from None
    return found


def _targets(
    task: SafetyTask,
    state: State,
    label: int,
    numbers: dict[State, int],
    ends: dict[State, str | None],
) -> list[int]:
    if list(map(repr, task.read_state(state))) != list(map(repr, state)):
        raise CheckError(
            "it is not a state of the model"
        )  # true and 1 are equal in Python, but not here
    if task.is_unsafe(state):
        raise CheckError("it is unsafe")
    if task.is_goal(state):
        raise CheckError("it is a goal, where nothing is to be done")
    if not 0 <= label < len(task.labels):
        raise CheckError(f"there is no label {label}")
    outcomes = task.model.outcomes_of(state, label)
    if not outcomes:
        raise CheckError(f"{task.labels[label]} does not apply")
    targets = []
    for outcome in outcomes:
        if outcome in numbers:
            targets.append(numbers[outcome])
            continue
        if outcome not in ends:
            ends[outcome] = end_problem(task, outcome)
        if (problem := ends[outcome]) is not None:
            raise CheckError(f"{task.labels[label]} leads to a state that {problem}")
    return sorted(targets)


def end_problem(task: SafetyTask, state: State) -> str | None:
    """The reason why a run must not end in a state for which the strategy has no label."""
    if task.is_unsafe(state):
        return "is unsafe"
    if task.is_goal(state) or task.model.is_dead_end(state):
        return None
    return "has no label in the strategy"


__all__ = ["closed_problem", "end_problem", "successors"]
