"""The zoo: every known bug is counted again, all files are named, and a stranger's folder may name its policies."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import misstep
from misstep.errors import UnsupportedError, UsageError
from misstep.policies.labels.load import BUILTIN as OF_MODELS
from misstep.policies.load import BUILTIN, load_policy
from misstep.policies.shipped import shipped, shipped_names
from misstep.policies.trust import is_plain
from misstep.policies.zoo.index import ZOO, Entry, entries, entry
from misstep.runs.make import nature_of
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.task import Task
from support.commands import misstep as command
from support.commands import result_of
from support.zoo import known_bugs

NEEDS = {"neural": "torch"}
# Kinds of bugs that a policy of tasks has without further options.
KINDS = {"fails", "costly", "crash", "fails-all", "fails-some", "costly-best"}
OF_TASKS = [own for own in entries().values() if not own.of_model]
ON_MODELS = [own for own in entries().values() if own.of_model]


def skip_without_extra(own: Entry) -> None:
    if own.extra is not None and importlib.util.find_spec(NEEDS[own.extra]) is None:
        pytest.skip(f"needs misstep[{own.extra}]")


@pytest.mark.parametrize("own", OF_TASKS, ids=lambda own: own.name)
def test_the_known_bugs_are_all_bugs_there_are(own: Entry) -> None:
    skip_without_extra(own)
    assert known_bugs(own) == (own.states, dict(own.bugs))


@pytest.mark.parametrize("own", ON_MODELS, ids=lambda own: own.name)
def test_networks_are_as_their_cards_say(own: Entry) -> None:
    card = shipped("safety", own.spec.removeprefix("shipped:")).card
    assert (own.generator, dict(own.sizes)) == (card["model"], card["options"])
    assert card["commands"][0] == f"{own.command} -o model.jani"
    fuzzing = card["fuzzing"]
    assert (own.states, dict(own.bugs)) == (fuzzing["start_states"], {"unsafe": fuzzing["bugs"]})
    task = own.task()
    assert isinstance(task, JaniTask)
    policy = load_policy(f"zoo:{own.name}", task)
    assert policy.digest == load_policy(own.spec, task).digest
    assert policy.spec == f"zoo:{own.name}"


def test_every_file_is_named_and_small() -> None:
    """A wheel has what is in the folder: wheel.packages takes the whole package."""
    named = {file for own in entries().values() for file in own.files}
    code = {ZOO / name for name in ("__init__.py", "index.py", "index.json", "load.py")}
    there = {file for file in ZOO.iterdir() if file.name != "__pycache__"}
    assert there == named | code
    assert all(file.stat().st_size < 100_000 for file in there)
    networks = {own.spec for own in entries().values() if own.family == "shipped"}
    small = {f"shipped:{n}" for n in shipped_names("safety") if n.endswith("-small")}
    assert small <= networks <= small | {f"shipped:{n}" for n in shipped_names("asnets")}


def test_git_ignores_none_of_the_files() -> None:
    """What git ignores, the builder of wheels leaves out."""
    root = Path(__file__).resolve().parents[2]
    if shutil.which("git") is None or not (root / ".git").exists():
        pytest.skip("not a checkout")
    files = [str(file) for file in ZOO.iterdir() if file.name != "__pycache__"]
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", *files], cwd=root, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")


def test_every_family_is_there() -> None:
    """But those that have no file: native policies, and what needs a server or a checkpoint of others."""
    families = {own.family for own in entries().values()}
    native = {"first", "random", "heuristic", "noisy", "plan", "optimal", "zoo"}
    # `shipped:` are ASNets and networks; `rgnn:` is the network of `gnn:` in a format without pickles.
    elsewhere = {"asnet", "gnn", "grpc", "llm", "network", "shield"}
    assert {*BUILTIN, *OF_MODELS} == families | native | elsewhere
    kinds = {kind for own in entries().values() for kind in own.bugs}
    assert kinds <= {*KINDS, "unsafe"}
    assert kinds >= {"fails", "costly", "crash", "fails-all", "fails-some", "unsafe"}


def test_there_are_policies_of_every_nature() -> None:
    natures = set()
    for name in ("ferry-rules", "ferry-rules-all", "ferry-program"):
        task = entry(name).task()
        assert isinstance(task, Task)
        policy = load_policy(f"zoo:{name}", task)
        natures.add(nature_of(policy))
        policy.close()
    assert natures == {"function", "set", "plan"}


def test_a_stranger_may_name_a_policy_of_the_zoo() -> None:
    """Also one that is code: it is our own, and the name leads nowhere else."""
    for own in entries().values():
        assert is_plain(f"zoo:{own.name}", of_model=own.of_model)
    assert is_plain("noisy:0.1:1+zoo:miconic-python", of_model=False)
    for name in ("../x.py:act", "/tmp/x.py", "", "ferry.rules", "ferry-rules/../../x"):
        with pytest.raises(UsageError, match="the zoo has no policy"):
            entry(name)


def test_mistakes() -> None:
    task = misstep.load_task(misstep.generate("gripper", balls=2))
    with pytest.raises(UsageError, match="did you mean ferry-rules"):
        load_policy("zoo:ferry-rule", task)
    with pytest.raises(UnsupportedError, match="misstep generate beluga --racks 2"):
        load_policy("zoo:beluga-network", task)
    model = misstep.load_task(misstep.generate("one-way-line", cells=5, packages=1))
    with pytest.raises(UnsupportedError, match="the policy is for a planning task"):
        load_policy("zoo:ferry-rules", model)


def test_a_path_with_spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "site packages" / "zoo"
    shutil.copytree(ZOO, copy)
    monkeypatch.setattr("misstep.policies.zoo.index.ZOO", copy)
    for own in OF_TASKS:
        if own.extra is None and own.files:
            task = own.task()
            assert isinstance(task, Task)
            assert str(copy) in own.installed
            load_policy(f"zoo:{own.name}", task).close()


def test_on_the_command_line(tmp_path: Path) -> None:
    own = entry("ferry-rules")
    assert command(*own.command.split()[1:], "-o", tmp_path).returncode == 0
    files: list[Any] = [tmp_path / "domain.pddl", tmp_path / "problem.pddl"]
    tested = command(
        "test", *files, "--policy", "zoo:ferry-rules", "--pool", "20", "-o", tmp_path / "f"
    )
    assert tested.returncode == 1, tested.stderr
    assert command("replay", tmp_path / "f", "--rerun").returncode in (0, 1)
    listed = result_of("list", "--zoo")["zoo"]
    assert set(listed) == set(entries())
    assert listed["ferry-rules"]["bugs"] == dict(own.bugs)
    text = command("list", "--zoo").stdout
    assert "zoo:ferry-rules\n" in text
    assert own.command in text


def test_the_program_is_plain_python() -> None:
    """It runs without Misstep, as the program of a user would."""
    source = (ZOO / "gripper_exec.py").read_text()
    assert "misstep" not in source.partition('"""\n\n')[2]
    done = subprocess.run(
        [sys.executable, "-I", ZOO / "gripper_exec.py"],
        input="{}\n",
        capture_output=True,
        text=True,
    )
    assert "KeyError: 'variables'" in done.stderr
