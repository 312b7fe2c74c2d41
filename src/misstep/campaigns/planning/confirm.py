"""Ask a policy on a planning task again."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from misstep.campaigns.confirm import (
    Asked,
    AskPayload,
    Decisions,
    Questions,
    Weighed,
    WeighPayload,
    answers_of,
    weigh,
)
from misstep.campaigns.planning.rows import run_row, trace_of
from misstep.campaigns.rows import ContradictionRow, Ids, RunRow, Values
from misstep.campaigns.states import state_of
from misstep.policies.policy import (
    FAILED,
    NO_ACTION,
    TIMED_OUT,
    Answers,
    Candidates,
    Policy,
    States,
)
from misstep.runs.permitted import ask_permitted
from misstep.runs.runner import PolicyRunner, ask
from misstep.tasks.task import Task


class _Again(Policy):
    """The policy with `ask_again` in place of `decide`."""

    def __init__(self, inner: Policy) -> None:
        super().__init__(inner.task)
        self.inner = inner

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:  # noqa: ARG002
        return self.inner.ask_again(states)


def decisions_of(task: Task, state: Values, run: RunRow) -> Decisions:
    answers = answers_of(run)
    states = trace_of(task, state_of(task, state), run).states
    return [(own.values, answer) for own, answer in zip(states, answers, strict=False)]


class PermittedStates:
    """The states that permitted runs reach, as far as the permitted operators are stored."""

    def __init__(self, task: Task, permitted: Mapping[Values, Ids]) -> None:
        self.task = task
        self.permitted = permitted
        self._successors: dict[Values, list[Values]] = {}

    def reached(self, start: Values) -> Decisions:
        """The states reached, each with an answer that represents the permitted operators."""
        found = dict.fromkeys([start] if start in self.permitted else [])
        queue = list(found)
        for state in queue:
            for after in self._after(state):
                if after in self.permitted and after not in found:
                    found[after] = None
                    queue.append(after)
        return [(state, next(iter(self.permitted[state]), NO_ACTION)) for state in queue]

    def _after(self, values: Values) -> list[Values]:
        if values not in self._successors:
            state = state_of(self.task, values)
            applicable = set(self.task.applicable(state)).intersection(self.permitted[values])
            self._successors[values] = [
                self.task.apply(state, op).values for op in sorted(applicable)
            ]
        return self._successors[values]


def ask_again(policy: Policy, payload: AskPayload) -> Asked:
    task = policy.task
    states_of = PermittedStates(task, payload.permitted)
    runs = [
        [
            *decisions_of(task, own.state, own.run),
            *(states_of.reached(own.state) if own.graph else ()),
        ]
        for own in payload.runs
    ]
    questions = Questions(payload, runs)
    for states in questions.batches(policy.batch_size):
        rows = np.array(states, dtype=np.int32)
        if policy.set_valued or policy.stochastic:
            answers = _of_sets(policy, rows, states, questions)
        else:
            answers = ask(_Again(policy), rows).operators.tolist()
        questions.answered(states, answers)
    return questions.outcome()


def _of_sets(policy: Policy, rows: States, states: list[Values], questions: Questions) -> list[int]:
    """Answers that represent the second sets: the recorded answer, unless it is not permitted any more."""
    answers = []
    for now, state in zip(_permitted(policy, rows), states, strict=True):
        before = questions.payload.permitted.get(state)
        recorded = questions.recorded[state]
        answers.append(FAILED if now is None else _drawn(recorded, now, before))
    return answers


def _permitted(policy: Policy, rows: States) -> list[Ids | None]:
    """The permitted operators of each state; None where the policy crashes."""
    found = ask_permitted(policy, rows)
    sets = np.split(found.operators, found.offsets[1:-1])
    return [None if row in found.failures else tuple(own.tolist()) for row, own in enumerate(sets)]


def _drawn(recorded: int, now: Ids, before: Ids | None) -> int:
    """The recorded answer if the sets are the same, else an operator that tells them apart."""
    if before is not None and set(now) != set(before):
        other = sorted(set(now) ^ set(before))
        return next((op for op in (*other, *now) if op != recorded), NO_ACTION)
    if recorded in now or (recorded == NO_ACTION and not now):
        return recorded
    return now[0] if now else NO_ACTION


def run_again(
    task: Task, make: Callable[[], PolicyRunner], payload: AskPayload, max_steps: int
) -> Asked:
    """For policies whose answers depend on the start of the run: compare whole runs."""
    found: dict[Values, ContradictionRow] = {}
    for time in range(payload.times):
        runner = make()
        for own in payload.runs:
            state = state_of(task, own.state)
            trace = runner.trace(state, max_steps)
            now = run_row(own.run.number, trace, getattr(trace, "named", None), 0.0)
            other = contradiction(task, own.state, own.run, now)
            if other is not None:
                times = payload.before + time + 1
                found.setdefault(other.state, other._replace(asked=times))
    return Asked(tuple(found.values()), len(payload.runs))


def contradiction(
    task: Task, state: Values, before: RunRow | None, now: RunRow
) -> ContradictionRow | None:
    """The first state where the new run continues differently from the recorded one."""
    if before is None or (before.operators, before.outcome) == (now.operators, now.outcome):
        return None
    then = decisions_of(task, state, before)
    for (here, first), second in zip(then, [*answers_of(now), TIMED_OUT], strict=False):
        if first != second:
            return ContradictionRow(here, first, second, 2)
    return None


def weigh_runs(task: Task, payload: WeighPayload) -> Weighed:
    crashes = _crashes_where_it_answered(task, payload)
    payload = payload._replace(contradictions=(*payload.contradictions, *crashes))
    states_of = PermittedStates(task, payload.permitted if payload.contradictions else {})
    runs = []
    for state, run in payload.runs:
        more = states_of.reached(state) if run.number in payload.graphs else ()
        runs.append((run.number, [*decisions_of(task, state, run), *more]))
    weighed = weigh(runs, payload)
    return weighed._replace(crossing=(*crashes, *weighed.crossing))


def _crashes_where_it_answered(task: Task, payload: WeighPayload) -> list[ContradictionRow]:
    """States in which a run of a set-valued policy crashes although it is stored what the policy permits there."""
    known = {row.state for row in payload.contradictions}
    found: dict[Values, ContradictionRow] = {}
    for start, run in payload.runs if payload.permitted else ():
        if run.outcome == "error":
            state, answer = decisions_of(task, start, run)[-1]
            if state in payload.permitted and state not in known:
                second = next(iter(payload.permitted[state]), NO_ACTION)
                found[state] = ContradictionRow(state, answer, second, 2)
    return list(found.values())


__all__ = ["ask_again", "contradiction", "run_again", "weigh_runs"]
