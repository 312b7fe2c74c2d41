"""`misstep test`, `judge`, `explain` and `replay` as a user types them: what they print, keep and end with."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.options import COMMON, OF_MODELS, OF_PLANNING, WORLD_OPTIONS
from misstep.campaigns.settings import MODEL, PLANNING
from misstep.cli.testing_options import Judging, Models, Planning, Subject
from misstep.errors import ReplayError
from support.commands import misstep, result_of

NOISY = "noisy:0.3:1+heuristic:ff"


@pytest.fixture(scope="module")
def gripper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gripper") / "task"
    assert misstep("generate", "gripper", "--balls", "3", "-o", folder).returncode == 0
    return folder


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("line") / "line.jani"
    assert misstep("generate", "one-way-line", "--cells", "4", "-o", path).returncode == 0
    return path


@pytest.fixture
def found(gripper: Path, tmp_path: Path) -> Path:
    out = tmp_path / "found"
    result_of("test", gripper, "--policy", NOISY, "--pool", "12", "-o", out, code=1)
    return out


@pytest.fixture
def unsafe(line: Path, tmp_path: Path) -> Path:
    out = tmp_path / "unsafe"
    result_of("test", line, "--policy", "random:1", "--runs", "40", "-o", out, code=1)
    return out


def records(folder: Path) -> list[dict[str, Any]]:
    """Without what a clock says."""
    with open_campaign(folder) as campaign:
        plain = [record.as_dict() for record in campaign.iter_records()]
    for record in plain:
        del record["times"], record["at"]
        for opinion in record["verdicts"]:
            del opinion["seconds"], opinion["at"]
    return plain


# -- test -----------------------------------------------------------------------------------------


def test_every_setting_is_an_option_but_those_of_files() -> None:
    fields = {*Subject.names(), *Planning.names(), *Models.names(), *Judging.names()}
    settings = {*COMMON, *OF_PLANNING, *OF_MODELS, *WORLD_OPTIONS[PLANNING], *WORLD_OPTIONS[MODEL]}
    assert settings - fields == {"chunk", "round", "batch"}


def test_the_help_of_test_has_headings() -> None:
    shown = misstep("test", "--help").stdout
    sections = [
        text.rstrip(":") for text in shown.splitlines() if text.endswith(":") and text[0] != " "
    ]
    assert sections[:2] == ["Arguments", "What to test"]
    assert {"Judging", "Limits", "Output"} < set(sections)
    models = shown.index("Models (JANI)")
    assert shown.index("--pool N") < models < shown.index("--runs N")


def test_one_shape_of_summary_for_both_worlds(found: Path, unsafe: Path) -> None:
    shapes = [result_of("test", "--resume", "-o", folder, code=1) for folder in (found, unsafe)]
    assert list(shapes[0]) == list(shapes[1])
    assert [shape["world"] for shape in shapes] == ["planning", "model"]
    assert [shape["finished"] for shape in shapes] == [True, True]
    shown = misstep("test", "--resume", "-o", found)
    names = [text.split()[0] for text in shown.stdout.splitlines() if text]
    assert names[:3] == ["tested", "solved", "bugs"]
    assert names[-3:] == ["found", "worst", "next"]
    assert "policy calls; records in" in shown.stderr


def test_a_file_of_settings_and_options_that_override_it(
    gripper: Path, line: Path, found: Path, unsafe: Path, tmp_path: Path
) -> None:
    config = found / "config.toml"
    again = result_of("test", gripper, "--config", config, "-o", tmp_path / "a", code=1)
    assert again["policy"] == NOISY
    assert records(tmp_path / "a") == records(found)
    larger: list[str | Path] = [
        "--config",
        config,
        "--pool",
        "3",
        "--state-budget",
        "none",
        "--fault-budget",
        "none",
    ]
    result_of("test", gripper, *larger, "-o", tmp_path / "b", code=1)
    with open_campaign(tmp_path / "b") as campaign:
        settings = campaign.settings
        assert settings.fault_budget is None
        assert settings.of_planning.fuzzing.state_budget is None
        assert settings.of_planning.fuzzing.max_states == 3
        assert all(record.faults is None for record in campaign.records)
    done = misstep("test", line, "--config", config, "-o", tmp_path / "c")
    assert done.returncode == 2
    assert "settings are of a planning campaign" in done.stderr
    (tmp_path / "odd.toml").write_text('policy = "first"\ncolour = "red"\n')
    done = misstep("test", gripper, "--config", tmp_path / "odd.toml", "-o", tmp_path / "c")
    assert done.returncode == 31
    assert "no setting 'colour'" in done.stderr
    assert not (tmp_path / "c").exists()
    result_of("test", line, "--config", unsafe / "config.toml", "-o", tmp_path / "d", code=1)
    assert records(tmp_path / "d") == records(unsafe)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--oracle", ""], "--oracle is empty"),
        (["--oracle", "nonsense"], "nonsense"),
        (["--novelty", "4"], "novelty is 4"),
        (["--fault-budget", "0"], "--fault-budget is 0; expected a positive number"),
        (
            ["--fault-budget", "many"],
            "--fault-budget is 'many'; expected a positive number or none",
        ),
        (["--jobs", "0"], "--jobs is 0; expected a positive number"),
        (["--time", "0"], "--time is 0"),
        (["--task-memory", "-1"], "--task-memory is -1"),
    ],
    ids=str,
)
def test_wrong_values(options: list[str], message: str, gripper: Path, tmp_path: Path) -> None:
    done = misstep("test", gripper, "--policy", "first", "-o", tmp_path / "out", *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_what_is_missing_leaves_no_folder_behind(
    gripper: Path, line: Path, unsafe: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for arguments, code in (
        ([gripper, "--policy", "python:missing.py:f"], 30),
        ([gripper, "--policy", "plan:missing"], 30),
        ([gripper, "--policy", "nonsense"], 2),
        ([line, "--policy", "python:missing.py:f"], 30),
        ([tmp_path / "missing.sas", "--policy", "first"], 30),
        ([tmp_path / "missing.jani", "--policy", "first"], 30),
        (["--suite", tmp_path / "missing", "--policy", "first"], 30),
        ([gripper, "--policy", "first", "--config", tmp_path / "missing.toml"], 30),
        ([gripper, "--policy", "first", "--pool-from", tmp_path / "missing"], 30),
        ([gripper, "--policy", "first", "--pool-from", unsafe], 2),
        ([line, "--policy", "first", "--pool-from", unsafe], 2),
        ([gripper], 2),
        (["--policy", "first"], 2),
    ):
        done = misstep("test", *arguments, "-o", out)
        assert (done.returncode, done.stderr.count("\n")) == (code, 1), done.stderr
        assert not out.exists()


def test_suites_of_problems(tmp_path: Path) -> None:
    """A domain for a folder, a pattern, a list, and problems one after the other are the same campaign."""
    for balls in (2, 3):
        made = tmp_path / f"made{balls}"
        misstep("generate", "gripper", "--balls", str(balls), "-o", made)
        path = tmp_path / "tasks" / "easy" / f"p{balls}.pddl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((made / "problem.pddl").read_bytes())
    domain = tmp_path / "made2" / "domain.pddl"
    options = ["--policy", "heuristic:ff", "--pool", "4", "--oracle", "exact"]
    given: list[list[str | Path]] = [
        [domain, "--suite", tmp_path / "tasks"],
        [domain, "--suite", tmp_path / "tasks" / "*" / "p*.pddl"],
        [domain, tmp_path / "tasks" / "easy" / "p2.pddl", tmp_path / "tasks" / "easy" / "p3.pddl"],
    ]
    (tmp_path / "tasks.txt").write_text("".join(f"{domain} tasks/easy/p{n}.pddl\n" for n in (2, 3)))
    given.append(["--suite", tmp_path / "tasks.txt"])
    for number, arguments in enumerate(given):
        run = misstep("test", *arguments, *options, "--json", "-o", tmp_path / f"out{number}")
        tasks = json.loads(run.stdout)["by_task"]
        assert [name.rpartition("/")[2] for name in tasks] == ["p2", "p3"]
        assert sum(own["tested"] for own in tasks.values()) == 8
    refused = misstep("test", "--suite", tmp_path / "tasks", *options)
    assert refused.returncode == 30
    assert "DOMAIN.pddl --suite FOLDER" in refused.stderr
    problem = tmp_path / "tasks" / "easy" / "p2.pddl"
    both = misstep("test", problem, "--suite", tmp_path / "tasks", *options)
    assert both.returncode == 2
    assert "both a task and a suite" in both.stderr


def test_a_suite_of_models(tmp_path: Path) -> None:
    for cells in ("3", "4"):
        path = tmp_path / "suite" / "lines" / f"line{cells}.jani"
        path.parent.mkdir(parents=True, exist_ok=True)
        assert misstep("generate", "one-way-line", "--cells", cells, "-o", path).returncode == 0
    command: list[str | Path] = ["test", "--suite", tmp_path / "suite", "--policy", "random:1"]
    one, two = (
        result_of(*command, "--runs", "20", "--jobs", jobs, "-o", tmp_path / jobs, code=1)
        for jobs in ("1", "2")
    )
    assert list(one["by_task"]) == list(two["by_task"]) == ["lines/line3", "lines/line4"]
    assert records(tmp_path / "1") == records(tmp_path / "2")
    shown = misstep("records", tmp_path / "1", "--task", "lines/line4")
    assert "lines/line4:0" in shown.stdout
    done = misstep("explain", tmp_path / "1", "--shield", tmp_path / "s.json")
    assert done.returncode == 2
    assert "several models" in done.stderr
    done = misstep(*command, "--pool", "3", "-o", tmp_path / "3")
    assert "--pool has no meaning here; expected a planning task" in done.stderr
    (tmp_path / "suite" / "problem.pddl").write_text("")
    done = misstep(*command, "-o", tmp_path / "3")
    assert done.returncode == 30
    assert "problems and models" in done.stderr


def test_the_states_of_another_campaign(found: Path, gripper: Path, tmp_path: Path) -> None:
    command: list[str | Path] = ["test", "--pool-from", found, "--policy", "first"]
    lent = result_of(*command, "-o", tmp_path / "a", code=1)
    assert lent["tested"] == 12
    result_of(*command, gripper, "-o", tmp_path / "b", code=1)
    theirs, ours, same = (
        [record["state"] for record in records(folder)]
        for folder in (found, tmp_path / "a", tmp_path / "b")
    )
    assert theirs == ours == same


def test_a_campaign_grows_to_what_it_would_have_been(
    gripper: Path, line: Path, found: Path, unsafe: Path, tmp_path: Path
) -> None:
    for task, policy, folder, option, size in (
        (gripper, NOISY, found, "--pool", "20"),
        (line, "random:1", unsafe, "--runs", "70"),
    ):
        whole = tmp_path / f"whole{option}"
        large: list[str | Path] = ["test", task, "--policy", policy, option, size]
        result_of(*large, "-o", whole, code=1)
        copy = tmp_path / f"copy{option}"
        shutil.copytree(folder, copy)
        result_of("test", "--resume", "-o", folder, option, size, code=1)
        result_of(*large, "--resume", "-o", copy, code=1)
        assert records(copy) == records(folder)
        states = [record["state"] for record in records(whole)]
        assert [record["state"] for record in records(folder)] == states
        done = misstep("test", "--resume", "-o", folder, option, "2")
        assert done.returncode == 2
        assert "a campaign only grows" in done.stderr


def test_a_campaign_that_cannot_grow_stays_as_it_was(gripper: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "mine.py", tmp_path / "out"
    file.write_text("def policy(state):\n    return state.operators[0]\n")
    command: list[str | Path] = ["test", gripper, "--policy", f"python:{file}:policy", "-o", out]
    result_of(*command, "--pool", "4", code=1)
    before, config = records(out), (out / "config.toml").read_text()
    assert any(record["faults"] for record in before)
    file.write_text("def policy(state):\n    return state.operators[-1]\n")
    for again in (command, ["test", "-o", out]):
        done = misstep(*again, "--resume", "--pool", "9")
        assert done.returncode == 31
        assert "has changed since the campaign began" in done.stderr
        assert "'misstep retest DIR --policy SPEC' tests the new version" in done.stderr
        assert (records(out), (out / "config.toml").read_text()) == (before, config)


def test_limits_end_the_work_with_their_exit_codes(
    gripper: Path, line: Path, tmp_path: Path
) -> None:
    for task in (gripper, line):
        out = tmp_path / task.stem
        command: list[str | Path] = ["test", task, "--policy", "first", "--time", "0.000001"]
        stopped = result_of(*command, "-o", out, code=20)
        assert (stopped["finished"], stopped["limit"]) == (False, "time")
        assert "--resume continues" in stopped["remarks"][0]
        assert result_of("test", "--resume", "-o", out, code=1)["finished"]
    made = misstep("generate", "blocksworld", "--blocks", "12", "-o", tmp_path / "large")
    assert made.returncode == 0
    command = ["test", tmp_path / "large", "--policy", "first", "--fuzz", "none", "--pool", "4"]
    options = ["--oracle", "exact", "--task-memory", "40"]
    stopped = result_of(*command, *options, "-o", tmp_path / "memory", code=21)
    assert (stopped["finished"], stopped["limit"]) == (False, "memory")


SLOW = """
import time
def policy(state):
    time.sleep(0.02)
    return state.operators[0]
"""


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(gripper: Path, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    out = tmp_path / "out"
    command = [
        "test",
        str(gripper),
        "--policy",
        f"python:{tmp_path}/slow.py:policy",
        "-o",
        str(out),
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "misstep", *command, "--pool", "200"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    while not (out / "run.db").exists():
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    printed, errors = process.communicate(timeout=30)
    assert (process.returncode, printed) == (23, "")
    assert "stopped by the user; what is done is kept" in errors
    errors = "".join(line for line in errors.splitlines(True) if not line.startswith("["))
    assert errors.count("\n") == 1  # beside the progress
    again = errors.partition("; misstep ")[2].removesuffix(" continues\n")
    assert again == f"test --resume --out {out} --policy python:{tmp_path}/slow.py:policy"
    # The command works as it was told, within the time that it gets here.
    done = misstep(*shlex.split(again), "--time", "2")
    assert done.returncode in (0, 1, 20), done.stderr


def test_progress_appears_on_a_terminal_before_the_first_work_is_done(
    gripper: Path, tmp_path: Path
) -> None:
    (tmp_path / "slow.py").write_text(SLOW.replace("0.02", "0.1"))
    policy = f"python:{tmp_path}/slow.py:policy"
    master, terminal = pty.openpty()
    command = ["test", str(gripper), "--policy", policy, "-o", str(tmp_path / "out")]
    process = subprocess.Popen(
        [sys.executable, "-m", "misstep", *command],
        stdout=subprocess.PIPE,
        stderr=terminal,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "200"},
    )
    os.close(terminal)
    shown = b""
    while b"problem: fuzzing" not in shown:
        shown += os.read(master, 4096)
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(OSError):  # the end of a terminal
        while piece := os.read(master, 4096):
            shown += piece
    os.close(master)
    assert process.communicate(timeout=30)[0] == b""
    assert process.returncode == 23
    assert b"continues" in shown


# -- judge ----------------------------------------------------------------------------------------


def test_another_oracle_adds_its_verdicts(gripper: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    weak = ["--oracle", "elimination", "--pool", "10"]
    before = result_of("test", gripper, "--policy", NOISY, *weak, "-o", out)
    assert before["unknown"] == 10
    after = result_of("judge", out, "--oracle", "exact", code=1)
    assert after["unknown"] == 0
    assert after["by_oracle"]["elimination"]["unknown"] == 10
    assert after["by_oracle"]["exact"]["bugs"] == after["bugs"]["total"] > 0
    shown = misstep("judge", out, "--oracle", "exact").stdout
    rows = [text.rsplit(maxsplit=6) for text in shown.splitlines()[:4]]
    assert [row[0].strip() for row in rows] == ["oracle", "elimination", "exact", "the best of all"]
    assert rows[2][1:] == rows[3][1:]
    assert misstep("judge", out, "--oracle", "").returncode == 2
    assert misstep("judge", out).returncode == 2
    assert misstep("judge", tmp_path, "--oracle", "exact").returncode == 30


def test_another_oracle_for_a_model(unsafe: Path) -> None:
    both = result_of("judge", unsafe, "--oracle", "tarjan", "--jobs", "2", code=1)["by_oracle"]
    assert both["localfix"] == both["tarjan"]
    assert misstep("judge", unsafe, "--oracle", "exact").returncode == 2


# -- explain --------------------------------------------------------------------------------------


def test_an_explanation_is_there_at_once_and_goes_deeper(found: Path) -> None:
    bug = next(record for record in records(found) if record["verdict"] == "BUG")
    for handle in (bug["id"], str(bug["number"])):
        shown = misstep("explain", found, handle)
        assert shown.returncode == 0
        assert shown.stdout.startswith(f"{bug['id']}: BUG")
        assert "the policy" in shown.stdout
        assert "repair" not in shown.stdout
    deeper = result_of("explain", found, bug["id"], "--deeper", "--time", "20")
    assert deeper["exact"]
    assert deeper["faults"]
    assert deeper["repair"] or deeper["cheapest_repair"]
    assert result_of("explain", found, bug["id"])["faults"] == bug["faults"]
    done = misstep("explain", found, "problem:999")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    done = misstep("explain", found, bug["id"], "--time", "3")
    assert "--time has no meaning here; expected --deeper" in done.stderr
    done = misstep("explain", found, "--shield", found / "s.json")
    assert done.returncode == 2
    assert "expected a campaign on a model" in done.stderr


def test_the_decisions_behind_all_bugs(found: Path, unsafe: Path) -> None:
    for folder in (found, unsafe):
        faults = result_of("explain", folder)["faults"]
        counts = [len(fault["bugs"]) for fault in faults]
        assert counts == sorted(counts, reverse=True)
        shown = misstep("explain", folder, "--decisions", "--top", "2")
        assert len(shown.stdout.splitlines()) == min(2, len(faults))
        assert f"{len(faults) - 2} more faults" in shown.stderr
    with open_campaign(found) as campaign:
        settled = {record.id for record in campaign.bugs}
    deeper = result_of("explain", found, "--deeper", "--time", "30")["faults"]
    assert {bug for fault in deeper for bug in fault["bugs"]} <= settled
    assert deeper


def test_families_of_bugs(found: Path, unsafe: Path) -> None:
    for folder in (found, unsafe):
        told = result_of("explain", folder)
        families = told["families"]
        assert families
        assert told["bugs"] >= max(family["count"] for family in families)
        shown = misstep("explain", folder)
        for number, family in enumerate(families, 1):
            assert f"{number}. {family['sentence']}\n" in shown.stdout
            assert f"next: misstep explain {folder} {family['example']}\n" in shown.stdout
        assert misstep("explain", folder, families[0]["example"]).returncode == 0
        assert "--measure" in shown.stderr
        top = misstep("explain", folder, "--top", "1").stdout
        assert families[0]["sentence"] in top
        assert len(families) == 1 or families[1]["sentence"] not in top


def test_families_are_measured(tmp_path: Path) -> None:
    copy, task = tmp_path / "copy", tmp_path / "task"
    misstep("generate", "ferry", "--cars", "3", "--locations", "3", "--seed", "1", "-o", task)
    files = (task / "domain.pddl", task / "problem.pddl")
    result_of("test", *files, "--policy", "zoo:ferry-rules", "--pool", "30", "-o", copy, code=1)
    told = result_of("explain", copy, "--measure", "--states", "5", "--seed", "9")["families"]
    measured = [own["measured"] for own in told if own["measured"] is not None]
    assert measured
    assert all(own["asked"] <= 5 and own["seed"] == 9 for own in measured)
    assert result_of("explain", copy)["families"] == told
    assert "measured: " in misstep("explain", copy).stdout
    for arguments, expected in (
        (["--states", "5"], "--states has no meaning here; expected --measure"),
        (["--policy", "heuristic:ff"], "--policy has no meaning here; expected --deeper or"),
        (["--measure", "--deeper"], "do not go together"),
        (["0", "--measure"], "--measure has no meaning here"),
        (["--measure", "--states", "0"], "--states is 0"),
    ):
        done = misstep("explain", copy, *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert expected in done.stderr


@pytest.mark.parametrize("radius", ["inf", "3"])
def test_a_shield_says_within_which_radius_it_was_made(
    radius: str, line: Path, tmp_path: Path
) -> None:
    out, file = tmp_path / "out", tmp_path / "shield.json"
    command: list[str | Path] = ["test", line, "--policy", "random:1", "--runs", "40"]
    result_of(*command, "--radius", radius, "-o", out, code=1)
    faults = result_of("explain", out, "--shield", file)["faults"]
    shield = json.loads(file.read_text())
    assert (shield["kind"], shield["radius"]) == ("blacklist", radius)
    assert sum(len(entry["forbidden"]) for entry in shield["states"]) == len(faults) > 0
    one = next(record["id"] for record in records(out) if record["verdict"] == "BUG")
    assert misstep("explain", out, one, "--shield", tmp_path / "same.json").returncode == 0
    assert (tmp_path / "same.json").read_text() == file.read_text()
    command[3] = f"shield:{file}+random:1"
    assert misstep(*command, "-o", tmp_path / "shielded").returncode in (0, 1)


# -- replay ---------------------------------------------------------------------------------------


def test_a_replay_says_what_it_has_checked_and_what_not(found: Path, unsafe: Path) -> None:
    for folder in (found, unsafe):
        shown = misstep("replay", folder)
        assert shown.returncode == 0
        assert "checked: " in shown.stdout
        assert "not checked: " in shown.stdout
        again = result_of("replay", folder, "--rerun")
        assert again["ok"]
        assert again["rerun"] > 0
        assert again["changed"] == []
        other = result_of("replay", folder, "--policy", "first", code=ReplayError.exit_code)
        assert not other["ok"]
        assert other["problems"] == []
        assert other["changed"]


def test_a_changed_record_does_not_hold(found: Path) -> None:
    with sqlite3.connect(found / "run.db") as connection:
        connection.execute("UPDATE verdicts SET upper = upper - 1 WHERE verdict = 'BUG'")
    done = misstep("replay", found)
    assert done.returncode == ReplayError.exit_code == 35
    assert "INVALID" in done.stdout


def test_a_policy_that_has_changed_is_not_the_one_of_the_campaign(
    gripper: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def policy(state):\n    return state.operators[0]\n")
    out = tmp_path / "out"
    spec = f"python:{file}:policy"
    result_of("test", gripper, "--policy", spec, "--pool", "4", "-o", out, code=1)
    file.write_text("def policy(state):\n    return state.operators[-1]\n")
    done = misstep("replay", out, "--rerun")
    assert done.returncode == 31
    assert "has changed since the campaign" in done.stderr
    assert misstep("replay", out, "--policy", spec).returncode == ReplayError.exit_code
