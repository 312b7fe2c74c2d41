"""Decide whether a candidate shows the wanted fault: test it as a campaign of one state, and check the result.

A candidate counts only if all of this holds: the policy accepts the task, its run from the initial state is a bug by
the campaign's oracle (small tasks are enumerated first), the policy does not contradict itself, the kind of the bug is
in the same group, its worst fault has the wanted lifted signature, and the independent checker finds nothing wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.confirm import Asking
from misstep.campaigns.engine import Engine
from misstep.campaigns.planning.stages import PoolStage, pool_key
from misstep.campaigns.records import Record
from misstep.campaigns.rows import StateRow
from misstep.campaigns.session import check_identity, load_again, work
from misstep.campaigns.settings import Settings
from misstep.campaigns.signatures import STOPS
from misstep.campaigns.store import memory_store
from misstep.campaigns.tables import Content
from misstep.campaigns.workers import Worker
from misstep.errors import MisstepError, UndecidedError
from misstep.policies.native import NativePolicy
from misstep.policies.policy import Policy
from misstep.policies.trust import Trust
from misstep.runs.make import make_runner, nature_of
from misstep.tasks.task import Task

# A crash stays a crash. A run that was cut may fail or be costly on a smaller task.
_GROUPS = {
    "fails": "fails",
    "fails-all": "fails",
    "fails-some": "fails",
    "costly": "costly",
    "costly-best": "costly",
    "costly-some": "costly",
    "crash": "crash",
    "unsafe": "unsafe",
}
EXACT = "census"
FAULT_EVALUATIONS = 20_000


def group_of(kind: str | None) -> str | None:
    """The group of kinds to which a bug must belong; None: an unclassified bug may become any kind."""
    return _GROUPS.get(kind or "")


@dataclass(frozen=True)
class Sought:
    """The fault that a smaller task has to show."""

    group: str | None
    family: str | None  # None: no fault was proven, so that only the kind is kept

    @staticmethod
    def of(record: Record) -> Sought:
        return Sought(group_of(record.kind), record.family)

    def shown_by(self, record: Record) -> bool:
        if not record.is_bug or self.group not in (None, group_of(record.kind)):
            return False
        return self.family is None or record.family == self.family

    def left_open_by(self, record: Record) -> str | None:
        """Why it is not known whether a record shows the fault; None if it is known."""
        if record.verdict == "UNKNOWN":
            return "whether it is a bug was left undecided"
        if record.verdict == "FLAKY":
            return "the policy contradicts itself"
        unproven = record.is_bug and self.family is not None and record.family is None
        if unproven and self.group in (None, group_of(record.kind)):
            return "which fault it has could not be proven"
        return None


@dataclass(frozen=True)
class Judge:
    """Tests single states of candidates as the campaign would."""

    settings: Settings
    source: Any  # of the policy
    trust: Trust
    sought: Sought

    def campaign(
        self, task: Task, states: Sequence[StateRow] = (), *, quick: bool = False
    ) -> Campaign:
        """A campaign in memory on the initial state or the given states; a quick one does not ask the policy again."""
        store = memory_store(self.settings.as_dict())
        content = Content(store)
        content.add_task(task)
        rows = list(states) or [StateRow(0, tuple(task.initial_state.values))]
        findings = content.findings(task.name)
        with store.unit():
            findings.add_states(rows)
            size = self.settings.of_planning.fuzzing.max_states
            findings.mark_done(PoolStage.name, pool_key(size), 0.0, 0)
        if quick:
            check_identity(content, self.settings, self.source, [task.name])
            worker = Worker(self.settings, self.source)
            oracles = [self.settings.oracle]
            try:
                asking = Asking(asks=False)
                Engine(content, self.settings, worker, oracles=oracles, asking=asking).run(
                    [task.name]
                )
            finally:
                worker.close()
        else:
            work(content, self.settings, self.source, 1, None, None, None, trust=self.trust)
        return Campaign(store, self.source, self.trust)

    def shows(self, task: Task) -> bool:
        """Whether the initial state seems to show the fault, without asking again and without the checker.

        It is an `UndecidedError` if that is not known, here and in `certified`."""
        if not self._may_show(task):
            return False
        with self.campaign(task, quick=True) as found:
            return self._decided(task, found.records[-1])

    def certified(self, task: Task, states: Sequence[StateRow] = ()) -> Campaign | None:
        """The campaign, if its last state shows the fault and the checker agrees."""
        if not states and not self.shows(task):
            return None
        found = self.campaign(task, states)
        try:
            if self._decided(task, found.records[-1]):
                if found.replay().ok:
                    return found
                raise UndecidedError("the checker does not confirm the bug", where=task.name)
        except BaseException:
            found.close()
            raise
        found.close()
        return None

    def _decided(self, task: Task, record: Record) -> bool:
        """Whether a record shows the fault; an error if that is not known."""
        why = self.sought.left_open_by(record)
        if why is not None:
            raise UndecidedError(why, where=task.name)
        return self.sought.shown_by(record)

    def _may_show(self, task: Task) -> bool:
        """A quick look at the run alone, for policies where asking again takes longer than the run."""
        policy = load_again(self.source, task, self.settings)
        try:
            own = self.settings.of_planning
            if not isinstance(policy, Policy) or isinstance(policy, NativePolicy):
                return True
            if nature_of(policy, own.revisit) != "function":
                return True
            trace = make_runner(policy).trace(task.initial_state, self.settings.max_steps)
            if trace.outcome == "timeout":
                raise UndecidedError("the policy did not answer in time", where=task.name)
            ends = {"fails": ("loop", "stuck", "inapplicable"), "costly": ("goal",)}
            if self.sought.group in ends and trace.outcome not in ends[self.sought.group]:
                return (
                    trace.outcome == "error"
                )  # a crash and a failure are told apart by the verdict
            schema = None if self.sought.family is None else self.sought.family.split(" ", 1)[0]
            names = {task.operator_name(op).split(" ", 1)[0].lower() for op in trace.operators}
            is_run = schema in (None, STOPS) or schema in names
            return is_run or trace.outcome in ("inapplicable", "error")
        finally:
            if isinstance(self.source, str):
                policy.close()


def judging_settings(settings: Settings) -> Settings:
    """The settings of the campaign for one given state. Small tasks are decided first, and exactly."""
    own = settings.of_planning
    oracle = settings.oracle
    if not oracle.replace(" ", "").startswith((EXACT, "exact")):
        oracle = f"{EXACT}, {oracle}"
    fuzzing = replace(own.fuzzing, max_states=1)
    planning = replace(own, fuzzing=fuzzing, require_solved=False)
    return replace(settings, oracle=oracle, planning=planning)


def patient(judge: Judge) -> Judge:
    """A judge with longer searches for faults, to make up for the other states that the campaign had."""
    budget = max(judge.settings.fault_budget or 0, FAULT_EVALUATIONS)
    return replace(judge, settings=replace(judge.settings, fault_budget=budget))


def refusal(judge: Judge, task: Task) -> str | None:
    """The reason why the policy does not accept a task, or None."""
    try:
        policy = load_again(judge.source, task, judge.settings)
    except MisstepError as error:
        return error.what
    if isinstance(judge.source, str):
        policy.close()
    return None


__all__ = ["Judge", "Sought", "group_of", "judging_settings", "patient", "refusal"]
