"""The check of an exported test: run the policy from the state of a bug, and compare with the witness.

On a planning task the policy passes if its run reaches the goal at no higher cost than the witness. On a model it
passes if it reaches no unsafe state within a limited exploration. An assertion fails only if the policy is still worse
than the witness. Anything that prevents an answer (a policy that cannot be loaded, crashes, or does not answer in time)
is an error, so that an expected failure never hides it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from misstep.checking import SasTask, parse_sas, validate_plan
from misstep.errors import (
    InputFormatError,
    PolicyCrashError,
    PolicyTimeoutError,
    UndecidedError,
    UsageError,
)
from misstep.files import read_bytes
from misstep.policies.labels.policy import LabelPolicy
from misstep.policies.load import load_policy
from misstep.policies.policy import Policy
from misstep.policies.trust import is_plain
from misstep.reports.exports.cases import Case, Cases, TaskFiles
from misstep.runs.make import make_runner
from misstep.runs.permitted import WorstCase
from misstep.runs.runner import PolicyRunner, Trace
from misstep.safety.jani import system_of
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask, load_task
from misstep.tasks.pddl.text import read_source
from misstep.tasks.task import State, Task

MOST_STATES = 100_000  # of a model, that are explored under the policy
_SHOWN = 30  # steps or facts of a message
_MOST_SAS_BYTES = 512 * 2**20


class Bench:
    """Judges the cases of one data file; tasks and policies are loaded once."""

    def __init__(self, cases: Cases, folder: Path, policy: Any) -> None:
        """`policy` is the policy of the user; None: the policy named in the file, if loading it runs no code."""
        self._cases = cases
        self._folder = folder
        self._policy = policy
        self._tasks: dict[str, AnyTask] = {}
        self._plain: dict[str, SasTask] = {}
        self._runners: dict[str, PolicyRunner] = {}
        self._label_policies: dict[str, LabelPolicy] = {}

    def check(self, case: Case) -> None:
        """Raise an `AssertionError` in plain words if the policy is worse than the witness."""
        __tracebackhide__ = True
        try:
            problem = self._problem(case)
        # The data are written by us, but people may change or merge them.
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputFormatError(
                f"the case cannot be read: {type(error).__name__}: {error!s:.100}",
                where=f"{case.key!s:.80}",
                hint="export the tests again",
            ) from error
        if problem is not None:
            raise AssertionError(problem)

    def _problem(self, case: Case) -> str | None:
        task = self._task(case.task)
        if isinstance(task, JaniTask):
            return self._of_model(case, task)
        return self._of_task(case, task)

    def close(self) -> None:
        for runner in self._runners.values():
            runner.policy.close()
        for policy in self._label_policies.values():
            policy.close()

    def _task(self, key: str) -> AnyTask:
        if key not in self._tasks:
            self._tasks[key] = load_files(self._cases.tasks[key], self._folder)
        return self._tasks[key]

    def _source(self, task: AnyTask) -> Any:
        if self._policy is not None:
            return self._policy
        spec = self._cases.policy
        if spec is not None and is_plain(spec, of_model=isinstance(task, JaniTask)):
            return spec
        raise UsageError(
            "the policy to test is missing",
            expected="--misstep-policy SPEC, or the setting misstep_policy of pytest",
            hint="a fixture of your own called misstep_policy may return any policy"
            + ("" if spec is None else f"; the bugs were found in {spec}"),
        )

    # -- planning tasks ---------------------------------------------------------------------------

    def _of_task(self, case: Case, task: Task) -> str | None:
        start = _state(case, task)
        self._check_witness(case, task, start)
        runner = self._runner(case, task)
        run = runner.trace(start, case.settings.get("max_steps"))
        _refuse_no_answer(case, run)
        enough = enough_for(case)
        any_goal = case.settings.get("objective") == "goal"
        is_within = any_goal or enough is None or run.cost <= enough
        if run.outcome == "cut" and is_within:
            raise UndecidedError(
                f"the run was cut after {len(run.operators)} steps, before the result was clear",
                where=case.key,
            )
        if run.outcome == "goal" and is_within:
            chooser = runner.policy
            if isinstance(chooser, WorstCase) and not chooser.facts(start).closed:
                raise UndecidedError(
                    "the policy permits too many runs to tell whether all are good enough",
                    where=case.key,
                )
            return None
        return _planning_words(case, task, run, enough)

    def _runner(self, case: Case, task: Task) -> PolicyRunner:
        settings = case.settings
        key = f"{case.task} {settings}"
        if key not in self._runners:
            policy = load_policy(self._source(task), task)
            assert isinstance(policy, Policy)
            self._runners[key] = make_runner(
                policy,
                revisit=settings.get("revisit", "stop"),
                permitted_limit=settings["permitted_limit"],
                costly_some=settings.get("costly_some", False),
            )
        return self._runners[key]

    def _check_witness(self, case: Case, task: Task, start: State) -> None:
        """Check that the witness is still a plan, because the files may have changed."""
        names = case.witness.get("operators")
        if names is None:
            return
        if case.task not in self._plain:
            self._plain[case.task] = parse_sas(task.sas.decode())
        cost = case.witness["cost"]
        report = validate_plan(self._plain[case.task], names, start.values, cost)
        if not report.valid:
            raise InputFormatError(f"the witness is not a plan any more: {report}", where=case.key)

    # -- models -----------------------------------------------------------------------------------

    def _of_model(self, case: Case, task: JaniTask) -> str | None:
        names = task.variable_names
        if tuple(case.state) != names:
            raise InputFormatError("the state is not a state of the model", where=case.key)
        state = tuple(case.state[name] for name in names)
        policy = self._label_policy(case, task)
        system = system_of(task, policy, policy.engine)
        limit = case.settings.get("max_states", MOST_STATES)
        run = _same_run(case, task, system.native, policy.engine)
        if run is None:
            run = unsafe_run(system.native, policy.engine, policy.engine.intern(state), limit)
        if run is None:
            return None
        states = [policy.engine.values(id) for id in run]
        decisions = [system.native.decision(id) for id in run[:-1]]
        labels = ["nothing" if own is None else task.labels[own] for own in decisions]
        return _model_words(case, task, states, labels)

    def _label_policy(self, case: Case, task: JaniTask) -> LabelPolicy:
        key = f"{case.task} {case.settings.get('inapplicable')}"
        if key not in self._label_policies:
            chosen = case.settings.get("inapplicable")
            source = self._source(task)
            self._label_policies[key] = load_policy(source, task, inapplicable=chosen)
        return self._label_policies[key]


def enough_for(case: Case) -> int | None:
    """The cost that the witness of a planning task proves to be enough, by a plan or by a derivation."""
    proven = (case.witness.get("cost"), case.witness.get("bound"))
    return min((own for own in proven if own is not None), default=None)


def load_files(own: TaskFiles, folder: Path) -> AnyTask:
    """A task from the files beside the data."""
    paths = [folder / name for name in own.files]
    if own.world == "planning" and len(paths) == 3:
        domain, problem = (read_source(path) for path in paths[:2])
        sas = read_bytes(paths[2], _MOST_SAS_BYTES, "a SAS file")
        return Task(sas, name=own.name, pddl=(domain, problem))
    # What lies beside a model is found by its name in the model.
    given = paths[:1] if own.world == "model" else paths
    task: AnyTask = load_task(*given, **own.options)
    task.name = own.name
    return task


def _same_run(case: Case, task: JaniTask, system: Any, engine: Any) -> list[int] | None:
    """The recorded unsafe run, if the policy still makes the same decisions along it, even if it is long."""
    states, labels = case.before.get("states"), case.before["operators"]
    if not states or len(states) != len(labels) + 1:
        return None
    ids = [engine.intern(tuple(state)) for state in states]
    for here, label, after in zip(ids[:-1], labels, ids[1:], strict=True):
        decision = system.decision(here)
        if decision is None or task.labels[decision] != label:
            return None
        if after not in system.policy_outcomes(here):
            return None
    return ids if engine.is_unsafe(ids[-1]) else None


def unsafe_run(system: Any, engine: Any, start: int, limit: int) -> list[int] | None:
    """A shortest run of the policy to an unsafe state, as ids; None if none of the first `limit` states is unsafe."""
    parents = {start: start}
    for id in (queue := [start]):  # grows
        if engine.is_unsafe(id):
            run = [id]
            while run[-1] != start:
                run.append(parents[run[-1]])
            return run[::-1]
        if len(parents) >= limit:
            continue  # those that are known are still looked at
        for outcome in system.policy_outcomes(id):
            if outcome not in parents:
                parents[outcome] = id
                queue.append(outcome)
    return None


def _state(case: Case, task: Task) -> State:
    if all(type(value) is int for value in case.state):
        text = " ".join(map(str, case.state))
    else:
        text = ", ".join(map(str, case.state))
    return task.parse_state(text)


def _refuse_no_answer(case: Case, run: Trace) -> None:
    if run.outcome == "timeout":
        raise PolicyTimeoutError("the policy did not answer in time", where=case.key)
    if run.outcome == "error" and case.kind != "crash":
        raise PolicyCrashError(f"the policy failed: {run.message}", where=case.key)


def _planning_words(case: Case, task: Task, run: Trace, enough: int | None) -> str:
    did = [task.operator_name(op) for op in run.operators]
    if run.outcome == "goal":
        how = f"the policy reaches the goal at cost {run.cost}"
    else:
        how = f"the policy does not reach the goal (its run ends with: {run.outcome})"
    plan = case.witness.get("operators")
    by_plan = plan is not None and case.witness.get("cost") == enough
    better = f"a plan costs {enough}" if by_plan else f"it is proven that {enough} is enough"
    lines = [
        f"{case.id} is a bug: {how}, and {better}.",
        f"  state:   {_few(case.state, ', ')}",
        f"  policy:  {_few([f'({name})' for name in did])}",
    ]
    if plan is not None:
        lines.append(f"  witness: {_few([f'({name})' for name in plan])}")
        step = _divergence(did, plan)
        ours = f"({did[step]})" if step < len(did) else "nothing more"
        theirs = f"({plan[step]})" if step < len(plan) else "nothing more"
        lines.append(
            f"  They diverge at step {step}: the policy does {ours}, the witness {theirs}."
        )
    if run.message:
        lines.append(f"  The policy says: {run.message}")
    return "\n".join(lines)


def _divergence(run: Sequence[str], plan: Sequence[str]) -> int:
    pairs = enumerate(zip(run, plan, strict=False))
    return next((k for k, (ours, theirs) in pairs if ours != theirs), min(len(run), len(plan)))


def _model_words(
    case: Case, task: JaniTask, states: list[tuple[Any, ...]], labels: list[str]
) -> str:
    lines = [
        f"{case.id} is a bug: under the policy an unsafe state can be reached in {len(labels)} "
        "step(s), and a strategy avoids it.",
        f"  state:  {task.text(states[0])}",
        f"  policy: {_few(labels)}",
        f"  unsafe: {task.text(states[-1])}",
    ]
    strategy = {tuple(state): label for state, label in case.witness.get("strategy") or ()}
    for step, (state, label) in enumerate(zip(states, labels, strict=False)):
        better = strategy.get(state)
        if better is not None and better != label:
            lines.append(
                f"  They diverge at step {step}, in {task.text(state)}: the policy does {label}, "
                f"the witness {better}."
            )
            break
    return "\n".join(lines)


def _few(items: Sequence[Any], between: str = " ") -> str:
    shown = between.join(map(str, items[:_SHOWN]))
    return shown if len(items) <= _SHOWN else f"{shown} ... ({len(items)} in all)"


__all__ = ["MOST_STATES", "Bench", "enough_for", "load_files", "unsafe_run"]
