"""Wrong arguments of the Python API: one line says what was given and what is expected, and no folder is left."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns import limits, options
from misstep.campaigns import testing as campaigns
from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.campaigns.testing import read_settings
from misstep.errors import (
    InputFileError,
    InputFormatError,
    MisstepError,
    UnsupportedError,
    UsageError,
)
from misstep.policies import load as policies
from misstep.tasks import load as tasks
from misstep.tasks.domains import generate as generate_instance
from misstep.tasks.generate import generate
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.models import generate_model
from misstep.tasks.task import Task
from support.tasks import small_task

# Without their types: what is wrong here would not pass the type checker.
load_task: Any = tasks.load_task
load_policy: Any = policies.load_policy
run_test: Any = campaigns.test
Limits: Any = limits.Limits

# Things that are hardly ever what a function wants.
ODD: list[Any] = [3, 1.5, b"x", object(), [], {}, True]
NOT_NUMBERS: list[Any] = ["x", -1, 2.5, [1], {}, object(), 10**30, float("nan")]


def named(value: object) -> str:
    return f"{type(value).__name__}-{value!r:.12}".replace(" ", "_")


@pytest.fixture(scope="module")
def task() -> Task:
    return tasks.load_task(generate_instance("gripper", balls=2))


@pytest.fixture(scope="module")
def model() -> JaniTask:
    return tasks.load_task(generate_model("one-way-line", cells=4, packages=1, vmax=2))


@pytest.fixture(scope="module")
def found(task: Task) -> Campaign:
    return campaigns.test(task, "first", pool=5)


@pytest.fixture(scope="module")
def found_unsafe(model: JaniTask) -> Campaign:
    return campaigns.test(model, "first", runs=20)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(
    call: Callable[[], object], *parts: str, error: type[MisstepError] = MisstepError
) -> str:
    """Check that the call fails with one line that has these parts, and that the working folder is unchanged."""
    before = sorted(Path.cwd().iterdir())
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    for part in parts:
        assert part in text
    assert "\n" not in text
    assert sorted(Path.cwd().iterdir()) == before
    return text


# -- tasks and policies ---------------------------------------------------------------------------


@pytest.mark.parametrize("value", [*ODD, None], ids=named)
def test_values_that_are_not_a_task_are_refused(value: Any, place: Path) -> None:  # noqa: ARG001
    if value == []:
        refused(lambda: run_test(value, "first", out="o"), "no task to test on", error=UsageError)
        return
    for call in (lambda: load_task(value), lambda: run_test(value, "first", out="o")):
        refused(call, "is not a task; expected", "domain", ".jani", error=UsageError)


@pytest.mark.parametrize("path", ["", "nowhere", "nowhere.pddl", "nowhere.sas", "nowhere.jani"])
def test_a_missing_task_leaves_no_folder(path: str, place: Path) -> None:  # noqa: ARG001
    refused(lambda: load_task(path))
    refused(lambda: run_test(path, "first", out="o"))


def test_options_of_tasks(place: Path, task: Task) -> None:  # noqa: ARG001
    gripper, line = generate("gripper", balls=2), generate("one-way-line", cells=4)
    refused(lambda: load_task(gripper, use_cahce=1), "use_cahce", "did you mean use_cache")
    refused(lambda: load_task(line, use_cache=True), "use_cache is not an option of models")
    refused(
        lambda: load_task(gripper, constants={}), "constants is not an option of planning tasks"
    )
    refused(lambda: load_task(gripper, time_limit="x"), "time limit is 'x'; expected a positive")
    refused(lambda: load_task(gripper, memory_limit_mb=[1]), "memory limit is [1]")
    refused(lambda: load_task(line, constants=5), "constants are 5; expected a dictionary")
    refused(lambda: load_task(line, constants={"cells": "x"}), "the parameter cells is 'x'")
    refused(lambda: load_task(line, out_of_bounds=7), "out_of_bounds=7; expected 'error'")
    refused(lambda: load_task(task, use_cache=True), "has no effect")
    refused(lambda: load_task(task, task), "is not a task")


@pytest.mark.parametrize("value", [*ODD, None], ids=named)
def test_values_that_are_not_a_policy_are_refused(
    value: Any,
    place: Path,  # noqa: ARG001
    task: Task,
    model: JaniTask,
) -> None:
    for own in (task, model):
        takes = "expected a spec such as 'first', a function"
        refused(partial(load_policy, value, own), "is not a policy", takes)
        more = {} if value is None else {"out": "o"}
        refused(partial(run_test, own, value, **more), "policy", error=UsageError)


@pytest.mark.parametrize("spec", ["", "nosuch", "heuristic:x", "python:x.py:f", "random:x"])
def test_a_wrong_policy_leaves_no_folder(
    spec: str,
    place: Path,  # noqa: ARG001
    task: Task,
    model: JaniTask,
) -> None:
    for own in (task, model):
        refused(partial(load_policy, spec, own))
        refused(partial(run_test, own, spec, out="o"))


def test_options_of_policies(place: Path, task: Task, model: JaniTask) -> None:  # noqa: ARG001
    refused(lambda: load_policy("fist", task), "did you mean first")
    refused(lambda: load_policy("first", 5), "5 is not a task")
    refused(
        lambda: load_policy("first", task, inapplicable="error"), "is an option for models only"
    )
    refused(lambda: load_policy("first", model, inapplicable=5), "inapplicable is 5", "stop_safe")
    refused(lambda: load_policy("first", model, engine=5), "engine is 5; expected an engine")
    other = load_policy("first", load_task(generate("gripper", balls=3)))
    refused(lambda: run_test(task, other, out="o"), "is bound to the task gripper-balls3")


# -- settings -------------------------------------------------------------------------------------

# Values that are right, of the options that take something else than a positive number.
RIGHT: dict[str, list[Any]] = {
    "seed": [0],
    "fuzz_time": [2.5, 10**30],
    "radius": [0, 10**30],
    "min_weight": [0],
    "unbiased_share": [0],
    "novelty": [0],
}
OF_TASKS = [*options.COMMON, *options.OF_PLANNING, options.PRESET]
OF_MODELS = [*options.COMMON, *options.OF_MODELS]


def wrong_values(option: str) -> list[Any]:
    return [
        v for v in [*NOT_NUMBERS, 0] if not any(v is r or v == r for r in RIGHT.get(option, []))
    ]


@pytest.mark.parametrize("option", OF_TASKS)
def test_wrong_values_of_options_of_tasks_are_refused(option: str, place: Path, task: Task) -> None:  # noqa: ARG001
    for value in wrong_values(option):
        given = {"pool": 3, "out": "o", option: value}
        text = refused(partial(run_test, task, "first", **given))
        assert "expected" in text


@pytest.mark.parametrize("option", OF_MODELS)
def test_wrong_values_of_options_of_models_are_refused(
    option: str,
    place: Path,  # noqa: ARG001
    model: JaniTask,
) -> None:
    for value in wrong_values(option):
        given = {"runs": 3, "out": "o", option: value}
        text = refused(partial(run_test, model, "first", **given))
        assert "expected" in text


def test_an_error_names_the_option_and_not_its_place(place: Path, task: Task) -> None:  # noqa: ARG001
    refused(lambda: run_test(task, "first", pool="x"), "pool is 'x'; expected a positive number")
    refused(lambda: run_test(task, "first", walk_length=0), "walk_length is 0; expected a positive")
    refused(lambda: run_test(task, "first", fuzz_time=-1), "fuzz_time is -1; expected seconds")


def test_names_of_options(place: Path, task: Task, model: JaniTask) -> None:  # noqa: ARG001
    def on(own: object, **given: Any) -> Callable[[], object]:
        return lambda: run_test(own, "first", out="o", **given)

    refused(on(task, orcale="exact"), "no option 'orcale'", "did you mean oracle", "max_steps")
    refused(on(model, raduis=1), "no option 'raduis'", "did you mean radius")
    refused(on(task, runs=5), "runs is not an option for a planning task", "expected one of oracle")
    refused(on(task, radius=1), "radius is not an option for a planning task")
    refused(on(model, pool=5), "pool is not an option for a model")
    refused(on(model, preset="p24"), "preset is not an option for a model")
    refused(on(task, preset="p25"), "no preset 'p25'; expected p22, p23, p24")
    refused(on(task, fuzz="greedy-1"), "'greedy-1'; expected none, policy-cost, loop")
    refused(on(model, fuzz="detour"), "no fuzzing 'detour'; expected", "greedy-inf")
    refused(on(task, oracle="localfix"), "no oracle 'localfix'; expected aras")
    refused(on(model, oracle="aras"), "no safety oracle 'aras'; expected localfix")


def test_tasks_that_do_not_go_together_are_refused(
    place: Path,  # noqa: ARG001
    task: Task,
    model: JaniTask,
) -> None:
    refused(
        lambda: run_test([task, model], "first", out="o"), "planning tasks and models are mixed"
    )
    refused(lambda: run_test([task, task], "first", out="o"), "two tasks have the name gripper")
    refused(lambda: run_test([task, 7], "first", out="o"), "7 is not a task")


@pytest.mark.parametrize("value", [*ODD[:5], True, "", "nowhere.toml", "."], ids=named)
def test_values_that_are_not_a_file_of_settings_are_refused(
    value: Any,
    place: Path,  # noqa: ARG001
    task: Task,
) -> None:
    refused(lambda: run_test(task, "first", config=value, out="o"))
    refused(lambda: read_settings(value))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("seed = ", ("settings.toml: not TOML",)),
        ('policy = "first"\nseed = "x"', ("settings.toml: the seed is 'x'; expected a whole",)),
        ('policy = "first"\nsede = 3', ("no setting 'sede'; expected one of policy",)),
        ('policy = "first"\nplanning = 3', ("planning is 3; expected a table [planning]",)),
        ('policy = "first"\n[planning]\nchunk = 0', ("chunk is 0; expected a positive number",)),
        ('policy = "first"\n[planning.fuzzing]\nbias = "x"', ("'x'; expected none, policy-cost",)),
        ('policy = "first"\nworld = "model"', ("settings are of a model campaign",)),
        ('policy = "first"\nworld = "moon"', ("no world 'moon'; expected planning or model",)),
        ('policy = "first"\nfault_budget = "some"', ("fault_budget is 'some'",)),
    ],
)
def test_wrong_files_of_settings_are_refused(
    text: str, parts: tuple[str, ...], place: Path, task: Task
) -> None:
    (place / "settings.toml").write_text(text)
    refused(lambda: run_test(task, "first", config="settings.toml", out="o"), *parts)


def test_settings_that_are_not_text_are_refused(place: Path, task: Task) -> None:
    (place / "settings.toml").write_bytes(b"\xff\xfe")
    refused(lambda: run_test(task, "first", config="settings.toml", out="o"), "not UTF-8 text")


# -- sessions -------------------------------------------------------------------------------------


def sessions(task: Task, found: Campaign) -> list[Callable[..., object]]:
    return [
        lambda **given: run_test(task, "first", out="o", pool=3, **given),
        lambda **given: found.resume(**given),
        lambda **given: found.judge("lmcut", **given),
    ]


@pytest.mark.parametrize("value", [*NOT_NUMBERS, 0, True], ids=named)
def test_jobs_batches_and_progress(value: Any, place: Path, task: Task, found: Campaign) -> None:  # noqa: ARG001
    for call in sessions(task, found):
        refused(partial(call, jobs=value), "jobs is", "expected a positive number")
        refused(partial(call, batch_size=value), "batch_size is", "expected a positive")
        refused(partial(call, progress=value), "progress is", "expected a function")
        if value != {}:
            refused(partial(call, limits=value), "limits is", "expected Limits")
    assert found.summary.tested == 5


@pytest.mark.parametrize("name", ["time", "task_time", "memory", "task_memory"])
def test_limits(name: str, place: Path, task: Task, found: Campaign) -> None:  # noqa: ARG001
    for value in ("x", 0, -1, [1], True, 10**30, float("nan")):
        given: dict[str, Any] = {name: value}
        refused(partial(Limits, **given), f"{name} is", "expected more than 0")
        for call in sessions(task, found):
            refused(partial(call, limits=given), f"{name} is")
    refused(lambda: found.resume(limits={f"{name}s": 3}), f"no limit '{name}s'", f"mean {name}")


def test_limits_as_a_dictionary(task: Task) -> None:
    assert run_test(task, "first", pool=3, limits={"time": 60}).summary.tested == 3
    assert run_test(task, "first", pool=3, limits=Limits(time=60)).summary.tested == 3


@pytest.mark.parametrize("value", [*NOT_NUMBERS[:6], True], ids=named)
def test_growing(value: Any, place: Path, found: Campaign, found_unsafe: Campaign) -> None:  # noqa: ARG001
    refused(lambda: found.resume(pool=value), "pool is", "expected 5 or more")
    refused(lambda: found_unsafe.resume(runs=value), "runs is", "expected 20 or more")
    refused(lambda: found.resume(runs=value), "runs is an option of models; expected pool")
    refused(lambda: found_unsafe.resume(pool=value), "pool is an option of planning tasks")
    refused(lambda: found.resume(pool=4), "pool is 4; expected 5 or more: a campaign only grows")


@pytest.mark.parametrize("value", [*ODD, None, "", "nosuch"], ids=named)
def test_judging(value: Any, place: Path, found: Campaign, found_unsafe: Campaign) -> None:  # noqa: ARG001
    refused(lambda: found.judge(value), "oracle", "expected", error=UsageError)
    refused(lambda: found_unsafe.judge(value), "oracle", "expected", error=UsageError)


# -- records --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [1.5, None, [], True, "", "x:y", "nosuch:1", 99, "99", -1], ids=named
)
def test_values_that_are_not_a_record_are_refused(value: Any, place: Path, found: Campaign) -> None:  # noqa: ARG001
    refused(lambda: found.record(value), "record", "TASK:NUMBER" if _odd(value) else "gripper")
    refused(lambda: found.explain(value), "record")


def _odd(value: object) -> bool:
    return isinstance(value, bool) or not isinstance(value, (str, int))


def test_explaining(place: Path, found: Campaign, found_unsafe: Campaign) -> None:  # noqa: ARG001
    explain: Any = found.explain
    no_bug = next(record for record in found_unsafe.records if not record.is_bug)
    refused(lambda: found_unsafe.explain(no_bug), "is not a bug: NOT A BUG", "lists the bugs")
    refused(lambda: found.explain(no_bug), f"no record '{no_bug.id}'")
    task = small_task("gripper-4")
    open_ = campaigns.test(task, "optimal", pool=1, oracle="astar(evaluations=1)")
    refused(lambda: open_.explain(open_.records[0]), "is not proven to be a bug: UNKNOWN")
    for value in ("x", 0, -1, True, float("nan"), 10**30):
        again = partial(explain, found.bugs[0], deeper=True, time_limit=value)
        refused(again, "time_limit is", "expected seconds")
    refused(partial(explain, found.bugs[0], deeper="yes"), "deeper is 'yes'; expected True")


@pytest.mark.parametrize("value", ODD, ids=named)
def test_replaying(value: Any, place: Path, found: Campaign, found_unsafe: Campaign) -> None:  # noqa: ARG001
    refused(lambda: found.replay(value), "is not a policy")
    refused(lambda: found_unsafe.replay(value), "is not a policy")
    if value is not True:
        refused(lambda: found.replay(rerun=value), "rerun is", "expected True or False")


# -- folders --------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [*ODD, ""], ids=named)
def test_values_that_are_not_a_folder_are_refused(
    value: Any,
    place: Path,  # noqa: ARG001
    task: Task,
    found: Campaign,
) -> None:
    refused(lambda: open_campaign(value), "the folder is", "expected the path of a campaign")
    refused(lambda: found.save(value), "the folder is", "expected the path of a new folder")
    refused(lambda: run_test(task, "first", out=value), "out is", "expected the path of a folder")
    refused(lambda: run_test(task, "first", pool_from=value, out="o"), "expected the path of")


def test_missing_folders(place: Path, task: Task) -> None:  # noqa: ARG001
    refused(lambda: open_campaign("nowhere"), "nowhere: no such folder", error=InputFileError)
    call = partial(run_test, task, "first", pool_from="nowhere", out="o")
    refused(call, "nowhere: no such folder", error=InputFileError)


def test_folders_that_are_in_use_are_refused(place: Path, task: Task, found: Campaign) -> None:
    found.save("taken").close()
    call = partial(run_test, task, "first", out="taken", pool=5)
    refused(call, "a campaign in this folder already", error=InputFileError)
    refused(lambda: found.save("taken"), "taken", error=InputFileError)
    refused(lambda: call(resume=True, seed=4), "seed", error=UsageError)
    refused(lambda: call(resume="yes"), "resume is 'yes'; expected True or False")
    other = load_task(generate("gripper", balls=3))
    refused(
        partial(run_test, other, "first", out="taken", resume=True, pool=5),
        "the campaign has other tasks",
    )
    (place / "mine").mkdir()
    (place / "mine" / "thesis.tex").touch()
    refused(lambda: found.save("mine"), "not empty", error=InputFileError)
    assert open_campaign("taken").summary.tested == 5


def test_pools_of_others(
    place: Path,  # noqa: ARG001
    task: Task,
    model: JaniTask,
    found: Campaign,
    found_unsafe: Campaign,
) -> None:
    other = load_task(generate("gripper", balls=3))

    def call(own: Task | JaniTask, lender: Campaign) -> Callable[[], object]:
        return partial(run_test, own, "first", pool_from=lender, out="o")

    refused(call(other, found), "the other campaign has not tested on gripper-balls3")
    refused(call(model, found_unsafe), "models have no pool to take over")
    refused(call(task, found_unsafe), "has not tested on gripper")
    assert len(run_test(None, "random:1", pool_from=found)) == 5


def test_campaigns_of_another_schema(place: Path, found: Campaign) -> None:
    found.save("old").close()
    with closing(sqlite3.connect(place / "old" / "run.db")) as connection, connection:
        connection.execute("UPDATE meta SET value = '2' WHERE key = 'schema'")
    text = refused(
        lambda: open_campaign("old"), "schema 2; expected schema 5", error=UnsupportedError
    )
    assert "an older misstep wrote it" in text
    assert "test again with the settings in its config.toml" in text
    refused(lambda: found.save("old"), error=InputFileError)


def test_damaged_campaigns(place: Path, found: Campaign) -> None:
    found.save("cut").close()
    whole = (place / "cut" / "run.db").read_bytes()
    (place / "cut" / "run.db").write_bytes(whole[: len(whole) // 2])
    refused(lambda: open_campaign("cut"), "run.db", "cut off", error=InputFormatError)
    (place / "cut" / "run.db").unlink()
    refused(lambda: open_campaign("cut"), "there is no run.db", error=InputFileError)
    found.save("row").close()
    with closing(sqlite3.connect(place / "row" / "run.db")) as connection, connection:
        connection.execute("UPDATE states SET state = '[0' WHERE number = 2")
    with open_campaign("row") as damaged:
        refused(lambda: damaged.records, "damaged", error=InputFormatError)


def test_moved_campaigns(place: Path, found: Campaign) -> None:
    """A campaign holds its tasks, so it can be moved; one that was moved while it is open says so when it goes on."""
    found.save("here").close()
    opened = open_campaign("here")
    shutil.move("here", "there")
    assert len(opened.records) == 5
    with pytest.raises(InputFileError, match="here: no such folder"):
        opened.resume(pool=7)
    with open_campaign("there") as moved:
        assert len(moved.resume(pool=7)) == 7
        assert moved.replay().ok
    assert [path.name for path in place.iterdir()] == ["there"]


def test_closed_campaigns(task: Task) -> None:
    closed = run_test(task, "first", pool=3)
    closed.close()
    calls: list[Callable[[], object]] = [
        lambda: closed.records,
        lambda: closed.bugs,
        lambda: closed.summary,
        lambda: closed.tasks,
        lambda: closed.faults,
        lambda: closed.resume(pool=5),
        lambda: closed.judge("lmcut"),
        lambda: closed.save("x"),
        lambda: closed.replay(),
        lambda: closed.to_rows(),
        lambda: closed.record(1),
    ]
    for call in calls:
        with pytest.raises(UsageError, match="the campaign is closed"):
            call()
