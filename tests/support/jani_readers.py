"""Whether the two readers of JANI models say the same."""

from __future__ import annotations

from misstep.checking.jani import SafetyTask, State
from misstep.tasks.jani.task import JaniTask

MOST = 1000  # states that are compared


def agrees(task: JaniTask, most: int = MOST) -> int:
    """Compare everything that can be asked about reachable states; how many there are."""
    plain = SafetyTask.from_source(task.source)
    assert tuple(plain.labels) == task.labels
    assert tuple(slot.name for slot in plain.model.slots) == task.variable_names
    starts = task.initial_states()
    assert all(plain.is_start(state) for state in starts)
    states, known = list(starts), set(starts)
    for state in states:  # grows
        assert plain.read_state(list(state)) == state
        assert plain.is_unsafe(state) == task.is_unsafe(state)
        assert (plain.is_goal(state) and not plain.is_unsafe(state)) == task.is_goal(state)
        assert plain.is_start(state) == (state in starts)
        if task.is_unsafe(state) or task.is_goal(state):
            continue
        same_outcomes(task, plain, state)
        assert plain.model.is_dead_end(state) == task.is_dead_end(state)
        for label in task.applicable(state):
            for outcome in task.outcomes(state, label):
                if outcome not in known and len(states) < most:
                    known.add(outcome)
                    states.append(outcome)
    return len(states)


def same_outcomes(task: JaniTask, plain: SafetyTask, state: State) -> None:
    for number in range(len(task.labels)):
        outcomes = plain.model.outcomes_of(state, number)
        expected = task.outcomes(state, number)
        assert len(set(outcomes)) == len(outcomes)
        # By text: 1, 1.0 and True are equal in Python.
        assert sorted(map(repr, outcomes)) == sorted(map(repr, expected))
        assert plain.model.is_applicable(state, number) == (number in task.applicable(state))


__all__ = ["agrees", "same_outcomes"]
