"""Readers of tasks: SAS, PDDL and JANI, and of plans. Where there are two readers of a format, they have to agree."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path

from attack.fuzzing.mutators import Files
from attack.fuzzing.reader import CODES, DisagreementError, Reader, placed
from misstep.checking import Failure, PlanReport, parse_sas, validate_plan
from misstep.checking.jani import SafetyTask
from misstep.checking.plan import read_plan as parse_plan
from misstep.checking.sas import SasTask
from misstep.checking.semantics import effect_of, is_applicable, is_goal
from misstep.errors import InputFormatError, MisstepError, UnsupportedError, UsageError
from misstep.planning import plan
from misstep.policies.load import load_policy
from misstep.runs.single import run_once
from misstep.tasks.domains import generate
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.prism import translation
from misstep.tasks.jani.task import JaniTask, State
from misstep.tasks.models import generate_model
from misstep.tasks.pddl.lifted import lift
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.pddl.precheck import check_pair
from misstep.tasks.pddl.text import read_source
from misstep.tasks.task import Task
from support import jani
from support.tasks import CONDITIONAL, small_task

# -- SAS ------------------------------------------------------------------------------------------


def sas_seeds() -> list[Files]:
    texts = [small_task(name).sas for name in ("gripper-4", "ferry-3", "visitall-3x3")]
    return [{"task.sas": text} for text in (*texts, CONDITIONAL.encode())]


def read_sas(files: Files, _: Path) -> None:
    content = files["task.sas"]
    ours, theirs = _native(content), _independent(content)
    if isinstance(ours, UnsupportedError):  # axioms: read, then refused
        if isinstance(theirs, SasTask):
            return
        raise DisagreementError(f"only the native reader accepts it: {theirs}")
    if isinstance(ours, Task) != isinstance(theirs, SasTask):
        raise DisagreementError(f"native: {ours!r}, checker: {theirs!r}")
    if isinstance(ours, Task) and isinstance(theirs, SasTask):
        _compare_sas(ours, theirs)
        _compare_steps(ours, theirs)
    elif isinstance(ours, Exception):
        raise ours


def _native(content: bytes) -> Task | MisstepError:
    try:
        return Task(content)
    except (InputFormatError, UnsupportedError) as error:
        return error


def _independent(content: bytes) -> SasTask | MisstepError | UnicodeError:
    try:
        return parse_sas(content.decode(), "x")
    except (InputFormatError, UnicodeError) as error:
        return error


def _compare_sas(ours: Task, theirs: SasTask) -> None:
    count = range(ours.operator_count)
    pairs: dict[str, tuple[object, object]] = {
        "names": ([op.name for op in theirs.operators], [*ours.operator_names]),
        "costs": ([op.cost for op in theirs.operators], [ours.cost(op) for op in count]),
        "initial": ([*theirs.initial_state], [*ours.initial_state.values]),
        "goal": (sorted(theirs.goal), sorted(map(tuple, ours.goal))),
        "values": ([[*v.values] for v in theirs.variables], [[*n] for n in ours.fact_names]),
        "preconditions": (
            [sorted(op.preconditions()) for op in theirs.operators],
            [sorted(map(tuple, ours.preconditions(op))) for op in count],
        ),
    }
    for what, (left, right) in pairs.items():
        if left != right:
            raise DisagreementError(f"{what}: {str(left)[:300]} and {str(right)[:300]}")


def _compare_steps(ours: Task, theirs: SasTask) -> None:
    """What operators do, in the states along one run: effects, their conditions and their order."""
    state = ours.initial_state
    for step in range(4):
        values = tuple(state.values)
        possible = [*ours.applicable(state)]
        if sorted(possible) != [
            op for op, own in enumerate(theirs.operators) if is_applicable(values, own)
        ]:
            raise DisagreementError(f"applicable in {values}: {possible[:20]}")
        if ours.is_goal(state) != is_goal(values, theirs):
            raise DisagreementError(f"whether {values} is a goal")
        for op in possible[:20]:
            after = ours.apply(state, op)
            if tuple(after.values) != effect_of(values, theirs.operators[op]):
                raise DisagreementError(f"operator {op} in {values}: {after.values}")
        if not possible:
            return
        state = ours.apply(state, possible[step % len(possible)])


# -- PDDL -----------------------------------------------------------------------------------------


def pddl_seeds() -> list[Files]:
    choices = {"gripper": {"balls": 2}, "ferry": {"cars": 2}, "spanner": {}, "satellite": {}}
    return [
        {name: text.encode() for name, text in generate(domain, **sizes).files.items()}
        for domain, sizes in choices.items()
    ]


def read_pddl(files: Files, place: Path) -> None:
    """Without the translator, which takes a tenth of a second a file."""
    folder = placed(files, place)
    domain, problem = (read_source(folder / name) for name in _pair(files))
    check_pair(domain, problem)
    lift(domain, problem)


def read_translated(files: Files, place: Path) -> None:
    folder = placed(files, place)
    domain, problem = (folder / name for name in _pair(files))
    task = load_planning_task(domain, problem, use_cache=False, time_limit=60)
    task.applicable(task.initial_state)


def _pair(files: Files) -> tuple[str, str]:
    (problem,) = (name for name in files if "domain" not in name)
    (domain,) = (name for name in files if "domain" in name)
    return domain, problem


# -- JANI -----------------------------------------------------------------------------------------

MODELS = {
    "one-way-line": {"cells": 3, "packages": 1, "vmax": 2},
    "two-way-line": {"cells": 3, "packages": 1, "vmax": 2},
    "blocksworld-cost": {"blocks": 2, "limit": 1, "max_cost": 2},
    "n-puzzle": {"width": 2, "height": 2, "max_cost": 1, "tile": 1, "cell": 3},
    "bouncing-ball": {},
}


def jani_seeds() -> list[Files]:
    found = []
    for name, choices in MODELS.items():
        model = generate_model(name, starts=5, **choices)
        found.append({"model.jani": next(iter(model.files.values())).encode()})
    return found


def read_jani(files: Files, place: Path) -> None:
    path = placed(files, place) / "model.jani"
    try:
        task = load_jani(path)
    except UsageError as error:
        # The user can give the value that a constant has lost.
        if "parameters without a value" not in str(error):
            raise
        return
    try:
        checker = SafetyTask.from_source(task.source)
    except UnsupportedError:
        checker = None
    try:
        starts = task.initial_states(max_steps=1000)
    except MisstepError:
        return
    if checker is not None:
        for state in starts[:5]:
            _compare_jani(task, checker, state)


def prism_seeds() -> list[Files]:
    """What the process of stormpy answers."""
    reward = {"name": "r", "type": "real", "initial-value": 0.0, "transient": True}
    model = jani.model(
        [jani.variable("x", jani.bounded(0, 3), 0), reward],
        [
            {
                **jani.edge("a", True, jani.destination({"x": 1})),
                "assignments": [{"ref": "r", "value": 1}],
            }
        ],
    )
    found = [b'{"kind": "mdp"}\n' + json.dumps(model).encode()]
    return [{"answer": own} for own in (*found, b'{"error": "line 3"}\n', b'{"missing": "libx"}\n')]


def read_prism(files: Files, place: Path) -> None:
    path = place / "x.prism"
    path.write_bytes(translation(files["answer"], path))
    read_jani({"model.jani": path.read_bytes()}, place)


def _compare_jani(task: JaniTask, checker: SafetyTask, state: State) -> None:
    """An error of the model, such as a value beyond its bounds, has to be one for both."""
    _same("unsafe", state, lambda: task.is_unsafe(state), lambda: checker.is_unsafe(state))
    _same(
        "goal",
        state,
        lambda: task.is_goal(state),
        lambda: checker.is_goal(state) and not checker.is_unsafe(state),
    )
    for label in range(len(task.labels)):
        # By text: 1, 1.0 and True are equal in Python.
        ours = partial(_texts, partial(task.outcomes, state, label, raw=True))
        theirs = partial(_texts, partial(checker.model.outcomes_of, state, label))
        _same(f"outcomes of {label}", state, ours, theirs)


def _texts(outcomes: Callable[[], Iterable[object]]) -> list[str]:
    return sorted(map(repr, outcomes()))


def _same(
    what: str, state: State, ours: Callable[[], object], theirs: Callable[[], object]
) -> None:
    answers: list[object] = []
    for ask in (ours, theirs):
        try:
            answers.append(ask())
        except MisstepError:
            answers.append("an error")
    if answers[0] != answers[1]:
        raise DisagreementError(f"{what} in {state}: {answers[0]} and {answers[1]}")


# -- plans ----------------------------------------------------------------------------------------


def plan_seeds() -> Sequence[Files]:
    task = small_task("gripper-4")
    names = plan(task).operators or ()
    text = "".join(f"({name})\n" for name in names) + f"; cost = {len(names)} (unit cost)\n"
    return [{"plan": text.encode()}, {"plan": text.upper().replace("\n", "\r\n").encode()}]


def read_plan(files: Files, place: Path) -> None:
    task = small_task("gripper-4")
    file = placed(files, place) / "plan"
    theirs: PlanReport | MisstepError
    try:
        theirs = validate_plan(_gripper(), parse_plan(file))
    except MisstepError as error:
        theirs = error
    fits = isinstance(theirs, PlanReport) and theirs.failure in (None, Failure.GOAL_NOT_REACHED)
    try:
        policy = load_policy(f"plan:{file}", task)
    except InputFormatError as error:
        if fits:
            raise DisagreementError(f"only the checker accepts it: {error}") from error
        raise
    if not fits:
        raise DisagreementError(f"only the policy accepts it: {theirs}")
    assert isinstance(theirs, PlanReport)
    run = run_once(policy, task.initial_state)
    # A run ends in the first goal; a plan may go on behind it.
    if run.outcome != "goal" and run.states[-1].values != theirs.final_state:
        raise DisagreementError(f"the policy ends in {run.states[-1]}, the plan in {theirs}")


@cache
def _gripper() -> SasTask:
    return parse_sas(small_task("gripper-4").sas.decode())


READERS = (
    Reader("sas", sas_seeds, read_sas, cases=3750),
    Reader("pddl", pddl_seeds, read_pddl, cases=1000),
    Reader("translated", pddl_seeds, read_translated, codes=CODES | {33}, cases=20),
    Reader("jani", jani_seeds, read_jani, cases=625),
    Reader("prism-answers", prism_seeds, read_prism, codes=CODES | {34}, cases=1000),
    Reader("plan", plan_seeds, read_plan, cases=1250),
)
