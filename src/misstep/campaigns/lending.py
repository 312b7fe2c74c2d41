"""Copy the states and proofs of one campaign, the lender, into another that tests a new version of the policy.

A witness does not depend on the policy, so what was proven about a state for the old policy also judges the new one.
The lender is a folder that anybody may have written, so everything in it that can be checked is checked:

    states          have to lie where their walks, or the runs of models, lead.
    plans, runs     become transitions of the task, and each has to apply; whether they reach a goal, and at what cost,
                    is computed here. The independent checker replays every bug that rests on them.
    derivations     rest on a dominance function. The lender's function is not used: its claims are compared with a
                    function that is computed anew (`planning.witnesses`).
    strategies      of models are replayed by the independent checker before they count (`models.retest`).
    lower bounds    have no proof in any campaign. They are taken over, so OPTIMAL is only as reliable as the lender;
                    `replay --full` checks them. Those that contradict a plan are dropped with a remark.

Everything is copied into the new campaign before its first unit, so the campaign can be resumed and replayed without
the lender.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from misstep.campaigns.confirmed import reported_verdicts
from misstep.campaigns.grow import LENT
from misstep.campaigns.lent import CLAIMS, Loan, loan_of, note_loan
from misstep.campaigns.planning.rows import snapshot
from misstep.campaigns.planning.stages import SETTLED, PoolStage, pool_key
from misstep.campaigns.rows import (
    LENT_ROUND,
    RunRow,
    StateRow,
    VerdictRow,
)
from misstep.campaigns.settings import Settings
from misstep.campaigns.states import check_walks, state_of, text_of_brought
from misstep.campaigns.strategies import add_strategies, packed_strategy
from misstep.campaigns.tables import REMARK, Content, Findings, Snapshot
from misstep.campaigns.view import rank
from misstep.checking.jani import SafetyTask
from misstep.errors import InputFormatError, MisstepError, UsageError
from misstep.oracles.bounds import BoundStore
from misstep.oracles.knowledge import Knowledge
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.task import State, Task


def lend(content: Content, settings: Settings, lender: Content) -> None:
    """Copy states and witnesses, in one transaction; nothing, if that was done before."""
    check_same_tasks(content, lender)
    if loan_of(content.store) is not None:
        return
    identity = lender.policy
    if identity is None:
        raise UsageError(
            "no policy was tested there yet, so there are no records to test again",
            where=lender.store.where,
        )
    with lender.store.snapshot(), content.store.unit():
        bugs: dict[str, frozenset[int]] = {}
        for name in content.task_names():
            task, mine = content.task(name), content.findings(name)
            theirs = lender.findings(name)
            rows = _recorded(theirs)
            bugs[name] = frozenset(row.number for row in rows.best.values() if row.is_bug)
            if isinstance(task, JaniTask):
                if loan_of(lender.store) is None:
                    _check_runs(task, rows, lender.store.path)
                _lend_model(mine, theirs, settings, rows)
            else:
                assert isinstance(task, Task)
                states, brought = check_walks(task, rows.states, lender.store.path)
                if brought:
                    content.add_event(REMARK, text_of_brought(brought), name)
                _lend_task(content, mine, settings, task, rows, states)
        ended = lender.store.rows("SELECT value FROM meta WHERE key = 'finished'")
        finished = bool(ended) and ended[0][0] == "1"
        note_loan(content.store, Loan(identity.spec, identity.digest, finished, bugs))


def check_same_tasks(content: Content, lender: Content) -> None:
    theirs = lender.task_names()
    for name in content.task_names():
        if name not in theirs or lender.task(name).digest != content.task(name).digest:
            raise UsageError(
                f"the task {name} of {content.store.where} is not that of the campaign to test again",
                where=lender.store.where,
                expected="the campaign that its states came from",
            )


class _Rows(NamedTuple):
    states: list[StateRow]  # up to the last one with a verdict
    runs: dict[int, RunRow]
    verdicts: list[VerdictRow]
    best: dict[int, VerdictRow]


def _recorded(findings: Findings) -> _Rows:
    states = findings.states()
    best: dict[int, VerdictRow] = {}
    for row in reported_verdicts(findings, states):
        known = best.get(row.number)
        best[row.number] = row if known is None else max(known, row, key=rank)
    recorded = states[: max(best, default=-1) + 1]
    # Plans and bounds hold whatever the policy does, also if it was not asked again yet.
    runs = {run.number: run for run in findings.runs()}
    return _Rows(recorded, runs, findings.verdicts(), best)


# -- planning tasks -------------------------------------------------------------------------------


def _lend_task(
    content: Content,
    findings: Findings,
    settings: Settings,
    task: Task,
    rows: _Rows,
    states: list[State],
) -> None:
    findings.add_states(rows.states)
    findings.mark_done(PoolStage.name, pool_key(settings.of_planning.fuzzing.max_states), 0.0, 0)
    findings.mark_done(PoolStage.name, LENT, 0.0, 0)
    if not rows.states:
        return
    bounds = BoundStore(task)
    refused = _take_in_plans(bounds, states, rows)
    if refused:
        text = f"{refused} plans and runs of the other campaign do not apply, and were left out"
        content.add_event(REMARK, text, findings.name)
    claims = _claims(task, bounds, states, rows)
    dropped = _take_in_lower(bounds, states, rows.verdicts)
    if dropped:
        text = f"{dropped} lower bounds of the other campaign contradict plans, and were left out"
        content.add_event(REMARK, text, findings.name)
    given = dict.fromkeys(states)
    findings.set_knowledge(settings.oracle, LENT_ROUND, SETTLED, snapshot(bounds, given))
    if claims is not None:
        findings.set_knowledge(settings.oracle, LENT_ROUND, CLAIMS, claims)


def _take_in_plans(bounds: BoundStore, states: Sequence[State], rows: _Rows) -> int:
    """Take in the plans and runs; returns how many do not apply."""
    refused = 0
    paths = [
        *((row.number, row.plan) for row in rows.verdicts if row.plan is not None),
        *(
            (row.number, rows.runs[row.run].operators)
            for row in rows.states
            if row.run in rows.runs
        ),
    ]
    for number, operators in paths:
        if number >= len(states):
            continue
        try:
            bounds.add_path(states[number], operators)
        except (ValueError, IndexError, TypeError):
            refused += 1
    return refused


def _claims(
    task: Task, bounds: BoundStore, states: Sequence[State], rows: _Rows
) -> Snapshot | None:
    """The steps of derivations that prove more than the plans do. The values of their jumps are computed elsewhere."""
    numbers: dict[State, int] = {}
    edges: list[tuple[int, int, int, int]] = []

    def place(state: State) -> int:
        return numbers.setdefault(state, len(numbers))

    for row in rows.best.values():
        upper = math.inf if row.upper is None else row.upper
        if row.derivation is None or upper >= bounds.plan_cost(states[row.number]):
            continue
        here = states[row.number]
        for step in row.derivation:
            try:
                operator = int(step.get("operator", -1))
                is_jump = "operator" not in step
                there = (
                    state_of(task, tuple(step["state"])) if is_jump else task.apply(here, operator)
                )
            except (ValueError, KeyError, IndexError, TypeError, OverflowError, MisstepError):
                break  # it proves nothing, and the oracle is asked
            edges.append((place(here), operator, place(there), 0))
            here = there
    if not edges:
        return None
    known = Knowledge(
        _values(list(numbers)),
        np.zeros(len(numbers), dtype=np.int64),
        np.array(edges, dtype=np.int64),
    )
    return Snapshot(len(numbers), known.to_bytes())


def _take_in_lower(
    bounds: BoundStore, states: Sequence[State], verdicts: Iterable[VerdictRow]
) -> int:
    """Take in lower bounds; returns how many were dropped: all of them, if one contradicts a plan indirectly."""
    lower: dict[int, float] = {}
    for row in verdicts:
        own = math.inf if row.lower is None else row.lower
        # FLAKY and UNKNOWN rows have bounds as well; a lower bound is about the task, not about the run.
        if row.number < len(states):
            lower[row.number] = max(own, lower.get(row.number, 0))
    fits = {n: own for n, own in lower.items() if own <= bounds.plan_cost(states[n])}
    if not fits:
        return len(lower)
    trial = BoundStore(bounds.task)
    trial.add_knowledge(bounds.knowledge(_values(states)))
    for number, own in fits.items():
        trial.graph.raise_lower_bound(states[number], None if math.isinf(own) else int(own))
    low, high = trial.graph.all_bounds()
    if bool(np.any(np.asarray(low) > np.asarray(high))):
        return len(lower)
    for number, own in fits.items():
        bounds.graph.raise_lower_bound(states[number], None if math.isinf(own) else int(own))
    return len(lower) - len(fits)


def _values(states: Sequence[State]) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    return np.array([state.values for state in states], dtype=np.int32)


# -- models ---------------------------------------------------------------------------------------


def _check_runs(task: JaniTask, rows: _Rows, where: str) -> None:
    """Raise an error unless every state lies on a run from a start state; otherwise it might be unreachable."""
    checker = SafetyTask.from_source(task.source)
    last: dict[int, int] = {}
    for row in rows.states:
        last[row.run] = max(row.step, last.get(row.run, 0))
    good: dict[int, RunRow] = {}
    for number, step in last.items():
        run = rows.runs.get(number)
        if run is None or run.states is None or not _leads_to(task, checker, run, step):
            raise InputFormatError(
                f"run {number} of {task.name} does not begin in a start state",
                where=where,
                hint="'misstep replay DIR' says what else is wrong with it",
            )
        good[number] = run
    for row in rows.states:
        states = good[row.run].states
        if states is None or states[row.step] != row.state:
            raise InputFormatError(
                f"state {row.number} of {task.name} is not where its run is", where=where
            )


def _leads_to(task: JaniTask, checker: SafetyTask, run: RunRow, step: int) -> bool:
    states = run.states
    if states is None or not 0 <= step < len(states) or step > len(run.operators):
        return False
    try:
        start = checker.read_state(list(states[0]))
        if not checker.is_start(start):
            return False
        return all(states[i + 1] in task.outcomes(states[i], run.operators[i]) for i in range(step))
    except (MisstepError, ValueError, TypeError, IndexError, RecursionError):
        return False


def _lend_model(findings: Findings, lender: Findings, settings: Settings, rows: _Rows) -> None:
    """A run of the new policy begins in each state and has the state's number. Strategies are copied unchanged."""
    findings.add_states(
        [StateRow(row.number, row.state, run=row.number, step=0) for row in rows.states]
    )
    resting = {
        row.number: row.strategy
        for row in rows.best.values()
        if row.is_bug and row.strategy is not None
    }
    theirs = sorted(set(resting.values()))
    copied = add_strategies(findings, [packed_strategy(lender, number) for number in theirs])
    ours = dict(zip(theirs, copied, strict=True))
    for number, strategy in resting.items():
        own = Snapshot(ours[strategy], b"")  # the number of the strategy is all that is to be kept
        findings.set_knowledge(settings.oracle, LENT_ROUND, number, own)


__all__ = ["check_same_tasks", "lend"]
