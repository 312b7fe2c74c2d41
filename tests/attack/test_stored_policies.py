"""A folder names a policy that runs code, a program or a connection. Nothing of it runs without the user's word."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.testing import test as run_campaign
from misstep.campaigns.toml import to_toml
from misstep.errors import InputFormatError, MisstepError, UsageError
from misstep.policies.labels.load import BUILTIN as OF_MODELS
from misstep.policies.load import BUILTIN as OF_TASKS
from misstep.policies.load import load_policy
from misstep.policies.trust import FOREIGN, PARTS, PLAIN, fingerprints, is_plain
from support.attacks import change, store_policy
from support.campaigns import small_model
from support.commands import misstep
from support.tasks import small_task


class Trap:
    """Code that leaves a mark when it is run."""

    def __init__(self, place: Path) -> None:
        self.mark = place / "mark"
        self.file = place / "trap.py"
        self.file.write_text(
            f"open({str(self.mark)!r}, 'w').close()\ndef act(state): return state.applicable[0]\n"
        )
        self.specs = {
            "python": f"python:{self.file}:act",
            "exec": f"exec:{sys.executable} {self.file}",
            "noisy": f"noisy:0.1:1+python:{self.file}:act",
            "twice": f"noisy:0.1:1+noisy:0.2:2+exec:{sys.executable} {self.file}",
        }

    @property
    def sprung(self) -> bool:
        return self.mark.exists()


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


COMMANDS = {
    "resume": ("test", "--resume", "--out", "{folder}"),
    "grow": ("test", "--resume", "--pool", "15", "--out", "{folder}"),
    "judge": ("judge", "{folder}", "--oracle", "undo"),
    "explain": ("explain", "{folder}", "{bug}", "--deeper", "--time", "5"),
    "explain all": ("explain", "{folder}", "--deeper", "--time", "5"),
    "measure": ("explain", "{folder}", "--measure", "--states", "2", "--time", "5"),
    "rerun": ("replay", "{folder}", "--rerun"),
    "shrink": ("shrink", "{folder}", "{bug}", "--time", "5"),
    "shrink all": ("shrink", "{folder}", "--time", "5"),
}
# These need no policy of the folder, and a retest runs the one that the user names.
READING = {
    "records": ("records", "{folder}"),
    "replay": ("replay", "{folder}"),
    "full replay": ("replay", "{folder}", "--full"),
    "explain": ("explain", "{folder}", "{bug}"),
    "overview": ("explain", "{folder}"),
    "report": ("report", "{folder}", "-o", "{out}.html"),
    "tests": ("export", "tests", "{folder}", "-o", "{out}"),
    "problem": ("export", "problem", "{folder}", "{bug}", "-o", "{out}"),
    "csv": ("export", "csv", "{folder}", "-o", "{out}.csv"),
    "json": ("export", "json", "{folder}", "-o", "{out}.json"),
    "baseline": ("export", "baseline", "{folder}", "-o", "{out}.json"),
    "compare": ("compare", "{folder}", "{folder}"),
    "retest": ("retest", "{folder}", "--policy", "first", "-o", "{out}"),
}


def first_bug(folder: Path) -> str:
    with open_campaign(folder) as campaign:
        return campaign.bugs[0].id


def words(command: str, folder: Path, bug: str) -> list[str]:
    return [word.format(folder=folder, bug=bug) for word in COMMANDS[command]]


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize("kind", ["python", "exec"])
def test_reading_runs_nothing(
    folder: Path, trap: Trap, command: str, kind: str, tmp_path: Path
) -> None:
    bug = first_bug(folder)
    store_policy(folder, trap.specs[kind])
    out = tmp_path / "out"
    done = misstep(*(own.format(folder=folder, bug=bug, out=out) for own in READING[command]))
    assert not trap.sprung
    assert done.returncode in (0, 1, 35), (
        done.stderr
    )  # 35: the policy is not the one that was sealed


def test_a_shield_runs_nothing(model_folder: Path, trap: Trap, tmp_path: Path) -> None:
    """The file that it writes names the policy, and a shield lets its file name plain policies only."""
    store_policy(model_folder, trap.specs["python"])
    shield = tmp_path / "shield.json"
    assert misstep("shield", model_folder, "-o", shield).returncode == 0
    with pytest.raises(MisstepError, match="names"):
        load_policy(f"shield:{shield}", small_model("one-way-line"))
    done = misstep("shield", model_folder, "--table", "-o", shield)
    assert done.returncode == 2
    assert "--trust-policy" in done.stderr
    assert not trap.sprung


def test_a_selection_runs_what_the_user_names(trap: Trap, tmp_path: Path) -> None:
    """A folder of an earlier selection that says that another policy was tested there."""
    from misstep.tasks.domains import generate, write_instance

    task = tmp_path / "task"
    write_instance(generate("gripper", balls=4), task)
    out = tmp_path / "selected"
    given = ("select", task, "--policies", "first", "heuristic:ff", "--pool", "3", "--out", out)
    assert misstep(*given).returncode == 0
    for own in out.iterdir():
        if own.is_dir():
            store_policy(own, trap.specs["python"])
    done = misstep(*given)
    assert not trap.sprung
    assert done.returncode in (2, 31), done.stderr


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", ["python", "exec", "noisy", "twice"])
def test_commands_run_nothing(folder: Path, trap: Trap, command: str, kind: str) -> None:
    bug = first_bug(folder)
    store_policy(folder, trap.specs[kind])
    if "shrink" not in command:  # which needs a campaign that is finished
        change(folder, "DELETE FROM units WHERE stage != 'pool'")  # so that there is work left
    done = misstep(*words(command, folder, bug))
    assert not trap.sprung
    assert done.returncode == 2, done.stderr
    assert "--trust-policy" in done.stderr
    assert trap.specs[kind] in done.stderr  # the user sees what it is about


@pytest.mark.parametrize("command", ["resume", "judge", "explain", "rerun"])
def test_the_word_of_the_user_is_enough(folder: Path, trap: Trap, command: str) -> None:
    bug = first_bug(folder)
    spec = trap.specs["python"]
    store_policy(folder, spec)
    policy = load_policy(spec, small_task("gripper-4"))
    trap.mark.unlink()
    change(folder, "UPDATE policy SET digest = ?", parameters=(policy.digest,))
    files = json.dumps(fingerprints(policy.files))
    change(folder, "INSERT OR REPLACE INTO meta VALUES ('files', ?)", parameters=(files,))
    given = ("--policy", spec) if command != "rerun" else ()
    done = misstep(*words(command, folder, bug), *(given or ("--trust-policy",)))
    assert trap.sprung
    assert done.returncode in (0, 1, 13, 35), done.stderr  # 13: the runs were another policy's


def test_python_api_runs_nothing(folder: Path, trap: Trap) -> None:
    bug = first_bug(folder)
    store_policy(folder, trap.specs["exec"])
    with open_campaign(folder) as campaign:
        for ask in (
            lambda: campaign.resume(pool=15),
            lambda: campaign.judge("undo"),
            lambda: campaign.explain(bug, deeper=True),
            lambda: campaign.measure_families(),
            lambda: campaign.replay(rerun=True),
        ):
            with pytest.raises(UsageError, match="trust_policy=True"):
                ask()
    assert not trap.sprung
    with open_campaign(folder, trust_policy=True) as campaign, pytest.raises(MisstepError):
        campaign.replay(rerun=True)  # it is no policy, but it was run
    assert trap.sprung


def test_a_model_behind_a_shield(model_folder: Path, trap: Trap) -> None:
    shield = trap.file.with_name("shield.json")
    assert misstep("explain", model_folder, "--shield", shield).returncode == 0
    for spec in (
        f"shield:{shield}+{trap.specs['python']}",
        f"shield:{shield}+first+{trap.specs['python']}",
    ):
        store_policy(model_folder, spec)
        done = misstep("replay", model_folder, "--rerun")
        assert done.returncode == 2
        assert "--trust-policy" in done.stderr
    assert not trap.sprung


def test_settings_of_a_stranger(folder: Path, trap: Trap) -> None:
    """Also `--config FILE` names a policy."""
    store_policy(folder, trap.specs["python"])
    with pytest.raises(UsageError, match="would run code"):
        run_campaign(small_task("gripper-4"), None, config=folder / "config.toml")
    assert not trap.sprung


def test_changed_code_is_not_loaded(folder: Path, trap: Trap) -> None:
    """The digest is compared before anything is loaded, also with the user's word."""
    for kind in ("python", "noisy"):
        store_policy(folder, trap.specs[kind])
        with (
            open_campaign(folder, trust_policy=True) as campaign,
            pytest.raises(InputFormatError, match="has changed"),
        ):
            campaign.replay(rerun=True)
        assert not trap.sprung


def test_own_campaigns_stay_convenient(tmp_path: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text("def act(state): return state.applicable[0]\n")
    spec = f"python:{file}:act"
    with run_campaign(small_task("gripper-4"), spec, out=tmp_path / "own", pool=5) as campaign:
        campaign.resume(pool=6)
    with open_campaign(tmp_path / "own") as campaign:
        campaign.resume(pool=7)
        assert campaign.replay(rerun=True).rerun == 7


# -- what is plain --------------------------------------------------------------------------------


def test_every_kind_is_decided() -> None:
    """Who adds a kind of policy says in trust.py whether a stranger's folder may name it."""
    assert not PLAIN & FOREIGN
    assert {*OF_TASKS, *OF_MODELS} <= PLAIN | FOREIGN | PARTS


@pytest.mark.parametrize(
    ("spec", "of_model", "plain"),
    [
        ("first", False, True),
        ("heuristic:ff", False, True),
        ("asnet:x.safetensors", False, True),
        ("noisy:0.1:1+heuristic:ff", False, True),
        ("noisy:0.1:1+noisy:0.1:1+exec:x", False, False),
        ("gnn:x.ckpt", False, False),
        ("grpc:host:1", False, False),
        ("llm:model", False, False),
        ("plugin:x", False, False),
        ("", False, False),
        (
            "network:x.nnet",
            False,
            False,
        ),  # not a kind of planning tasks, so it would be somebody else's
        ("network:x.nnet", True, True),
        ("x.nnet", True, True),
        ("x.pt", True, True),  # our own reader opens it, and it cannot call anything
        ("network:--activation=tanh --inputs=a,b x.pth", True, True),
        ("x.onnx", True, False),
        ("agent.zip", True, True),
        ("sb3:--mask=on agent.zip", True, True),
        ("sb3:agent.zip", False, True),
        ("network:--interface=a.jani2nnet x.onnx", True, False),
        ("shield:f+first", True, True),
        ("shield:f", True, True),  # its file can name plain policies only
        ("shield:f+g+exec:x", True, False),
        ("shield:exec:x+first", True, True),  # the name of a file
        ("exec:x.nnet", True, False),
    ],
)
def test_plain(spec: str, of_model: bool, plain: bool) -> None:
    assert is_plain(spec, of_model=of_model) is plain


def test_an_interface_that_names_a_file_of_others(tmp_path: Path) -> None:
    interface = tmp_path / "policy.jani2nnet"
    for file, plain in (("x.nnet", True), ("x.pt", True), ("x.onnx", False)):
        interface.write_text(
            f'{{"file": "{file}", "input": [{{"name": "x", "automaton": null}}], "output": ["a"]}}'
        )
        assert is_plain(str(interface), of_model=True) is plain


def test_files_are_compared_before_they_are_loaded(tmp_path: Path) -> None:
    """What has changed is not run, not even to find out whether it is the policy that the campaign began with."""
    helper, policy = tmp_path / "helper_of_policy.py", tmp_path / "policy.py"
    helper.write_text("CHOICE = 0\n")
    policy.write_text(
        "import helper_of_policy\ndef act(state): return state.operators[helper_of_policy.CHOICE]\n"
    )
    folder = tmp_path / "own"
    spec = f"python:{policy}:act"
    run_campaign(small_task("gripper-4"), spec, pool=5, out=folder).close()
    helper.write_text(f"open({str(tmp_path / 'ran')!r}, 'w'); CHOICE = 0\n")
    with pytest.raises(InputFormatError, match=r"helper_of_policy\.py is not what it was"):
        open_campaign(folder, spec).resume(pool=8)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("kind", ["device", "pipe", "null", "huge"])
def test_files_of_a_policy_that_never_end(folder: Path, tmp_path: Path, kind: str) -> None:
    """A folder names the files that its policy depends on, also if the policy has none."""
    pipe, huge = tmp_path / "pipe", tmp_path / "huge"
    os.mkfifo(pipe)
    with huge.open("wb") as file:
        file.truncate(2**40)
    named = {"device": "/dev/zero", "pipe": str(pipe), "null": "a\0b", "huge": str(huge)}[kind]
    files = json.dumps({named: "x"})
    change(folder, "UPDATE meta SET value = ? WHERE key = 'files'", parameters=(files,))
    done = misstep("judge", folder, "--oracle", "undo")
    assert done.returncode == 31
    assert "has changed since the campaign began" in done.stderr


def other_world(folder: Path, other: Path, spec: str) -> None:
    """Let a campaign have the settings of one in the other world, on this policy."""
    with open_campaign(other) as campaign:
        settings = {**campaign.settings.as_dict(), "policy": spec}
    text = to_toml(settings)
    with closing(sqlite3.connect(folder / "run.db")) as connection, connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'config'", (text,))
        connection.execute("UPDATE policy SET spec = ?", (spec,))
        connection.execute("UPDATE verdicts SET oracle = ?", (settings["oracle"],))
    (folder / "config.toml").write_text(text)


@pytest.mark.parametrize("world", ["task", "model"])
def test_settings_of_the_other_world_do_not_decide_what_is_plain(
    world: str, folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a model this is a file for onnxruntime, and on a planning task a plain policy."""
    folder = Path(shutil.copytree(folders[world], tmp_path / "found"))
    other_world(folder, folders["model" if world == "task" else "task"], "asnet:x.onnx")
    monkeypatch.chdir(tmp_path)
    with open_campaign(folder) as campaign, pytest.raises(InputFormatError, match="its world is"):
        campaign.tasks  # noqa: B018
    for command in (
        ("test", "--resume", "--out", folder),
        ("replay", folder, "--rerun"),
        ("retest", folder, "--policy", "first", "--out", tmp_path / "again"),
        ("export", "tests", folder, "-o", tmp_path / "exported"),
        ("explain", folder),
    ):
        done = misstep(*command)
        assert done.returncode in (2, 31, 35), (command, done.stderr)
