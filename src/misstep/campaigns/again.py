"""`misstep replay --full`: recompute with the engine what the independent checker cannot compute by itself.

Dominance functions are compared byte by byte, as computing one is deterministic. Lower bounds of tasks that are too
large for the checker are computed by A* with LM-cut within a budget. This is nearly the same code that made the
records: it finds changed records and broken machines, but not its own mistakes. The report lists these checks apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from misstep import _core
from misstep.campaigns.states import state_of
from misstep.campaigns.tables import Content
from misstep.checking.report import CampaignReport, Finding, OpenBound
from misstep.errors import MisstepError
from misstep.oracles.dominance import try_dominance
from misstep.planning import make_heuristic
from misstep.tasks.pddl.translate import translate_sources
from misstep.tasks.task import Task

# Arguments: what is being done, how much of it is done, and the total.
Progress = Callable[[str, int, int], None]
EVALUATIONS = 20_000  # of LM-cut, for each lower bound
SECONDS = 30.0


def compute_again(content: Content, report: CampaignReport, tell: Progress) -> None:
    for name in content.task_names():
        task = content.task(name)
        if isinstance(task, Task):
            _compare_dominance(content, task, report)
            _compare_translation(task, report)
    for done, bound in enumerate(report.open_bounds):
        tell("computing lower bounds", done, len(report.open_bounds))
        _confirm_bound(content, bound, report)
    report.not_checked = +report.not_checked
    report.left_open = +report.left_open


def _compare_dominance(content: Content, task: Task, report: CampaignReport) -> None:
    stored = content.findings(task.name).dominance()
    if not isinstance(stored, bytes):
        return
    found = try_dominance(task)
    if isinstance(found, str):
        report.left_open["dominance functions"] += 1
        report.remarks.append(f"{task.name}: no dominance function now: {found}")
    elif bytes(found.to_bytes()) != stored:
        problem = "the dominance function differs from the one that is computed from the task"
        report.findings.append(Finding(task.name, problem))
    else:
        report.confirmed_by_engine["dominance functions"] += 1
        report.not_checked["dominance functions"] -= 1


def _compare_translation(task: Task, report: CampaignReport) -> None:
    """Whether the PDDL files still translate to the SAS file; another version may write another one."""
    if task.pddl is None:
        return
    try:
        same = any(
            translate_sources(task.pddl, keep_unimportant=keep) == task.sas
            for keep in (True, False)
        )
        problem = None if same else "its PDDL files do not translate to its SAS file"
    except MisstepError as error:
        problem = f"it cannot be translated again: {error}"
    if problem is None:
        report.confirmed_by_engine["translations"] += 1
        report.not_checked["translations"] -= 1
    else:
        report.left_open["translations"] += 1
        report.remarks.append(f"{task.name}: {problem}")


def _confirm_bound(content: Content, bound: OpenBound, report: CampaignReport) -> None:
    task = content.task(bound.task)
    assert isinstance(task, Task)
    state = state_of(task, bound.state, content.store.path)
    claimed = math.inf if bound.lower is None else bound.lower
    heuristic = make_heuristic("max" if task.has_conditional_effects else "lmcut", task)
    result = _core.AStar(task, heuristic, state, None).run(evaluations=EVALUATIONS, seconds=SECONDS)
    lower = math.inf if result.lower_bound is None else result.lower_bound
    if result.cost is not None and result.cost < claimed:
        problem = f"the lower bound is {claimed}, but a plan costs {result.cost}"
        report.findings.append(Finding(f"{bound.task}:{bound.number}", problem))
        return
    if lower >= claimed:
        for counts, step in (
            (report.confirmed_by_engine, 1),
            (report.not_checked, -1),
            (report.left_open, -1),
        ):
            counts["lower bounds"] += step
            counts["verdicts OPTIMAL"] += step * bound.optimal


__all__ = ["Progress", "compute_again"]
