"""Data between epochs: states of further tasks, selected by testing the current policy, and labelled.

Which states of these tasks should get a label? All sources begin with the same pool of a task, made by random walks
from its initial state, with a different seed each time:

    random     states of the pool itself, whatever the policy does
    on-policy  states on the runs of the policy from the initial state and from the pool
    runs       states on its runs from those states of the pool that an oracle proves to be bugs
    before     proven faults on those runs, and the two states before each
    faults     proven faults alone: decisions that lose something

The policy is tested again each time, so that it learns from its own faults. States are taken from all tasks in turn,
none twice, and every source gives the same number of states if it finds enough.

Labels come from a teacher, or, for faults, from the test: the better operator that it has found. In the second case no
teacher has to solve such tasks. The weight of a fault is 1, or grows with its regret up to a limit, because an infinite
loss would outweigh everything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple

from misstep._core import CounterRandom
from misstep.errors import UsageError
from misstep.faults.blame import FoundFault, find_faults
from misstep.faults.distances import Distances, distances
from misstep.policies.policy import Policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import State, Task
from misstep.training.bugs import weight_of
from misstep.training.samples import Sample, Samples
from misstep.training.teachers import Teacher
from misstep.training.testing import TestedTask, TestSettings

SOURCES = ("random", "on-policy", "runs", "before", "faults")
LABELS = ("auto", "teacher", "found")
BEFORE = 2  # states before a fault that are taken with it
ATTEMPTS = 3  # pools of a task, if the first ones give too few states


@dataclass(frozen=True)
class Feedback:
    """Which states come between epochs, and how much they count."""

    # Epochs between two tests; 0: no test, only the campaign's faults are used. The study `misstep experiment
    # from-bugs` found testing again to be better (docs/results/from-bugs.md).
    every: int = 1
    source: str = "faults"
    labels: str = "auto"  # for faults, the label that the test has found; otherwise the teacher's
    weighted: bool = False  # by regret
    ratio: float = 0.5  # share of a minibatch that these states have
    states: int = 50  # new states each time, of all tasks together

    def __post_init__(self) -> None:
        for name, known in (("source", SOURCES), ("labels", LABELS)):
            if getattr(self, name) not in known:
                raise UsageError(f"no {name} {getattr(self, name)!r}", expected=", ".join(known))
        if self.every < 0:
            raise UsageError(f"every is {self.every}", expected="a number of epochs, or 0")
        if not 0 < self.ratio <= 1:
            raise UsageError(f"the ratio is {self.ratio}", expected="more than 0, up to 1")
        if self.states < 1:
            raise UsageError(f"states is {self.states}", expected="a positive number")
        if self.labels == "found" and self.source != "faults":
            raise UsageError(
                f"a test finds no labels for the source {self.source}",
                expected="labels of the teacher",
            )

    @property
    def taught(self) -> bool:
        """Whether labels are those of a teacher."""
        return self.labels == "teacher" or (self.labels == "auto" and self.source != "faults")


class Candidate(NamedTuple):
    """A state that may become a sample; `better` is the right operator there, according to a test."""

    state: State
    weight: float = 1.0
    better: int | None = None


class FeedbackTask:
    """A task that states come from."""

    def __init__(self, task: Task, teacher: Teacher | None, test: TestSettings) -> None:
        """Without a `teacher` only faults get labels."""
        self.task = task
        self.teacher = teacher
        self.test = test

    @cached_property
    def _distances(self) -> Distances:
        return distances(self.task)

    def candidates(self, policy: Policy, settings: Feedback, seed: int) -> list[Candidate]:
        """In random order, except that a fault stays with the states before it."""
        tested = TestedTask(self.task, replace(self.test, seed=seed))
        groups = list(self._groups(tested, policy, settings))
        random = CounterRandom(seed)
        for last in range(len(groups) - 1, 0, -1):
            other = random.below(last + 1)
            groups[last], groups[other] = groups[other], groups[last]
        return [own for group in groups for own in group]

    def _groups(
        self, tested: TestedTask, policy: Policy, settings: Feedback
    ) -> Iterator[list[Candidate]]:
        if settings.source == "random":
            yield from ([Candidate(state)] for state in tested.pool.states)
            return
        runner = PolicyRunner(policy)
        if settings.source == "on-policy":
            for state in tested.pool.states:
                trace = runner.trace(state, self.test.max_steps)
                yield from ([Candidate(own)] for own in dict.fromkeys(trace.states))
            return
        judged = tested.judge(runner)
        for verdict in judged.verdicts:
            if not verdict.is_bug:
                continue
            trace = judged.bench.trace(verdict.state)
            if settings.source == "runs":
                yield from ([Candidate(own)] for own in dict.fromkeys(trace.states))
                continue
            for fault in find_faults(trace, verdict.witness, self._distances):
                before = trace.states[max(0, fault.step - BEFORE) : fault.step]
                group = [_of_fault(fault, settings.weighted)]
                if settings.source == "before":
                    group += [Candidate(own) for own in reversed(before)]
                yield group

    def is_goal(self, state: State) -> bool:
        return self.task.is_goal(state)

    def label(self, candidate: Candidate, taught: bool) -> Sample | None:
        if self.is_goal(candidate.state):
            return None
        if not taught or self.teacher is None:
            better = candidate.better
            return (
                better if better is None else Sample(candidate.state, (better,), candidate.weight)
            )
        lesson = self.teacher.lesson(candidate.state)
        return lesson[0]._replace(weight=candidate.weight) if lesson else None


def _of_fault(fault: FoundFault, weighted: bool) -> Candidate:
    weight = weight_of(fault.low) if weighted else 1.0
    return Candidate(State(list(fault.state)), weight, fault.better)


def collect(
    tasks: Sequence[FeedbackTask],
    policies: Sequence[Policy],
    samples: Samples,
    first: int,
    settings: Feedback,
    seed: int,
) -> int:
    """Add up to `settings.states` samples of new states; those of `tasks[k]` go to `samples[first + k]`.

    A state that the teacher gives up on is stored and never tried again; one without a label for another reason is
    skipped only this time, because this is not stored. Returns how many samples are new.
    """
    added = 0
    seen: list[set[State]] = [set() for _ in tasks]
    for attempt in range(ATTEMPTS):
        lists = [
            own.candidates(policy, settings, (seed + 7919 * attempt + 104_729 * k) % 2**62)
            for k, (own, policy) in enumerate(zip(tasks, policies, strict=True))
        ]
        for turn in zip_longest(*lists):
            for k, candidate in enumerate(turn):
                if candidate is None or candidate.state in samples[first + k]:
                    continue
                if candidate.state in seen[k]:
                    continue
                seen[k].add(candidate.state)
                sample = tasks[k].label(candidate, settings.taught)
                if sample is None and settings.taught and not tasks[k].is_goal(candidate.state):
                    samples[first + k].give_up(candidate.state)
                added += sample is not None and samples.add(first + k, sample)
                if added >= settings.states:
                    return added
    return added


__all__ = ["LABELS", "SOURCES", "Candidate", "Feedback", "FeedbackTask", "collect"]
