"""Policies that behave in a chosen way."""

from __future__ import annotations

import numpy as np

from misstep._core import CounterRandom
from misstep.policies.policy import FAILED, NO_ACTION, Answers, Candidates, Policy, States
from misstep.tasks.task import State, Task


class Misbehaving(Policy):
    """Decides pseudo-randomly by state: mostly applicable operators, now and then everything that can go wrong."""

    def __init__(self, task: Task, seed: int, trouble: int = 20) -> None:
        super().__init__(task)
        self.seed = seed
        self.trouble = trouble  # percent
        self.asked: list[State] = []
        self.batches: list[int] = []

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        assert candidates is None
        self.batches.append(len(states))
        answers = Answers(np.zeros(len(states), dtype=np.int32))
        for row, values in enumerate(states.tolist()):
            state = State(values)
            self.asked.append(state)
            answers.operators[row] = self._one(state)
            if answers.operators[row] == FAILED:
                answers.messages[row] = f"no idea in {state}"
        return answers

    def _one(self, state: State) -> int:
        random = CounterRandom(self.seed, hash(state))
        applicable = self.task.applicable(state)
        if random.below(100) < self.trouble or not applicable:
            return (NO_ACTION, FAILED, int(random.below(self.task.operator_count)))[random.below(3)]
        return applicable[random.below(len(applicable))]
