"""Find the families of a campaign: faults grouped by signature, described by rules, and counted.

A family makes this claim: where the policy decides for this schema and the conditions hold, that decision is probably
wrong, and a decision for the other schema would have been better. The conditions are learned from the recorded faults
and the proven good decisions for the same schema (see `misstep.comparison.families.decisions`). So within the campaign
the claim is checked, and its exceptions are counted. Beyond the campaign it is only a claim;
`misstep.comparison.families.measure` measures it. It does not say why the policy errs.

Where the policy stopped there is no operator, and the faults are compared with all good decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from misstep.campaigns.records import Record
from misstep.campaigns.signatures import schema_of, signature
from misstep.comparison.families.conditions import Condition, Decided, Possible
from misstep.comparison.families.decisions import (
    Faulty,
    Made,
    faulty_decisions,
    good_decisions,
)
from misstep.comparison.families.family import Family
from misstep.comparison.families.ground import Ground, Scene, lifted_of
from misstep.comparison.families.language import Domain, conditions, domain_key, domain_of
from misstep.comparison.families.learn import Learned, Rule, Truth, learn
from misstep.comparison.families.sheet import Sheet
from misstep.comparison.families.variables import ModelCondition, model_conditions
from misstep.comparison.families.words import Speech, mistake, numbers, sentence
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask
from misstep.tasks.task import Task

MOST_FAULTY = 1_500  # of a signature, to learn from
MOST_GOOD = 3_000
MOST_DECISIONS = 12_000  # of all signatures of a domain together
MOST_VALUES = 1_500_000  # values of variables to look at for one domain
MOST_POSSIBLE = (
    400  # operators of the better schema in one state; above, nothing is said about them
)
WITHOUT = "without a common condition"
NO_GOOD = "and no decision of this kind is known to be good"
Literals = tuple[tuple[Condition, bool], ...]
ModelLiterals = tuple[tuple[ModelCondition, bool], ...]
Schemas = tuple[str | None, str | None]
T = TypeVar("T")


@dataclass(frozen=True)
class Described:
    """A family with its description in a form that can be evaluated."""

    family: Family
    schemas: Schemas  # chosen and better; None: stopped, not known
    tasks: tuple[str, ...]  # all of the domain
    rule: Literals = ()
    model_rule: ModelLiterals = ()
    idle: bool = False  # the faults lose steps but no cost


def find_families(
    tasks: Iterable[AnyTask], records: Sequence[Record], radius: str | None = None
) -> list[Family]:
    """All families, those with most bugs first; `radius` is the radius of a campaign on models."""
    return [own.family for own in describe(tasks, records, radius)]


def describe(
    tasks: Iterable[AnyTask], records: Sequence[Record], radius: str | None = None
) -> list[Described]:
    faulty = faulty_decisions(records)
    concerned = {own.made.task for own in faulty}
    domains: dict[tuple[str, str], list[AnyTask]] = {}
    for task in tasks:
        if task.name in concerned:
            domains.setdefault(_domain(task), []).append(task)
    found: list[Described] = []
    for members in domains.values():
        names = {task.name for task in members}
        own = [fault for fault in faulty if fault.made.task in names]
        good = [made for task in members for made in good_decisions(task, records, radius)]
        found += _of_domain(members, own, good)
    return sorted(found, key=lambda own: (-own.family.count, own.family.remainder, own.family.key))


def _domain(task: AnyTask) -> tuple[str, str]:
    if isinstance(task, JaniTask):
        return "model", "\n".join([*task.variable_names, "", *task.labels])
    return "planning", domain_key(lifted_of(task))


def _of_domain(tasks: list[AnyTask], faulty: list[Faulty], good: list[Made]) -> list[Described]:
    groups: dict[Schemas, list[Faulty]] = {}
    for own in faulty:
        decision, better = own.fault.decision, own.fault.better
        key = (
            None if decision is None else schema_of(decision.name),
            None if better is None else schema_of(better.name),
        )
        groups.setdefault(key, []).append(own)
    teller: _Planning | _Model
    if isinstance(tasks[0], JaniTask):
        teller = _Model([task for task in tasks if isinstance(task, JaniTask)])
    else:
        teller = _Planning([task for task in tasks if isinstance(task, Task)])
    most = min(MOST_DECISIONS, MOST_VALUES // max(1, teller.size))
    found = []
    for schemas in sorted(groups, key=str):
        group = groups[schemas]
        if schemas[0] is None:
            # Only states: what the policy did instead of stopping must not be used to separate the decisions.
            known = list(dict.fromkeys(replace(made, operator=None) for made in good))
        else:
            known = [made for made in good if teller.schema(made) == schemas[0]]
        found += _of_signature(teller, schemas, group, known, most // len(groups))
    return found


def _of_signature(
    teller: _Planning | _Model, schemas: Schemas, faulty: list[Faulty], good: list[Made], most: int
) -> list[Described]:
    """The families of one signature, learned from a limited number of decisions."""
    share = max(20, most // 2)
    learned_from = _sampled(faulty, min(MOST_FAULTY, share))
    known = _sampled(good, min(MOST_GOOD, share))
    rules: list[tuple[tuple[tuple[Condition | ModelCondition, bool], ...], int]] = []
    if known:
        tried, truth, held = teller.evaluate(schemas, [own.made for own in learned_from], known)
        learned: Learned = learn(truth, held, [own.weight for own in tried])
        rules = [
            (_literals(rule, tried), exceptions)
            for rule, exceptions in zip(learned.rules, learned.exceptions, strict=True)
        ]
    left = faulty
    found = []
    for rule, exceptions in rules:
        fitting = [teller.fits(own.made, rule) for own in left]
        covered = [own for own, fits in zip(left, fitting, strict=True) if fits]
        left = [own for own, fits in zip(left, fitting, strict=True) if not fits]
        if covered:
            found.append(_family(teller, schemas, covered, rule, exceptions, len(known)))
    if left:
        found.append(_family(teller, schemas, left, None if known else (), 0, len(known)))
    return found


def _literals(
    rule: Rule, tried: Sequence[Condition | ModelCondition]
) -> tuple[tuple[Condition | ModelCondition, bool], ...]:
    own = [(tried[literal.condition], literal.positive) for literal in rule]
    return tuple(sorted(own, key=lambda literal: (literal[0].weight, literal[0].text)))


def _sampled(items: list[T], most: int) -> list[T]:
    """At most `most` items, evenly spread over the list."""
    if len(items) <= most:
        return items
    return [items[k * len(items) // most] for k in range(most)]


# -- one family -----------------------------------------------------------------------------------


def _family(
    teller: _Planning | _Model,
    schemas: Schemas,
    faulty: list[Faulty],
    rule: tuple[tuple[Condition | ModelCondition, bool], ...] | None,
    exceptions: int,
    good: int,
) -> Described:
    """Make a family. No rule (None) means the remainder; an empty rule covers all, if no decision is known good."""
    bugs: dict[str, Record] = {}
    carrier: dict[str, Faulty] = {}
    for own in faulty:
        for record in own.bugs:
            bugs[record.id] = record
            carrier.setdefault(record.id, own)
    bugs = dict(sorted(bugs.items(), key=lambda item: (item[1].task, item[1].number)))
    gaps = [record.gap for record in bugs.values() if record.gap is not None]
    finite = [gap[0] for gap in gaps if gap[0] is not None]
    failing = sum(gap[0] is None for gap in gaps)
    example = min(bugs.values(), key=lambda own: (len(own.run.operators), own.id))
    shown = carrier[example.id]
    what = signature(faulty[0].fault.decision, faulty[0].fault.better)
    canonical = tuple(sorted(("" if yes else "not ") + own.text for own, yes in rule or ()))
    clauses = tuple(teller.clauses(schemas, rule or ()))
    tasks = tuple(dict.fromkeys(record.task for record in bugs.values()))
    worst = max(finite, default=None)
    counted = numbers(len(bugs), len(tasks), worst, failing, teller.world)
    why_not = WITHOUT if rule is None else None if rule else NO_GOOD
    ending = f" ({WITHOUT})" if rule is None else f": {'; '.join(canonical)}" if canonical else ""
    family = Family(
        key=f"{teller.domain_name}: {what}{ending}",
        signature=what,
        sentence=sentence(mistake(*schemas, teller.world), clauses, why_not, counted),
        conditions=clauses,
        canonical=canonical,
        remainder=rule is None,
        world=teller.world,
        domain=teller.domain_name,
        records=tuple(bugs),
        tasks=tasks,
        worst_gap=worst,
        failing=failing,
        faults=len(faulty),
        exceptions=exceptions,
        good=good,
        example=example.id,
        example_task=example.task,
        example_state=shown.made.state,
        example_facts=shown.fault.facts,
        example_decision=shown.fault.decision,
        example_better=shown.fault.better,
    )
    idle = all(own.fault.loss == (0, 0) for own in faulty) and teller.world == "planning"
    return teller.described(family, schemas, rule or (), idle)


# -- the two worlds -------------------------------------------------------------------------------


class _Planning:
    world = "planning"

    def __init__(self, tasks: list[Task]) -> None:
        self.grounds = {task.name: Ground(task) for task in tasks}
        self.domain: Domain = domain_of(list(self.grounds.values()))
        self.domain_name = self.domain.name
        self.size = max(task.variable_count for task in tasks)
        self._scenes: dict[tuple[str, tuple[int, ...]], Scene] = {}

    def schema(self, made: Made) -> str | None:
        ground = self.grounds[made.task]
        return None if made.operator is None else ground.operator(made.operator)[0]

    def decided(self, made: Made) -> Decided:
        values = tuple(map(int, made.state))
        scene = self._scenes.get((made.task, values))
        if scene is None:
            scene = Scene(self.grounds[made.task], values)
            if len(self._scenes) < MOST_VALUES // max(1, self.size):
                self._scenes[made.task, values] = scene
        return Decided(scene, made.operator)

    def evaluate(
        self, schemas: Schemas, faulty: list[Made], good: list[Made]
    ) -> tuple[list[Condition], Truth, Truth]:
        decided = [self.decided(made) for made in (*faulty, *good)]
        tried = conditions(self.domain, *schemas)
        if schemas[1] is not None:
            most = max(len(own.scene.applicable(schemas[1])) for own in decided)
            if most > MOST_POSSIBLE:
                tried = [own for own in tried if not isinstance(own, Possible)]
        truth = Sheet(tried).truth(decided)
        return tried, truth[: len(faulty)], truth[len(faulty) :]

    def fits(self, made: Made, rule: Iterable[tuple[Condition | ModelCondition, bool]]) -> bool:
        own = self.decided(made)
        return all(
            isinstance(condition, Condition) and condition.holds(own) == positive
            for condition, positive in rule
        )

    def clauses(
        self, schemas: Schemas, rule: Iterable[tuple[Condition | ModelCondition, bool]]
    ) -> list[str]:
        own = [(one, positive) for one, positive in rule if isinstance(one, Condition)]
        return Speech(self.domain, *schemas).clauses(own)

    def described(
        self,
        family: Family,
        schemas: Schemas,
        rule: Iterable[tuple[Condition | ModelCondition, bool]],
        idle: bool,
    ) -> Described:
        own = tuple((one, positive) for one, positive in rule if isinstance(one, Condition))
        return Described(family, schemas, tuple(self.grounds), own, idle=idle)


class _Model:
    world = "model"

    def __init__(self, tasks: list[JaniTask]) -> None:
        self.tasks: Mapping[str, JaniTask] = {task.name: task for task in tasks}
        self.first = tasks[0]
        self.domain_name = tasks[0].name
        self.size = len(tasks[0].variables)

    def schema(self, made: Made) -> str | None:
        labels = self.tasks[made.task].labels
        return None if made.operator is None else schema_of(labels[made.operator])

    def evaluate(
        self,
        schemas: Schemas,  # noqa: ARG002
        faulty: list[Made],
        good: list[Made],
    ) -> tuple[list[ModelCondition], Truth, Truth]:
        states = [made.state for made in (*faulty, *good)]
        tried = model_conditions(self.first, states)
        truth = np.array([[own.holds(state) for own in tried] for state in states], dtype=np.bool_)
        truth = truth.reshape(len(states), len(tried))
        return tried, truth[: len(faulty)], truth[len(faulty) :]

    def fits(self, made: Made, rule: Iterable[tuple[Condition | ModelCondition, bool]]) -> bool:
        return all(
            not isinstance(condition, Condition) and condition.holds(made.state) == positive
            for condition, positive in rule
        )

    def clauses(
        self,
        schemas: Schemas,  # noqa: ARG002
        rule: Iterable[tuple[Condition | ModelCondition, bool]],
    ) -> list[str]:
        return [one.in_words(yes) for one, yes in rule if not isinstance(one, Condition)]

    def described(
        self,
        family: Family,
        schemas: Schemas,
        rule: Iterable[tuple[Condition | ModelCondition, bool]],
        idle: bool,
    ) -> Described:
        own = tuple((one, yes) for one, yes in rule if not isinstance(one, Condition))
        return Described(family, schemas, tuple(self.tasks), (), own, idle)


__all__ = ["Described", "describe", "find_families"]
