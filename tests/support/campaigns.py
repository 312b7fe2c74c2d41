"""Campaigns for tests: small real ones, what is to be the same whoever did the work, and made-up ones.

The store does not ask where its rows come from, so tests of the store make them up.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.rows import RunRow, StateRow, Values, VerdictRow
from misstep.campaigns.settings import Settings
from misstep.campaigns.store import Store
from misstep.campaigns.tables import Content, Findings
from misstep.checking.jani.documents import Documents
from misstep.policies.load import load_policy
from misstep.safety.jani import jani_transitions
from misstep.safety.system import System
from misstep.tasks.generate import generate
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import load_task
from misstep.tasks.task import Task
from support.ground_truth import explore, safe_states
from support.plain_task import PlainTask
from support.tasks import sas

NOISY = "noisy:0.4:1+heuristic:ff"
# Several rounds already with twenty states or a few unsafe runs, so that knowledge travels.
SHARING: dict[str, Any] = {"planning": {"chunk": 3, "round": 2}}
BATCHES: dict[str, Any] = {"model": {"batch": 4}}
ORACLE = "elimination, undo, lookahead(2), aras/ehc"
TIMES = ("times", "at", "seconds")

MODELS: dict[str, dict[str, Any]] = {
    "one-way-line": {"cells": 5, "packages": 2, "vmax": 3, "drop": True},
    "two-way-line": {"cells": 5, "packages": 2, "vmax": 3},
    "blocksworld-cost": {"blocks": 3, "limit": 2, "max_cost": 2},
    "n-puzzle": {"width": 2, "height": 2, "max_cost": 1, "tile": 1, "cell": 3},
    "beluga": {"racks": 1, "lines": "0,2/1", "swaps": 5},
}


@cache
def small_model(name: str) -> JaniTask:
    task = load_task(generate(name, **MODELS[name]))
    assert isinstance(task, JaniTask)
    return task


def without_times(value: Any) -> Any:
    """Plain data without what no two runs of a program share."""
    if isinstance(value, dict):
        return {key: without_times(own) for key, own in value.items() if key not in TIMES}
    if isinstance(value, list):
        return [without_times(own) for own in value]
    return value


def told(campaign: Campaign) -> list[dict[str, Any]]:
    """The records of a campaign as plain data, without times."""
    return [without_times(record.as_dict()) for record in campaign.records]


# -- made-up campaigns ----------------------------------------------------------------------------

SIZE = 40
CONFIG = Settings("heuristic:ff", seed=7, oracle="undo").as_dict()


def counter_task(name: str = "counter", size: int = 5000) -> Task:
    """A counter that goes up one by one: any number of states, numbered."""
    text = sas([2, size], [0, 0], [(1, 3)], ["0\n1\n0 0 -1 1\n2", "0\n1\n0 1 0 1\n1"])
    return Task(text.encode(), name=name)


def state_row(number: int) -> StateRow:
    if number == 0:
        return StateRow(0, (0, 0))
    return StateRow(number, (0, number), (number - 1) // 2, (0, 1), 10 * number, number, 0, 0.5)


def run_row(number: int) -> RunRow:
    return RunRow(number, "goal" if number % 3 else "loop", 3 + number, (0, 1), seconds=0.125)


def verdict_row(number: int) -> VerdictRow:
    if number % 3 == 0:
        return VerdictRow(number, "undo", 0, "BUG", "fails", None, None, 0, 2, "ehc", (0,), at=1.5)
    if number % 3 == 1:
        return VerdictRow(number, "undo", 0, "OPTIMAL", None, 0, 0, 3, 3, "astar", seconds=0.25)
    if number == SIZE - 11:
        steps = ({"operator": 0, "name": "op0"}, {"state": [0, 1], "value": -1, "factors": []})
        return VerdictRow(number, "undo", 0, "BUG", "costly", 1, 3, 0, 2, "bmo", derivation=steps)
    return VerdictRow(number, "undo", 0, "UNKNOWN", lower=0, expansions=7, seconds=0.5)


def fill(store: Store, count: int = SIZE, tested: int = SIZE - 10) -> Findings:
    """A pool, of which some states are tested, stored state by state."""
    content = Content(store)
    content.add_task(counter_task())
    content.set_policy("heuristic:ff", "abc")
    findings = content.findings("counter")
    for number in range(count):
        findings.add_states([state_row(number)])
    for number in range(tested):
        add_tested(findings, number)
    return findings


def add_tested(findings: Findings, number: int) -> None:
    with findings.store.unit():
        findings.add_runs([run_row(number)])
        findings.add_verdicts([verdict_row(number)])


# -- the truth about models -----------------------------------------------------------------------


class ModelTruth:
    """Which states of a small model are safe, by listing all of them with the checker's evaluator."""

    def __init__(self, task: JaniTask, policy: str) -> None:
        source = task.source
        plain = PlainTask(Documents(source["files"]).read(source["path"]))
        self.space = explore(plain)
        order = [[slot.name for slot in plain.model.slots].index(n) for n in task.variable_names]
        states = [tuple(state[place] for place in order) for state in self.space.states]
        self.number = {state: i for i, state in enumerate(states)}
        handle = load_policy(policy, task)
        system = System(jani_transitions(task), handle.policy, inapplicable=handle.inapplicable)
        self.policy: list[str | None] = []
        for state, choices in zip(states, self.space.outcomes, strict=True):
            label = system.native.decision(system.id(state)) if choices else None
            self.policy.append(None if label is None else task.labels[label])
        self._safe: dict[float, set[int]] = {}

    def safe(self, state: Values, radius: float) -> bool:
        return self.number[state] in self._within(radius)

    def _within(self, radius: float) -> set[int]:
        if radius not in self._safe:
            self._safe[radius] = safe_states(self.space, self.policy, radius)
        return self._safe[radius]

    def is_fault(self, state: Values, radius: float) -> bool:
        """Whether the state is safe and an outcome of the policy's decision is not."""
        i = self.number[state]
        label = self.policy[i]
        assert label is not None
        safe = self._within(radius)
        return i in safe and any(t not in safe for t in self.space.outcomes[i][label])

    def smallest_radius(self, state: Values, largest: int) -> int | None:
        return next((r for r in range(largest + 1) if self.safe(state, r)), None)

    def check(self, campaign: Campaign) -> None:
        """Every verdict, radius and fault of a campaign on this model."""
        settings = campaign.settings.of_model
        radius, largest = settings.within, settings.largest
        for record in campaign.records:
            state = record.state
            assert record.run.outcome == "unsafe"
            assert record.run.states is not None
            assert self.number[record.run.states[-1]] in self.space.unsafe
            for own in record.verdicts:
                if own.verdict != "UNKNOWN":
                    safe = self.safe(state, radius)
                    assert own.verdict == ("BUG" if safe else "NOT A BUG")
                if own.radius is None:  # nobody asked
                    is_bug = own.verdict == "BUG"
                    assert settings.severity != "all"
                    assert not is_bug or settings.severity == "none"
                    assert is_bug or own.verdict == "UNKNOWN"
                    continue
                low, high = own.radius
                least = self.smallest_radius(state, largest)
                if least is None:
                    assert high is None
                else:
                    assert low is not None
                    assert low <= least
                    assert high is None or least <= high
            if record.faults is None:
                assert not record.is_bug
                continue
            decided = {fault.step: fault for fault in record.faults}
            for step, passed in enumerate(record.run.states[:-1]):
                if step not in decided:
                    # A state whose decision was left open has none.
                    assert settings.evaluations < 1000 or not self.is_fault(passed, radius)
                    continue
                fault = decided[step]
                assert fault.state == passed
                assert self.is_fault(passed, radius)
                assert fault.outcome is not None
                assert not self.safe(fault.outcome, radius)
                assert fault.decision is not None
                assert fault.decision.name == self.policy[self.number[passed]]
                if fault.better is not None:
                    reached = self.space.outcomes[self.number[passed]][fault.better.name]
                    if radius == math.inf:
                        assert all(t in self._within(radius) for t in reached)
