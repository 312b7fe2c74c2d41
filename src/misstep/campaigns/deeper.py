"""Analyse one bug further than a campaign does: exact distances or longer searches, and the smallest repairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

from misstep.campaigns.alarm import Alarm, OutOfTime
from misstep.campaigns.explain import Explanation
from misstep.campaigns.records import Decision, Fault, Record
from misstep.errors import MisstepError
from misstep.faults.blame import FoundFault, find_faults
from misstep.faults.distances import Distances, distances
from misstep.faults.repair import smallest_repair
from misstep.policies.labels.policy import LabelPolicy
from misstep.policies.policy import Policy
from misstep.runs.follow import follow_operators
from misstep.runs.make import make_runner
from misstep.runs.runner import PolicyRunner, Trace
from misstep.safety.decider import Budget, Decider
from misstep.safety.faults import analyse
from misstep.safety.fuzz import UnsafeRun
from misstep.safety.jani import system_of
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask
from misstep.tasks.task import State, Task

DEFAULT_SECONDS = 60.0
PolicyOf = Callable[[AnyTask], Policy | LabelPolicy]


def look_deeper(
    explanation: Explanation,
    policy_of: PolicyOf,
    time_limit: float | None = None,
) -> Explanation:
    """Extend the explanation as far as the time allows; results found until then are kept."""
    ends = perf_counter() + (DEFAULT_SECONDS if time_limit is None else time_limit)
    task = explanation.task
    if explanation.record.verdict == "FLAKY":
        return explanation  # asking again and again tells no more
    if isinstance(task, JaniTask):
        return _of_model(explanation, task, policy_of, ends)
    return _of_task(explanation, task, policy_of, ends)


def _of_task(
    explanation: Explanation,
    task: Task,
    policy_of: PolicyOf,
    ends: float,
) -> Explanation:
    record = explanation.record
    trace = _trace(task, record)
    known: Distances | None = None
    try:
        with Alarm(ends - perf_counter()):
            known = distances(task)
            found = tuple(find_faults(trace, record.witness.operators, known))
            faults = tuple(_fault(task, own) for own in found)
            explanation = replace(
                explanation, record=replace(record, faults=faults), exact=known.exact
            )
    except OutOfTime:
        return replace(explanation, problem="the time limit was reached")
    try:
        policy = policy_of(task)
    except MisstepError as error:
        return replace(explanation, problem=str(error))
    assert isinstance(policy, Policy)
    try:
        with Alarm(ends - perf_counter()):
            if policy.plans or record.chooser == "--revisit avoid":
                why = "its decisions depend on the whole run, so they cannot be changed one by one"
                return replace(explanation, problem=why)
            return _with_repairs(explanation, trace, make_runner(policy), known)
    except OutOfTime:
        return replace(explanation, problem="the time limit was reached")
    finally:
        policy.close()


def _with_repairs(
    explanation: Explanation, trace: Trace, runner: PolicyRunner, known: Distances
) -> Explanation:
    start = trace.states[0]
    bound = None if explanation.record.bounds is None else explanation.record.bounds[1]
    best = min(known.upper(start), math.inf if bound is None else bound)
    if trace.outcome != "goal":
        explanation = replace(explanation, to_the_goal=smallest_repair(runner, start))
    if math.isfinite(best):
        repair = smallest_repair(runner, start, cost_bound=int(best), lower_bound=known.lower)
        explanation = replace(explanation, to_the_best=repair)
    return explanation


def _trace(task: Task, record: Record) -> Trace:
    start = State(list(map(int, record.state)))
    states = follow_operators(task, start, record.run.operators)
    run = record.run
    return Trace(run.outcome, states, list(run.operators), run.cost or 0, run.message)


def _fault(task: Task, own: FoundFault) -> Fault:
    def decision(operator: int | None) -> Decision | None:
        return None if operator is None else Decision(operator, task.operator_name(operator))

    return Fault(
        own.step,
        own.state,
        tuple(task.facts(State(list(own.state)))),
        decision(own.decision),
        decision(own.better),
        (own.low, own.high),
        own.share,
        own.recurring,
        None,
    )


def _of_model(
    explanation: Explanation, task: JaniTask, policy_of: PolicyOf, ends: float
) -> Explanation:
    """Decide the states of the run again that a budget may have left open."""
    record = explanation.record
    states, names = record.run.states, record.run.names
    assert states is not None
    try:
        policy = policy_of(task)
    except MisstepError as error:
        return replace(explanation, problem=str(error))
    assert isinstance(policy, LabelPolicy)
    try:
        system = system_of(task, policy, policy.engine)
        budget = Budget(evaluations=None, seconds=max(ends - perf_counter(), 0.001))
        radius = math.inf if explanation.radius == "inf" else float(explanation.radius or 0)
        decider = Decider(system, budget=budget)
        report = analyse(decider, UnsafeRun(states, names), radius, largest=None)
        faults = []
        for step in report.steps:
            if step.fault is not None:
                strategy = decider.strategy(step.state, radius)
                better = strategy.labels[step.state]
                faults.append(
                    Fault(
                        step.step,
                        step.state,
                        tuple(task.text(step.state).split(", ")),
                        Decision(task.label_id(step.label), step.label),
                        Decision(task.label_id(better), better),
                        (None, None),
                        None,
                        False,
                        step.fault.outcome,
                    )
                )
        return replace(explanation, record=replace(record, faults=tuple(faults)))
    finally:
        policy.close()


__all__ = ["DEFAULT_SECONDS", "look_deeper"]
