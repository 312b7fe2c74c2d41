"""Checking a safety campaign again: every unsafe run and every strategy, against the model in its files."""

from __future__ import annotations

import math
from collections.abc import Iterator

from misstep.campaigns.safety import system_of
from misstep.campaigns.safety_settings import SafetySettings
from misstep.campaigns.safety_store import DecidedState, SafetyStore
from misstep.campaigns.store import CampaignStore
from misstep.errors import InputFormatError, MisstepError
from misstep.policies.load import load_policy
from misstep.safety.decider import Strategy
from misstep.safety.fuzz import UnsafeRun
from misstep.safety.jani import jani_transitions
from misstep.safety.system import System
from misstep.safety.witness import check_run, check_strategy
from misstep.tasks.jani.task import JaniTask, State


def replay_safety(
    store: CampaignStore, *, with_policy: bool = False
) -> Iterator[tuple[str, int, str | None]]:
    """Task, number and what does not hold (None: it holds): of the runs, then of the decided states.

    With the policy, runs are compared with its decisions too, and strategies with the deviations that they may have.
    """
    settings = SafetySettings.from_dict(store.config, str(store.path))
    tables = SafetyStore(store)
    task = tables.model()
    handle = None
    if with_policy:
        handle = load_policy(settings.policy, task, inapplicable=settings.inapplicable)
    try:
        if handle is not None and store.policy is not None and handle.digest != store.policy[1]:
            raise InputFormatError(
                f"the policy {settings.policy} has changed since the campaign",
                where=str(store.folder),
            )
        system = System(jani_transitions(task)) if handle is None else system_of(task, handle)
        for run in tables.paths():
            yield f"{task.name} run", int(run.number or 0), _run_problem(task, system, run)
        for entry in tables.decided():
            yield task.name, entry.index, _state_problem(system, settings, entry)
    finally:
        if handle is not None:
            handle.close()


def _run_problem(
    task: JaniTask, system: System[State, str], run: UnsafeRun[State, str]
) -> str | None:
    if system.policy is not None:
        return _refused(lambda: check_run(system, run))
    for k, (state, label) in enumerate(zip(run.states, run.labels, strict=False)):
        if task.is_unsafe(state):
            return f"state {k} is unsafe before the end"
        if run.states[k + 1] not in task.outcomes(state, label):
            return f"step {k} ({label}) does not lead to the next state"
    return None if task.is_unsafe(run.states[-1]) else "the last state is not unsafe"


def _state_problem(
    system: System[State, str], settings: SafetySettings, entry: DecidedState
) -> str | None:
    if entry.verdict != "BUG" or entry.strategy is None:
        return None
    # Deviations can be counted only where the policy can be asked.
    radius = settings.radius if system.policy is not None else math.inf
    strategy = Strategy(entry.state, radius, dict(entry.strategy))
    return _refused(lambda: check_strategy(system, strategy))


def _refused(check: object) -> str | None:
    assert callable(check)
    try:
        check()
    except MisstepError as error:
        return error.what
    return None


__all__ = ["replay_safety"]
