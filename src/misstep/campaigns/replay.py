"""Check a campaign again: every run and witness by the independent checker, and by asking the policy again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from misstep.campaigns.again import Progress, compute_again
from misstep.campaigns.planning.rows import runs_of, trace_of
from misstep.campaigns.risks import read_decisions
from misstep.campaigns.rows import RunRow
from misstep.campaigns.settings import Settings
from misstep.campaigns.states import state_of
from misstep.campaigns.tables import Content
from misstep.checking.campaign import check_database
from misstep.checking.report import CampaignReport
from misstep.policies.labels.policy import LabelPolicy
from misstep.policies.policy import Policy
from misstep.runs.make import make_runner
from misstep.runs.permitted import PermittedRuns, WorstCase
from misstep.runs.runner import Trace
from misstep.safety.decider import Answer, Budget
from misstep.safety.fuzz import envelope
from misstep.safety.jani import system_of
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask
from misstep.tasks.task import Task

PolicyOf = Callable[[AnyTask], Policy | LabelPolicy]


@dataclass(frozen=True)
class Replay:
    """The result of a replay: the checker's `report`, and the runs that the policy would not repeat (`changed`)."""

    report: CampaignReport
    rerun: int | None = None  # runs that were compared; None: the policy was not asked
    changed: tuple[tuple[str, str], ...] = field(default=())  # what run, and how it differs

    @property
    def ok(self) -> bool:
        return self.report.valid and not self.changed

    def as_dict(self) -> dict[str, Any]:
        return {
            **self.report.as_dict(),
            "ok": self.ok,
            "rerun": self.rerun,
            "changed": [{"record": record, "problem": problem} for record, problem in self.changed],
        }

    def __str__(self) -> str:
        lines = [str(self.report)]
        lines += [f"{record}: {problem}" for record, problem in self.changed]
        if self.rerun is not None:
            lines.append(f"policy run again: {self.rerun} runs, {len(self.changed)} differ")
        return "\n".join(lines)


def replay(
    content: Content,
    settings: Settings,
    policy_of: PolicyOf | None,
    progress: Progress | None = None,
    *,
    full: bool = False,
) -> Replay:
    """Replay a campaign from a consistent snapshot, even if another process is writing to it."""
    with content.store.snapshot():
        return _replayed(content, settings, policy_of, progress or (lambda *_: None), full)


def _replayed(
    content: Content, settings: Settings, policy_of: PolicyOf | None, tell: Progress, full: bool
) -> Replay:
    report = check_database(
        content.store.connection, lambda done, total: tell("checking", done, total), full=full
    )
    if remark := content.store.config_remark():
        report.remarks.append(remark)
    if full:
        compute_again(content, report, tell)
    if policy_of is None:
        return Replay(report)
    changed: list[tuple[str, str]] = []
    count = 0
    total = int(content.store.rows("SELECT count(*) FROM runs")[0][0])
    for name in content.task_names():
        task = content.task(name)
        policy = policy_of(task)
        try:
            differences = (
                _model_differences(content, name, task, policy, settings)
                if isinstance(task, JaniTask)
                else _planning_differences(content, name, task, policy, settings)
            )
            for record, problem in differences:
                count += record != name  # which is about decisions beside the runs
                tell("running the policy again", count, total)
                if problem is not None:
                    changed.append((record, problem))
        finally:
            policy.close()
    if not content.store.rows("SELECT 1 FROM verdicts WHERE verdict = 'FLAKY' LIMIT 1"):
        for what in ("decisions", "permitted sets"):
            del report.not_checked[what]
    report.not_checked["runs of the policy"] -= count
    report.not_checked = +report.not_checked
    return Replay(report, count, tuple(changed))


def _planning_differences(
    content: Content, name: str, task: AnyTask, policy: Policy | LabelPolicy, settings: Settings
) -> Iterator[tuple[str, str | None]]:
    assert isinstance(task, Task)
    assert isinstance(policy, Policy)
    findings = content.findings(name)
    flaky = findings.flaky()  # they have no verdict
    runs = {run.number: run for run in findings.runs()}
    own = settings.of_planning
    runner = make_runner(
        policy,
        revisit=own.revisit,
        permitted_limit=own.permitted_limit,
        costly_some=own.costly_some,
    )
    sets = {} if flaky else findings.permitted_sets()
    if sets and isinstance(runner.policy, WorstCase):
        asked = runner.policy.sets([state_of(task, own, content.store.path) for own in sets])
        if {tuple(own.state.values): own.operators for own in asked} != sets:
            yield name, "the policy now permits other operators"
    for row in findings.states():
        if row.run in runs and row.number not in flaky:
            state = state_of(task, row.state, content.store.path)
            now = runner.trace(state, settings.max_steps)
            then = trace_of(task, state, runs[row.run])
            difference = _difference(task, now, then)
            if difference is None and isinstance(runner.policy, WorstCase):
                difference = _set_difference(runner.policy.facts(state), runs_of(runs[row.run]))
            yield f"{name}:{row.number}", difference


def _difference(task: Task, now: Trace, then: Trace) -> str | None:
    for step, (ours, theirs) in enumerate(zip(now.operators, then.operators, strict=False)):
        if ours != theirs:
            did, before = task.operator_name(ours), task.operator_name(theirs)
            return f"the policy now does ({did}) at step {step}, not ({before})"
    if now.outcome != then.outcome:
        return f"the policy's run now ends with {now.outcome}, not {then.outcome}"
    if len(now.operators) != len(then.operators):
        return f"the policy's run now has {len(now.operators)} steps, not {len(then.operators)}"
    if now.outcome == "inapplicable" and now.named != then.named:
        return "the policy's run now ends with another operator that does not apply"
    return None


def _set_difference(now: PermittedRuns, then: PermittedRuns | None) -> str | None:
    """Of a set-valued policy: what is known of all permitted runs, if all of them are known both times."""
    if then is None or not (now.closed and then.closed):
        return None
    if (now.least, now.most) == (then.least, then.most):
        return None
    return "the policy now permits cheaper or more expensive runs"


def _model_differences(
    content: Content,
    name: str,
    task: JaniTask,
    policy: Policy | LabelPolicy,
    settings: Settings,
) -> Iterator[tuple[str, str | None]]:
    assert isinstance(policy, LabelPolicy)
    system = system_of(task, policy, policy.engine)
    findings = content.findings(name)
    flaky = findings.flaky()
    sound = {row.run for row in findings.states() if row.number not in flaky}
    bad = {row.state for row in findings.contradictions()}
    for row in () if flaky else read_decisions(findings):
        if system.native.decision(system.id(row.state)) != row.label:
            yield name, f"the policy now decides otherwise in {task.text(row.state)}"
            break
    for run in findings.runs():
        if run.number in sound or not flaky:
            # There is no verdict on the part up to the last contradiction.
            met = [step for step, state in enumerate(run.states or ()) if state in bad]
            first = met[-1] + 1 if met else 0
            changed = _changed_label(task, system.native, system.id, run, first)
            if changed is None and run.outcome == "safe":
                budget = Budget(expansions=settings.of_model.evaluations)
                if envelope(system, [(run.states or ())[0]], budget).answer is not Answer.SAFE:
                    changed = "that the policy is safe from there is not found again"
            yield f"{name} run {run.number}", changed


def _changed_label(task: JaniTask, native: Any, id_of: Any, run: RunRow, first: int) -> str | None:
    decisions = list(zip(run.states or (), run.operators, strict=False))
    for step, (state, label) in enumerate(decisions[first:], first):
        decision = native.decision(id_of(state))
        if decision != label:
            now = "nothing" if decision is None else task.labels[decision]
            return f"the policy now does {now} at step {step}, not {task.labels[label]}"
    return None


__all__ = ["Replay", "replay"]
