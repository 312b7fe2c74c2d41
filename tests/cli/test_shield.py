"""`misstep shield`: a decider that shields a policy, as a file that is itself a policy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from misstep.campaigns.campaign import open_campaign
from misstep.errors import InputFormatError, UsageError
from misstep.policies.load import load_policy
from misstep.safety import Answer, Decider, System, envelope
from misstep.safety.jani import jani_transitions, system_of
from misstep.safety.shield import DeciderShield
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask, State
from misstep.tasks.models import generate_model
from support.commands import misstep, result_of


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.jani"
    path.write_text(generate_model("one-way-line", cells=5, packages=2, drop=True).text)
    return path


def is_safe(task: JaniTask, spec: str, state: State) -> bool:
    """Whether the policy never gets unsafe from there, by looking at all its runs."""
    engine = task.new_engine()
    policy = load_policy(spec, task, engine=engine)
    return envelope(system_of(task, policy, engine), [state]).answer is Answer.SAFE


def test_a_shielded_policy_is_safe_from_every_safe_state(model: Path, tmp_path: Path) -> None:
    """All states of the model, against value iteration."""
    task = load_jani(model)
    space = task.space()
    reference = Decider(System(jani_transitions(task), "first"), "vi")
    told = result_of("shield", model, "--policy", "first", "-o", tmp_path / "s.json")
    assert told["starts"] == {"safe": 100, "not safe": 0, "unknown": 0}
    states = [space.state(i) for i in range(len(space))]
    safe = [s for s in states if reference.decide(s).answer is Answer.SAFE]
    assert len(states) > 300
    assert 50 < len(safe) < 100
    for state in safe:
        assert is_safe(task, f"shield:{tmp_path / 's.json'}", state)
    unguarded = [state for state in safe if not is_safe(task, "first", state)]
    assert unguarded  # the shield had something to do


def test_what_a_decider_leaves_open_is_no_function_of_the_state(
    model: Path, tmp_path: Path
) -> None:
    """A decider remembers, so its shield is asked again as a program is; a table is not. Few evaluations show it."""
    task = load_jani(model)
    spec = f"shield:{tmp_path / 's.json'}"
    assert (
        misstep(
            "shield", model, "--policy", "first", "-o", tmp_path / "s.json", "--table"
        ).returncode
        == 0
    )
    assert load_policy(spec, task).native
    DeciderShield(task.digest, task.name, "first", "tarjan", 5).write(tmp_path / "s.json")
    assert not load_policy(spec, task).native
    space = task.space()
    states = [space.state(i) for i in range(len(space)) if space.kinds[i] == 0]
    answers = []
    for order in (states, states[::-1]):
        policy = load_policy(spec, task)
        system = system_of(task, policy, policy.engine)
        answers.append({state: system.native.decision(system.id(state)) for state in order})
        policy.close()
    assert answers[0] != answers[1]


@pytest.mark.parametrize("how", [(), ("--table",)])
def test_of_a_campaign(model: Path, tmp_path: Path, how: tuple[str, ...]) -> None:
    found = tmp_path / "found"
    assert misstep("test", model, "--policy", "first", "-o", found, "--runs", "20").returncode == 1
    done = misstep("shield", found, "-o", tmp_path / "s.json", *how)
    assert done.returncode == 0, done.stderr
    assert "From a safe state the run stays safe for ever" in done.stdout
    spec = f"shield:{tmp_path / 's.json'}"
    again = result_of("test", model, "--policy", spec, "-o", tmp_path / "again", "--runs", "50")
    assert again["outcomes"].get("unsafe", 0) == 0
    # The folder of that campaign may be read without a word on its policy.
    assert misstep("replay", tmp_path / "again", "--rerun").returncode == 0
    with open_campaign(found) as campaign:
        assert campaign.shield(tmp_path / "api.json").policy == "first"
    assert DeciderShield.from_json((tmp_path / "api.json").read_text()).decider == "localfix"
    assert result_of("shield", found, "-o", tmp_path / "t.json", *how)["policy"] == "first"


@pytest.mark.parametrize("how", [(), ("--table",)])
def test_another_model_is_refused(model: Path, tmp_path: Path, how: tuple[str, ...]) -> None:
    file = tmp_path / "s.json"
    assert misstep("shield", model, "--policy", "first", "-o", file, *how).returncode == 0
    other = tmp_path / "other.jani"
    other.write_text(generate_model("one-way-line", cells=5, packages=1, drop=True).text)
    for spec in (f"shield:{file}", f"shield:{file}+random:1"):
        done = misstep("test", other, "--policy", spec, "--runs", "5")
        assert done.returncode == 2
        assert "expected a shield for other" in done.stderr
    assert load_policy(f"shield:{file}+random:1", load_jani(model)).name


def test_a_file_may_name_plain_policies_only(model: Path, tmp_path: Path) -> None:
    task = load_jani(model)
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\ndef act(state): return None\n")
    for policy, told in (
        (f"python:{trap}:act", "would run code"),
        (f"exec:touch {tmp_path / 'ran'}", "would run code"),
        (f"shield:{tmp_path / 's.json'}", "is a shield itself"),
    ):
        file = tmp_path / "s.json"
        file.write_text(DeciderShield(task.digest, task.name, policy).to_json())
        with pytest.raises(UsageError, match=told):
            load_policy(f"shield:{file}", task)
    assert not (tmp_path / "ran").exists()


def test_damaged_files_are_refused(model: Path, tmp_path: Path) -> None:
    task = load_jani(model)
    good = json.loads(DeciderShield(task.digest, task.name, "first").to_json())
    for change in (
        {"decider": "chance"},
        {"decider": 7},
        {"evaluations": 0},
        {"evaluations": "many"},
        {"evaluations": True},
        {"task": None},
        {"version": 2},
    ):
        (tmp_path / "s.json").write_text(json.dumps({**good, **change}))
        with pytest.raises(InputFormatError, match="cannot read the shield"):
            load_policy(f"shield:{tmp_path / 's.json'}", task)
    del good["policy"]
    (tmp_path / "s.json").write_text(json.dumps(good))
    with pytest.raises(InputFormatError, match="it has no 'policy'"):
        load_policy(f"shield:{tmp_path / 's.json'}", task)


def test_bad_usage(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "s.json"
    for arguments, told in (
        ((model,), "expected --policy SPEC"),
        ((model, "--policy", "first", "--oracle", "chance"), "no decider 'chance'"),
        ((model, "--policy", "first", "--states", "5"), "--states has no meaning here"),
    ):
        done = misstep("shield", *arguments, "-o", out)
        assert (done.returncode, out.exists()) == (2, False)
        assert told in done.stderr
    done = misstep("shield", model, "--policy", "first", "-o", out, "--table", "--states", "5")
    assert done.returncode == 22
    assert not out.exists()


def test_a_decider_without_evaluations_leaves_the_policy_its_way(
    model: Path, tmp_path: Path
) -> None:
    """What it cannot decide it does not claim: the shield does nothing then."""
    file = tmp_path / "s.json"
    told = result_of(
        "shield", model, "--policy", "first", "-o", file, "--evaluations", "1", "--starts", "5"
    )
    assert told["starts"]["unknown"] == 5
    task = load_jani(model)
    start = task.initial_states()[0]
    assert not is_safe(task, f"shield:{file}", start)


def test_no_other_file_is_replaced(model: Path, tmp_path: Path) -> None:
    """A slip of the pen must not cost a policy; an older shield is replaced, and a place is looked at first."""
    mine = tmp_path / "mine.py"
    mine.write_text("def policy(state): ...\n")
    done = misstep("shield", model, "--policy", "first", "-o", mine)
    assert done.returncode == 30
    assert "mine.py: the file exists and is not a shield; expected no such file" in done.stderr
    assert mine.read_text() == "def policy(state): ...\n"
    done = misstep("shield", model, "--policy", "first", "-o", tmp_path / "none" / "s.json")
    assert done.returncode == 30
    assert "there is no such folder" in done.stderr
    for seed in ("0", "1"):
        told = result_of(
            "shield", model, "--policy", "first", "-o", tmp_path / "s.json", "--seed", seed
        )
        assert told["shield"] == str(tmp_path / "s.json")
