"""The first half of an epoch: run the policy on the training tasks and ask the teacher about the states it visits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from misstep._core import CounterRandom
from misstep.errors import UsageError
from misstep.policies.policy import Policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import State, Task
from misstep.training.samples import Samples
from misstep.training.teachers import Teacher

ROLLOUT_STEPS = 1000
WALK_STEPS = 5


@dataclass(frozen=True)
class Exploration:
    """How the data grows in an epoch."""

    rollout_steps: int = ROLLOUT_STEPS
    walks: int = 0  # random walks from the run on each task, whose ends are asked about too
    walk_steps: int = WALK_STEPS

    def __post_init__(self) -> None:
        for name, least in (("rollout_steps", 1), ("walks", 0), ("walk_steps", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"{name} is {getattr(self, name)}", expected=f"{least} or more")


def explore(
    policies: Sequence[Policy],
    teachers: Sequence[Teacher],
    samples: Samples,
    settings: Exploration,
    seed: int,
) -> int:
    """Add samples for the states that the policies visit. Returns how many are new."""
    new = 0
    for t, (policy, teacher) in enumerate(zip(policies, teachers, strict=True)):
        trace = PolicyRunner(policy).trace(policy.task.initial_state, settings.rollout_steps)
        states = list(dict.fromkeys(trace.states))
        random = CounterRandom(seed, t)
        for _ in range(settings.walks):
            start = states[random.below(len(states))]
            states.append(_walk(policy.task, start, 1 + random.below(settings.walk_steps), random))
        for state in states:
            new += ask(teacher, samples, t, state)
    return new


def ask(teacher: Teacher, samples: Samples, t: int, state: State) -> int:
    """Label a state and those that follow, unless it is known or a goal. Returns how many samples are new."""
    own = samples[t]
    if state in own or teacher.task.is_goal(state):
        return 0
    own.asked.add(state)
    lesson = teacher.lesson(state)
    if lesson is None:
        own.give_up(state)
        return 0
    return samples.add_all(t, lesson)


def _walk(task: Task, state: State, steps: int, random: CounterRandom) -> State:
    for _ in range(steps):
        operators = task.applicable(state)
        if not operators:
            break
        state = task.apply(state, operators[random.below(len(operators))])
    return state


__all__ = ["Exploration", "ask", "explore"]
