"""Small tasks are certified, of the same family and 1-minimal, and do not depend on jobs or interruptions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path

import pytest

import misstep
from misstep.campaigns.campaign import Campaign
from misstep.campaigns.states import state_of
from misstep.comparison.shrink import Shrunk, shrunk_of
from misstep.comparison.shrink.api import _judge, in_order
from misstep.comparison.shrink.examine import Candidate, Examiner
from misstep.comparison.shrink.legal import Invariants
from misstep.comparison.shrink.problem import Problem, from_state, read_problem
from misstep.comparison.shrink.projection import Projector
from misstep.comparison.shrink.search import PHASES, Space
from misstep.errors import MisstepError
from misstep.tasks.census import Census, state_space
from misstep.tasks.models import generate_model
from misstep.tasks.task import Task
from quality.test_models import PLANTS as MODEL_PLANTS
from support.commands import misstep as command
from support.planted import ModelPlant
from support.small import task_of
from support.smallest import PLANTS, smallest

pytestmark = pytest.mark.soundness

CASES = [
    ("gripper", {"balls": 3}, "first"),
    ("ferry", {"cars": 2, "locations": 3}, "first"),
    ("blocksworld", {"blocks": 4}, "heuristic:ff"),
    ("visitall", {"width": 3, "height": 3}, "heuristic:ff"),
    ("transport", {"vehicles": 1, "packages": 2, "locations": 3}, "first"),
]


def campaign_of(case: tuple[str, dict[str, int], str], folder: Path) -> Campaign:
    domain, sizes, policy = case
    return misstep.test(task_of(domain, **sizes), policy, pool=30, out=folder)


def start_problem(task: Task, shrunk: Shrunk, record: misstep.Record) -> tuple[Problem, Invariants]:
    """The whole problem from the start of the small one."""
    assert task.pddl is not None
    state = state_of(task, record.state)
    for operator in record.run.operators[: shrunk.note.start]:
        state = task.apply(state, operator)
    return from_state(read_problem(task.pddl[1]), task, state), Invariants(task, state)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_small_tasks_are_certified_and_1_minimal(
    case: tuple[str, dict[str, int], str], tmp_path: Path
) -> None:
    with campaign_of(case, tmp_path / "found") as campaign:
        bug = in_order([own for own in campaign.bugs if own.family is not None])[0]
        shrunk = campaign.shrink(bug)
        assert shrunk.minimal
        assert shrunk.campaign.replay(rerun=True, full=True).ok
        assert shrunk.record.family == bug.family
        task, small = campaign.tasks[0], shrunk.task
        assert isinstance(task, Task)
        assert isinstance(small, Task)
        assert small.pddl is not None
        # Brute force: everything single that is left, by the translator, in every legal way.
        _, invariants = start_problem(task, shrunk, bug)
        space = Space(invariants, "mutex")
        problem = read_problem(small.pddl[1])
        assert invariants.consistent(problem)
        examiner = Examiner(_judge(campaign, bug), small.pddl[0], "single")
        for phase in PHASES[1:]:
            for element in space.elements(phase, problem):
                for way in space.without(phase, problem, [element]):
                    examined = examiner.examine(Candidate(way, exact=True), None)
                    assert not examined.works, (phase, element)


@pytest.mark.parametrize("case", CASES[:2], ids=lambda case: case[0])
def test_the_number_of_jobs_changes_nothing(
    case: tuple[str, dict[str, int], str], tmp_path: Path
) -> None:
    with campaign_of(case, tmp_path / "found") as campaign:
        bug = campaign.bugs[0]
        notes = []
        for jobs in (1, 2):
            shrunk = campaign.shrink(bug, jobs=jobs, again=True)
            note = shrunk.as_dict()
            note["effort"].pop("seconds")
            notes.append((note, shrunk.problem_text, shrunk.record.as_dict()["run"]))
        assert notes[0] == notes[1]


def test_a_killed_command_continues_and_ends_with_the_same_result(tmp_path: Path) -> None:
    with campaign_of(CASES[0], tmp_path / "found") as campaign:
        bug = campaign.bugs[0].number
        expected = campaign.shrink(bug).problem_text
        campaign.save(tmp_path / "killed").close()
    place = tmp_path / "killed" / "shrunk"
    arguments = [sys.executable, "-m", "misstep", "shrink", str(tmp_path / "killed"), str(bug)]
    process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while not list(place.glob("*/run.db")) and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = command("shrink", tmp_path / "killed", str(bug), "--json")
    assert done.returncode == 0, done.stderr
    (own,) = json.loads(done.stdout)["shrunk"]
    assert own["minimal"]
    assert (Path(own["folder"]) / "problem.pddl").read_text() == expected
    assert command("replay", own["folder"], "--rerun").returncode == 0
    assert command("explain", own["folder"], "0").returncode == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_task_that_is_cut_out_is_the_one_that_is_translated(
    case: tuple[str, dict[str, int], str],
) -> None:
    """Up to names of variables: the same reachable states, transitions and distances."""
    task = task_of(case[0], **case[1])
    assert task.pddl is not None
    whole = from_state(read_problem(task.pddl[1]), task, task.initial_state)
    invariants = Invariants(task, task.initial_state)
    projector = Projector(task, whole)
    compared = 0
    for gone in [*combinations(whole.names, 1), *list(combinations(whole.names, 2))[::3]]:
        small = whole.without_objects(gone)
        for way in invariants.repairs(small, 1) if small.goals else ():
            source = misstep.tasks.pddl.text.Source("p.pddl", way.text("p").encode())
            cut = projector.project(way, "p", source)
            if cut is None:
                continue
            try:
                sas = misstep.tasks.pddl.translate.translate_sources((task.pddl[0], source))
                translated = Task(sas, name="p")
            except MisstepError:
                continue
            assert Census.of(state_space(cut)) == Census.of(state_space(translated)), gone
            assert set(cut.operator_names) == set(translated.operator_names)
            compared += 1
    assert compared


@pytest.mark.parametrize("plant", [PLANTS[0], PLANTS[3]], ids=lambda plant: plant.name)
def test_no_smaller_task_shows_a_planted_bug(plant: object, tmp_path: Path) -> None:
    campaign = plant.campaign(tmp_path)  # type: ignore[attr-defined]
    bug = in_order([bug for bug in campaign.bugs if bug.family is not None])[0]
    shrunk = campaign.shrink(bug)
    assert shrunk.objects_after is not None
    assert smallest(campaign, bug, shrunk.objects_after) is None


@pytest.mark.parametrize("plant", MODEL_PLANTS[:4], ids=lambda plant: plant.name)
def test_bugs_of_models_get_the_shortest_run(plant: ModelPlant, tmp_path: Path) -> None:
    truth = plant.truth()
    policy = plant.policy(truth)
    with misstep.test(truth.task, policy, runs=plant.runs, out=tmp_path / "found") as campaign:
        bug = campaign.bugs[0]
        shrunk = campaign.shrink(bug)
        record = shrunk.record
        assert shrunk.minimal
        assert record.family == bug.family
        assert shrunk.campaign.replay(policy).ok
        assert len(record.run.operators) <= len(bug.run.operators)
        # The state is one that can be kept safe, and no run of the policy from it is unsafe any sooner.
        assert record.state in truth.safe
        layer, seen, steps = {record.state}, {record.state}, 0
        while not any(truth.task.is_unsafe(state) for state in layer):
            named = [dict(zip(truth.task.variable_names, state, strict=True)) for state in layer]
            labels = [policy(values) for values in named]
            reached = {
                other
                for state, label in zip(layer, labels, strict=True)
                for other in truth.labels(state).get(label, ())
            }
            layer = reached - seen
            seen |= layer
            steps += 1
            assert layer
        assert steps == len(record.run.operators)
        stored = shrunk_of(campaign, bug)
        assert stored is not None
        assert stored.record.state == record.state


def test_constants_that_a_model_leaves_open_are_lowered(tmp_path: Path) -> None:
    """The constant widens the range of a variable that has nothing to do with the unsafe states."""
    document = generate_model("one-way-line", cells=6, packages=2, vmax=3, drop=True).document
    document["constants"] = [{"name": "extra", "type": "int"}]
    bound = {"op": "+", "left": 2, "right": "extra"}
    document["variables"][0]["type"]["upper-bound"] = bound
    file = tmp_path / "model.jani"
    file.write_text(json.dumps(document))
    model = misstep.load_task(file, constants={"extra": 4})
    campaign = misstep.test(model, "first", runs=50)
    bug = campaign.bugs[0]
    shrunk = campaign.shrink(bug)
    assert (shrunk.note.before.constants, shrunk.note.after.constants) == (4, 0)
    assert "extra = 0" in shrunk.removed
    assert shrunk.record.family == bug.family
    assert shrunk.campaign.replay("first").ok
    untouched = campaign.shrink(bug, legal="reachable")
    assert untouched.record.state in (bug.run.states or ())
