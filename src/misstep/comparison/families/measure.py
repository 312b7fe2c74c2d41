"""Measure how often a family's description is right, by asking the policy in new states that fit it.

A new state fits a description if the policy chooses the schema of the family there and the conditions hold for that
decision; if the family is about stopping, the conditions must hold for the state, whatever the policy does. The policy
then either makes the same fault (the decision is proven to lose, and one of the better schema is proven to be better),
or does not, or the budget is too small to decide. States where nothing can be lost any more do not count. Undecided
states are counted separately: the interval over the decided states assumes that they are no different, and the
worst-case interval assumes nothing.

All limits but the time limit are in states and evaluations, so the same seed gives the same result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from misstep._core import CounterRandom, SafetySystem
from misstep.binomial import clopper_pearson
from misstep.campaigns.records import Record
from misstep.campaigns.rows import Values
from misstep.campaigns.signatures import schema_of
from misstep.comparison.families.conditions import Decided
from misstep.comparison.families.decisions import faulty_decisions, good_decisions
from misstep.comparison.families.family import Measured
from misstep.comparison.families.find import Described
from misstep.comparison.families.fresh import Fresh, fresh_decisions
from misstep.comparison.families.ground import Ground, Scene
from misstep.comparison.families.judge import Finding, Judge, find_in_model
from misstep.errors import UnsupportedError
from misstep.faults.distances import distances
from misstep.policies.labels.policy import LabelPolicy
from misstep.policies.policy import Policy
from misstep.safety.decider import Budget, Decider
from misstep.safety.jani import system_of
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask
from misstep.tasks.task import Task

DEFAULT_STATES = 100  # of a family
DEFAULT_SECONDS = 60.0
EVALUATIONS = 2_000  # of the search from one state
MODEL_NODES = 100_000  # of one question about a state of a model
MOST_RUNS = 2_000  # of a model
LONGEST_RUN = 200
_STREAM = 0x6D61
PolicyOf = Callable[[AnyTask], Policy | LabelPolicy]
Progress = Callable[[str, int, int], None]


@dataclass
class _Count:
    """What was found out about one family so far."""

    same: int = 0
    other: int = 0
    undecided: int = 0

    @property
    def asked(self) -> int:
        return self.same + self.other + self.undecided

    def add(self, finding: Finding) -> None:
        self.same += finding is Finding.SAME
        self.other += finding is Finding.OTHER
        self.undecided += finding is Finding.UNDECIDED

    def measured(self, seed: int, limit: str | None) -> Measured:
        decided = self.same + self.other
        low, high = clopper_pearson(self.same, decided) if decided else (0.0, 1.0)
        worst_low = clopper_pearson(self.same, self.asked)[0] if self.asked else 0.0
        worst_high = (
            clopper_pearson(self.same + self.undecided, self.asked)[1] if self.asked else 1.0
        )
        return Measured(
            self.asked, self.same, self.other, low, high, worst_low, worst_high, seed, limit
        )


class _Work:
    """The counts of all families, and when to end."""

    def __init__(
        self, described: Sequence[Described], states: int, seconds: float, progress: Progress | None
    ) -> None:
        self.counts = {own.family.key: _Count() for own in described}
        self.states = states
        self.ends = monotonic() + seconds
        self.progress = progress
        self.limit: str | None = None

    def wanting(self, own: Described, most: int) -> bool:
        return self.counts[own.family.key].asked < most

    def add(self, own: Described, finding: Finding) -> bool:
        """Count a finding unless there was nothing to lose; returns whether it counted."""
        if finding is Finding.LOST:
            return False
        self.counts[own.family.key].add(finding)
        if self.progress is not None:
            done = sum(count.asked for count in self.counts.values())
            self.progress("asking the policy", done, self.states * len(self.counts))
        return True

    def measured(self, seed: int) -> dict[str, Measured]:
        """The limit is told of families that had fewer states than they should."""
        return {
            key: count.measured(seed, self.limit if count.asked < self.states else None)
            for key, count in self.counts.items()
        }

    def out_of_time(self) -> bool:
        if monotonic() >= self.ends:
            self.limit = "time"
        return self.limit is not None


def measure(
    described: Sequence[Described],
    tasks: Mapping[str, AnyTask],
    records: Sequence[Record],
    policy_of: PolicyOf,
    *,
    states: int = DEFAULT_STATES,
    seconds: float = DEFAULT_SECONDS,
    seed: int = 1,
    radius: float = math.inf,
    progress: Progress | None = None,
) -> dict[str, Measured]:
    """The measurement of each family that has a description, by its key."""
    worth = [own for own in described if not own.family.remainder and not own.idle]
    work = _Work(worth, states, seconds, progress)
    for name, task in tasks.items():
        own = [one for one in worth if name in one.tasks]
        if not own or work.out_of_time():
            continue
        left = {one.family.key: _quota(one, name, states) for one in own}
        known = _known(task, records, radius)
        with _closing(policy_of(task)) as policy:
            if isinstance(task, JaniTask):
                assert isinstance(policy, LabelPolicy)
                _of_model(task, policy, own, left, work, seed, known, radius)
            else:
                assert isinstance(policy, Policy)
                _of_task(task, policy, own, left, work, seed, known)
    return work.measured(seed)


@contextmanager
def _closing(policy: Policy | LabelPolicy) -> Iterator[Policy | LabelPolicy]:
    try:
        yield policy
    finally:
        policy.close()


def _quota(own: Described, task: str, states: int) -> int:
    """The number of states to ask about up to and including this task; each task of the domain gets its share."""
    place = own.tasks.index(task) + 1
    return states * place // len(own.tasks)


def _known(task: AnyTask, records: Sequence[Record], radius: float) -> set[Values]:
    """The states that the campaign has tested, and those from which the descriptions were learned."""
    own = [record for record in records if record.task == task.name]
    good = good_decisions(task, own, "inf" if math.isinf(radius) else str(radius))
    learned = [*(own.made for own in faulty_decisions(own)), *good]
    return {record.state for record in own} | {made.state for made in learned}


def _of_task(
    task: Task,
    policy: Policy,
    described: list[Described],
    quota: Mapping[str, int],
    work: _Work,
    seed: int,
    known: set[Values],
) -> None:
    if policy.set_valued or policy.stochastic or policy.plans:
        raise UnsupportedError(
            f"the policy {policy.name} is not a function of the state",
            where=task.name,
            expected="a policy that names one operator in each state, to measure families of its bugs",
        )
    ground = Ground(task)
    judge = Judge(task, distances(task, evaluations=EVALUATIONS))
    for draw in fresh_decisions(task, policy, {tuple(map(int, own)) for own in known}, seed):
        open_ = [own for own in described if work.wanting(own, quota[own.family.key])]
        if not open_ or work.out_of_time():
            return
        scenes = [(fresh, Scene(ground, fresh.state.values)) for fresh in draw]
        for own in open_:
            for fresh, scene in scenes:
                if _fits(own, scene, fresh) and work.add(own, _found(judge, own, scene, fresh)):
                    break  # one of a draw


def _fits(own: Described, scene: Scene, fresh: Fresh) -> bool:
    chosen = own.schemas[0]
    if chosen is None:
        decided = Decided(scene, None)
    elif fresh.operator is None or scene.ground.operator(fresh.operator)[0] != chosen:
        return False
    else:
        decided = Decided(scene, fresh.operator)
    return all(condition.holds(decided) == positive for condition, positive in own.rule)


def _found(judge: Judge, own: Described, scene: Scene, fresh: Fresh) -> Finding:
    found = judge.find(scene, fresh.operator, own.schemas[1])
    if own.schemas[0] is None and fresh.operator is not None and found is not Finding.LOST:
        return Finding.OTHER  # it does not stop here
    return found


# -- models ---------------------------------------------------------------------------------------


def _of_model(
    task: JaniTask,
    policy: LabelPolicy,
    described: list[Described],
    quota: Mapping[str, int],
    work: _Work,
    seed: int,
    tested: set[Values],
    radius: float,
) -> None:
    """Measure on a model. A draw is a run of the policy with random outcomes and occasional random labels."""
    system = system_of(task, policy, policy.engine)
    decider = Decider(system, budget=Budget(evaluations=MODEL_NODES, seconds=None))
    labels: dict[str, list[int]] = {}  # several may have the same name up to their arguments
    for label in task.labels:
        labels.setdefault(schema_of(label), []).append(system.label_id(label))
    known = {system.id(state) for state in tested}
    for number in range(MOST_RUNS):
        open_ = [own for own in described if work.wanting(own, quota[own.family.key])]
        if not open_ or work.out_of_time():
            return
        random = CounterRandom(seed, _STREAM + number)
        draw = [id for id in _run(system.native, random) if id not in known]
        known.update(draw)
        for own in open_:
            for id in draw:
                decision = system.native.decision(id)
                chosen = None if decision is None else schema_of(system.label(decision))
                state = system.state(id)
                if chosen != own.schemas[0] or not all(
                    condition.holds(state) == yes for condition, yes in own.model_rule
                ):
                    continue
                better = own.schemas[1]
                instead = None if better is None else labels.get(better, [])
                if work.add(own, find_in_model(decider, id, instead, radius)):
                    break


def _run(system: SafetySystem, random: CounterRandom) -> list[int]:
    """The states of a run, shuffled."""
    found: dict[int, None] = {}
    id = system.sample(random)
    for _ in range(LONGEST_RUN):
        if system.kind(id) != "open":  # unsafe, a goal, or a dead end
            break
        found[id] = None
        outcomes = system.policy_outcomes(id)
        if random.below(5) == 0:
            ways = system.actions(id)
            outcomes = ways[random.below(len(ways))][1]
        if not outcomes:
            break
        id = outcomes[random.below(len(outcomes))]
    states = list(found)
    for k in range(len(states) - 1, 0, -1):
        other = random.below(k + 1)
        states[k], states[other] = states[other], states[k]
    return states


__all__ = ["DEFAULT_SECONDS", "DEFAULT_STATES", "PolicyOf", "measure"]
