"""Exported tests, run by a pytest of their own: what fails, what passes, and what an update does."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import misstep
from misstep.campaigns.campaign import Campaign
from misstep.errors import InputFileError, InputFormatError, UndecidedError
from misstep.policies.load import load_policy
from misstep.reports.exports.cases import (
    DATA_NAME,
    MODULE_NAME,
    TaskFiles,
    read_cases,
    read_own_cases,
)
from misstep.reports.exports.judge import Bench, enough_for, load_files, unsafe_run
from misstep.reports.exports.regression import export_tests
from misstep.runs.runner import PolicyRunner
from misstep.safety.jani import system_of
from misstep.tasks.domains import generate as generate_planning
from misstep.tasks.domains.write import write_instance
from misstep.tasks.generate import generate
from misstep.tasks.task import Task
from support.campaigns import MODELS, NOISY, ModelTruth, small_model
from support.disk import files_up_to
from support.dominance import logistics
from support.exports import model_campaign, planning_campaign, run_pytest, strategy_policy
from support.jani import TINY_LINE, write
from support.tasks import small_task


def counts(text: str) -> dict[str, int]:
    """The last line of pytest, such as `2 failed, 3 xfailed in 0.1s`."""
    return {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", text.splitlines()[-1])}


def bench(folder: Path, policy: object) -> tuple[Bench, list[str]]:
    """The judge of a folder, and what it says of each case; an empty text where the policy is as good."""
    cases = read_cases(folder / DATA_NAME)
    own = Bench(cases, folder, policy)
    said = []
    for case in cases.cases:
        try:
            own.check(case)
            said.append("")
        except AssertionError as error:
            said.append(str(error))
    own.close()
    return own, said


# -- real runs of pytest ------------------------------------------------------------------------------


def test_bugs_of_tasks_are_expected_to_fail_until_they_are_fixed(tmp_path: Path) -> None:
    campaign = planning_campaign()
    bugs = [campaign.bugs[0], campaign.bugs[-1]]
    assert bugs[0].task != bugs[1].task
    done = export_tests(campaign, tmp_path, bugs=bugs)
    assert len(done.added) == 2
    # The policy of the campaign runs no code of others, so that it need not be named.
    same = run_pytest(tmp_path, cwd=tmp_path)
    assert (same.returncode, counts(same.stdout)["xfailed"]) == (0, 2), same.stdout
    fixed = run_pytest(tmp_path, "--misstep-policy", "optimal", cwd=tmp_path)
    assert fixed.returncode == 1
    assert counts(fixed.stdout)["failed"] == 2
    assert "[XPASS(strict)]" in fixed.stdout
    assert "the bug is fixed: export the tests again" in fixed.stdout
    shown = run_pytest(tmp_path, "--runxfail", cwd=tmp_path)
    assert f"{bugs[0].id} is a bug: " in shown.stdout
    assert "They diverge at step " in shown.stdout


def test_bugs_of_models_are_expected_to_fail_until_they_are_fixed(tmp_path: Path) -> None:
    campaign = model_campaign()
    export_tests(campaign, tmp_path, bugs=campaign.bugs[:2])
    same = run_pytest(tmp_path, cwd=tmp_path)
    assert (same.returncode, counts(same.stdout)["xfailed"]) == (0, 2), same.stdout
    spec = strategy_policy(tmp_path, campaign)
    fixed = run_pytest(tmp_path, "--misstep-policy", spec, cwd=tmp_path)
    assert fixed.returncode == 1
    assert counts(fixed.stdout)["failed"] == 2, fixed.stdout
    assert fixed.stdout.count("[XPASS(strict)]") >= 2


def test_a_policy_that_cannot_be_asked_is_not_an_expected_failure(tmp_path: Path) -> None:
    campaign = planning_campaign()
    export_tests(campaign, tmp_path / "tests", bugs=campaign.bugs[:1])
    (tmp_path / "crash.py").write_text("def act(state):\n    raise ValueError('broken')\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmisstep_policy = python:crash.py:act\n")
    crashed = run_pytest("tests", cwd=tmp_path)
    assert crashed.returncode == 1
    assert "the policy failed: " in crashed.stdout
    assert "broken" in crashed.stdout
    gone = run_pytest("tests", "--misstep-policy", "python:nowhere.py:act", cwd=tmp_path)
    assert gone.returncode == 1
    assert "nowhere.py" in gone.stdout
    assert "Traceback" not in gone.stdout


def test_a_full_disk_leaves_no_export_or_the_old_one(tmp_path: Path) -> None:
    campaign = planning_campaign()
    bugs = campaign.bugs
    for folder in (tmp_path / "new" / "tests", tmp_path / "old"):
        if folder.name == "old":
            export_tests(campaign, folder, bugs=bugs[:1])
        before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
        size = 4096  # of the largest file that the disk takes
        with files_up_to(size), pytest.raises(InputFileError, match=f"{DATA_NAME}: cannot write"):
            export_tests(campaign, folder, bugs=bugs)
        assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
        assert not (tmp_path / "new").exists()


def test_what_a_derivation_proves_is_asked_for(tmp_path: Path) -> None:
    """A derivation may prove less to be enough than the plan beside it costs."""
    campaign = misstep.test(logistics(2, 2), "noisy:0.4:1+heuristic:ff", pool=30, oracle="bmo(0)")
    bugs = [bug for bug in campaign.bugs if bug.witness.type == "derivation"]
    assert any((bug.witness.cost or 0) > (bug.witness.bound or 0) for bug in bugs)
    export_tests(campaign, tmp_path, bugs=bugs)
    cases = {case.id: case for case in read_cases(tmp_path / DATA_NAME).cases}
    for bug in bugs:
        assert bug.bounds is not None
        assert enough_for(cases[bug.id]) == bug.bounds[1]


def test_a_run_that_is_cut_early_is_no_expected_failure(tmp_path: Path) -> None:
    export_tests(campaign := planning_campaign(), tmp_path, bugs=campaign.bugs[:1])
    cases = read_cases(tmp_path / DATA_NAME)
    case = cases.cases[0]
    short = replace(case, settings={**case.settings, "max_steps": 1})
    with pytest.raises(UndecidedError, match="cut after 1 steps"):
        Bench(cases, tmp_path, "optimal").check(short)


def test_a_fixture_of_the_user_brings_any_policy(tmp_path: Path) -> None:
    campaign = planning_campaign()
    export_tests(campaign, tmp_path, bugs=campaign.bugs[:1])
    (tmp_path / "conftest.py").write_text(
        "import pytest\n"
        "@pytest.fixture(scope='session')\n"
        "def misstep_policy():\n"
        "    return lambda state: None\n"
    )
    stuck = run_pytest(tmp_path, "--runxfail", cwd=tmp_path)
    assert "does not reach the goal (its run ends with: stuck)" in stuck.stdout, stuck.stdout


def test_no_bugs_make_a_file_that_is_valid(tmp_path: Path) -> None:
    campaign = misstep.test(generate("gripper", balls=1), "optimal", pool=3)
    assert not campaign.bugs
    done = export_tests(campaign, tmp_path)
    assert "no bugs" in str(done)
    assert read_cases(tmp_path / DATA_NAME).cases == ()
    ran = run_pytest(tmp_path, cwd=tmp_path)
    assert (ran.returncode, counts(ran.stdout)["skipped"]) == (0, 1)


def test_pytest_alone_loads_nothing_of_the_core(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        "import sys\n"
        "def test_nothing_is_loaded():\n"
        "    own = {name for name in sys.modules if name.startswith('misstep')}\n"
        "    assert own == {'misstep', 'misstep.pytest_plugin'}\n"
    )
    ran = run_pytest(tmp_path, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout
    assert "--misstep-policy" in run_pytest("--help", cwd=tmp_path).stdout
    assert "misstep_bugs(file)" in run_pytest("--markers", cwd=tmp_path).stdout


def test_damaged_data_is_one_line(tmp_path: Path) -> None:
    campaign = planning_campaign()
    export_tests(campaign, tmp_path, bugs=campaign.bugs[:1])
    (tmp_path / DATA_NAME).write_text('{"format": "misstep-tests", "version": 1}')
    ran = run_pytest(tmp_path, cwd=tmp_path)
    assert ran.returncode != 0
    assert "not the data of exported tests: no 'tasks'" in ran.stdout + ran.stderr


# -- the judge ----------------------------------------------------------------------------------------


def test_the_judge_agrees_with_the_campaign_on_every_bug(tmp_path: Path) -> None:
    for name, campaign in (("tasks", planning_campaign()), ("models", model_campaign())):
        export_tests(campaign, tmp_path / name)
        _, said = bench(tmp_path / name, None)
        assert len(said) == len(campaign.bugs) > 3
        for text, bug in zip(said, campaign.bugs, strict=True):
            assert text.startswith(f"{bug.id} is a bug: ")
    assert all(not text for text in bench(tmp_path / "tasks", "optimal")[1])
    safe = strategy_policy(tmp_path, model_campaign())
    assert all(not text for text in bench(tmp_path / "models", safe)[1])


def test_the_words_name_both_ways_and_where_they_part(tmp_path: Path) -> None:
    campaign = planning_campaign()
    costly = next(bug for bug in campaign.bugs if bug.kind == "costly")
    export_tests(campaign, tmp_path, bugs=[costly])
    (text,) = bench(tmp_path, None)[1]
    assert (
        f"reaches the goal at cost {costly.run.cost}, and a plan costs {costly.witness.cost}."
        in text
    )
    explained = campaign.explain(costly).diff
    assert explained is not None
    assert explained.divergence is not None
    assert f"They diverge at step {explained.divergence.step}: the policy does (" in text
    model = model_campaign()
    export_tests(model, tmp_path / "model", bugs=model.bugs[:1])
    (text,) = bench(tmp_path / "model", None)[1]
    assert "an unsafe state can be reached in " in text
    assert re.search(
        r"They diverge at step \d+, in .*: the policy does \w+, the witness \w+\.", text
    )


def test_a_goal_is_enough_where_cost_does_not_count(tmp_path: Path) -> None:
    costly = next(bug for bug in planning_campaign().bugs if bug.kind == "costly")
    export_tests(planning_campaign(), tmp_path, bugs=[costly])
    path = tmp_path / DATA_NAME
    path.write_text(path.read_text().replace('"objective": "cost"', '"objective": "goal"'))
    assert bench(tmp_path, None)[1] == [""]


def test_a_witness_that_is_none_is_an_error(tmp_path: Path) -> None:
    campaign = planning_campaign()
    export_tests(campaign, tmp_path, bugs=campaign.bugs[:1])
    data = json.loads((tmp_path / DATA_NAME).read_text())
    data["cases"][0]["witness"]["operators"].pop()
    (tmp_path / DATA_NAME).write_text(json.dumps(data))
    with pytest.raises(InputFormatError, match="the witness is not a plan any more"):
        bench(tmp_path, None)


def test_tasks_of_sas_files_and_of_other_translations(tmp_path: Path) -> None:
    """A SAS task travels as such; so does one that the translator would not make again."""
    task = small_task("gripper-4")
    plain = Task(task.sas, name="plain")
    other = Task(task.sas + b"\n", name="other", pddl=task.pddl)
    for name, own, files in (("plain", plain, 1), ("other", other, 3)):
        campaign = misstep.test(own, NOISY, pool=10, seed=1)
        export_tests(campaign, tmp_path / name)
        cases = read_cases(tmp_path / name / DATA_NAME)
        assert len(next(iter(cases.tasks.values())).files) == files
        assert all(bench(tmp_path / name, None)[1])
        assert not any(bench(tmp_path / name, "optimal")[1])


def test_an_interface_that_the_property_names_travels_with_the_model(tmp_path: Path) -> None:
    interface = '{"input": [{"name": "x"}], "output": ["go"]}'
    (tmp_path / "net.jani2nnet").write_text(interface)
    document = copy.deepcopy(TINY_LINE)
    document["properties"][0]["expression"]["file"] = "net.jani2nnet"
    task = misstep.load_task(write(document, folder=tmp_path))
    campaign = misstep.test(task, "first", runs=3)
    export_tests(campaign, tmp_path / "tests")
    text = next((tmp_path / "tests").rglob("model.jani")).read_text()
    assert str(tmp_path) not in text
    (own,) = read_cases(tmp_path / "tests" / DATA_NAME).tasks.values()
    again = load_files(own, tmp_path / "tests")
    assert isinstance(again, misstep.Model)
    assert again.interface_file is not None
    assert again.interface_file.read_text() == interface
    assert all(bench(tmp_path / "tests", None)[1])


# -- exporting twice ----------------------------------------------------------------------------------


def again(campaign: Campaign, policy: str) -> Campaign:
    """The same states with another policy."""
    tasks = campaign.tasks
    return misstep.test(tasks, policy, pool=12, seed=1)


def marks(folder: Path) -> dict[str, bool]:
    return {case.key: case.expected_to_fail for case in read_cases(folder / DATA_NAME).cases}


def test_exporting_twice_changes_nothing(tmp_path: Path) -> None:
    first = export_tests(planning_campaign(), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    second = export_tests(planning_campaign(), tmp_path)
    assert (second.added, second.fixed, second.written) == ([], [], [])
    assert sorted(second.kept) == sorted(first.added)
    assert {path: path.read_bytes() for path in before} == before
    assert "nothing had to be written" in str(second)


def test_an_update_adds_new_bugs_and_lets_go_of_fixed_ones(tmp_path: Path) -> None:
    campaign = planning_campaign()
    first, *others = campaign.bugs
    export_tests(campaign, tmp_path, bugs=[first])
    more = export_tests(campaign, tmp_path)
    assert len(more.added) == len(others)
    assert len(more.kept) == 1
    assert all(marks(tmp_path).values())
    fixed = export_tests(again(campaign, "optimal"), tmp_path)
    # States that the walk of the other policy does not meet are left as they are.
    assert fixed.fixed
    assert not fixed.added
    assert len(fixed.fixed) + len(fixed.others) == len(campaign.bugs)
    now = marks(tmp_path)
    assert not any(now[key] for key in fixed.fixed)
    assert all(now[key] for key in fixed.others)
    twice = export_tests(again(campaign, "optimal"), tmp_path)
    assert (twice.kept, twice.fixed, twice.guarded) == ([], [], fixed.fixed)
    assert f"{len(fixed.fixed)} fixed before" in str(twice)
    assert "still there" not in str(twice)
    # A mark that is gone is not put back: the test guards against the return of the bug.
    export_tests(campaign, tmp_path)
    assert marks(tmp_path) == now


def test_two_campaigns_share_a_folder(tmp_path: Path) -> None:
    export_tests(planning_campaign(), tmp_path)
    done = export_tests(model_campaign(), tmp_path)
    assert len(done.added) == len(model_campaign().bugs)
    assert len(done.others) == len(planning_campaign().bugs)
    assert read_own_cases(tmp_path / DATA_NAME) is not None


def test_a_mark_may_be_set_by_hand(tmp_path: Path) -> None:
    export_tests(planning_campaign(), tmp_path)
    path = tmp_path / DATA_NAME
    path.write_text(
        path.read_text().replace('"expected_to_fail": true', '"expected_to_fail": false', 1)
    )
    export_tests(planning_campaign(), tmp_path)
    assert list(marks(tmp_path).values()).count(False) == 1


def test_what_was_changed_by_hand_is_not_overwritten(tmp_path: Path) -> None:
    campaign = planning_campaign()
    export_tests(campaign, tmp_path, bugs=campaign.bugs[:1])
    module, data = tmp_path / MODULE_NAME, tmp_path / DATA_NAME
    module.write_text(module.read_text() + "\n# mine\n")
    done = export_tests(campaign, tmp_path)
    assert done.remarks == [f"{module} was changed by hand and is left unchanged"]
    assert module.read_text().endswith("# mine\n")
    assert len(marks(tmp_path)) == len(campaign.bugs)
    changed = data.read_text().replace('"costly"', '"fails"')
    data.write_text(changed)
    with pytest.raises(InputFileError, match="changed by hand, and is not overwritten"):
        export_tests(campaign, tmp_path)
    assert data.read_text() == changed


def test_files_that_are_not_ours_are_not_overwritten(tmp_path: Path) -> None:
    campaign = planning_campaign()
    (tmp_path / MODULE_NAME).write_text("def test_mine(): pass\n")
    with pytest.raises(
        InputFileError, match="name of the test module exists, but no export wrote it"
    ):
        export_tests(campaign, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [MODULE_NAME]
    export_tests(campaign, tmp_path / "b")
    domain = next((tmp_path / "b").rglob("domain.pddl"))
    domain.write_text("; mine\n")
    with pytest.raises(InputFileError, match="exists and differs from what was exported"):
        export_tests(campaign, tmp_path / "b")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / DATA_NAME).write_text("[]")
    with pytest.raises(InputFormatError, match="not the data of exported tests"):
        export_tests(campaign, tmp_path / "c")


def test_records_that_are_no_bugs_are_said(tmp_path: Path) -> None:
    campaign = planning_campaign()
    sound = next(record for record in campaign.records if not record.is_bug)
    done = export_tests(campaign, tmp_path, bugs=[sound, campaign.bugs[0]])
    assert len(done.added) == 1
    assert done.remarks == [f"{sound.id} is not a bug: {sound.verdict}, so there is no test for it"]


# -- the truth ----------------------------------------------------------------------------------------


def test_the_judge_of_tasks_agrees_with_exact_distances_in_every_state(tmp_path: Path) -> None:
    """A policy passes where its run costs no more than the best plan, and nowhere else."""
    task = small_task("gripper-4")
    states = reachable(task)
    export_tests(planning_campaign(), tmp_path, bugs=planning_campaign().bugs[:1])
    cases = read_cases(tmp_path / DATA_NAME)
    (pattern,) = cases.cases
    files = write_instance(generate_planning("gripper", seed=1, balls=4), tmp_path / "task")
    names = tuple(str(path.relative_to(tmp_path)) for path in files)
    truth = Bench(
        replace(cases, tasks={pattern.task: TaskFiles("gripper", "planning", names)}),
        tmp_path,
        NOISY,
    )
    runner = PolicyRunner(load_policy(NOISY, task))
    seen = set()
    for state in states[::7]:
        found = misstep.plan(task, start=state)
        assert found.cost is not None
        witness = {"cost": found.cost, "bound": None, "operators": list(found.operators)}
        case = replace(pattern, state=task.facts(state), witness=witness)
        run = runner.trace(state)
        good = run.outcome == "goal" and run.cost <= found.cost
        seen.add(good)
        if good:
            truth.check(case)
        else:
            with pytest.raises(AssertionError, match="is a bug"):
                truth.check(case)
    assert seen == {True, False}
    truth.close()


def reachable(task: Task) -> list[misstep.State]:
    states = {task.initial_state: None}
    for state in (queue := [task.initial_state]):  # grows
        for operator in task.applicable(state):
            after = task.apply(state, operator)
            if after not in states:
                states[after] = None
                queue.append(after)
    return list(states)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_unsafe_runs_are_found_exactly_where_there_are_some(name: str) -> None:
    """Compared with everything that the checker's own evaluator reaches under the policy."""
    task = small_model(name)
    truth = ModelTruth(task, "first")
    lost = set(truth.space.unsafe)
    while True:
        more = {
            i
            for i, label in enumerate(truth.policy)
            if label is not None and i not in lost and lost & set(truth.space.outcomes[i][label])
        }
        if not more:
            break
        lost |= more
    policy = load_policy("first", task)
    system = system_of(task, policy, policy.engine)
    for state, i in truth.number.items():
        run = unsafe_run(system.native, policy.engine, policy.engine.intern(state), 10**6)
        assert (run is not None) == (i in lost)
        if run is not None:
            passed = [truth.number[policy.engine.values(id)] for id in run]
            assert passed[-1] in truth.space.unsafe
            for here, after in pairwise(passed):
                label = truth.policy[here]
                assert label is not None
                assert after in truth.space.outcomes[here][label]
