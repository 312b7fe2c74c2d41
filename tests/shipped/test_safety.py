"""The networks that ship have the qualities that their cards state."""

from __future__ import annotations

import hashlib
import math
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from misstep.errors import UnsupportedError, UsageError
from misstep.policies.load import load_policy
from misstep.policies.networks import load_network
from misstep.policies.shipped import SHIPPED, shipped, shipped_names
from misstep.safety import Answer, Decider, FuzzSettings, System, fuzz
from misstep.safety.jani import system_of
from misstep.tasks.jani.interface import load_interface
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.property import State
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.models import MODELS, generate_model
from misstep.training.qlearning.evaluate import evaluate
from misstep.training.qlearning.published import PUBLISHED, domain_of

NAMES = shipped_names("safety")
EACH = pytest.mark.parametrize("name", NAMES)
# Networks that were trained on small models, and have a proven bug each.
SMALL = [name for name in NAMES if name.endswith("-small")]
# The nine domains at published sizes, each with the best unsafe network of a sweep; trees were fitted to some of them.
PUBLISHED_NAMES = [own.name for own in PUBLISHED]
# No unsafe run of these was found; all networks of the sweep for the two-way line were like that.
NEVER_UNSAFE = ("two-way-line", "one-way-line-trees")
# The decider cannot tell within its budget whether a state of the cart pole is safe.
WITHOUT_PROVEN_BUG = (*NEVER_UNSAFE, "cartpole", "cartpole-trees")
TREES = [name for name in NAMES if name.endswith("-trees")]


@cache
def model_of(name: str) -> JaniTask:
    card = shipped("safety", name).card
    path = Path(mkdtemp()) / "model.jani"
    path.write_text(generate_model(card["model"], **card["options"]).text)
    return load_jani(path)


def network_file(interface: Path) -> Path:
    file = load_interface(interface).policy_file
    assert file is not None
    return file


def test_all_domains() -> None:
    assert set(NAMES) == {*SMALL, *PUBLISHED_NAMES, *TREES}
    assert set(PUBLISHED_NAMES) == set(MODELS)
    assert {name.removesuffix("-trees") for name in TREES} <= set(PUBLISHED_NAMES)
    assert len(SMALL) == 3
    assert len(TREES) >= 3
    assert sum(file.stat().st_size for file in (SHIPPED / "safety").iterdir()) < 1_000_000
    with pytest.raises(UsageError, match="no network 'chess'"):
        shipped("safety", "chess")


@EACH
def test_small_and_as_the_card_says(name: str) -> None:
    own = shipped("safety", name)
    interface = load_interface(own.file)
    file = network_file(own.file)
    network = load_network(file)
    interface.check_sizes(network.inputs, network.outputs, name)
    assert file.parent == SHIPPED / "safety"
    assert file.stat().st_size < 200_000
    assert (network.inputs, network.outputs) == (own.card["inputs"], own.card["outputs"])
    assert network.digest == own.card["digest"]
    assert hashlib.sha256(file.read_bytes()).hexdigest() == own.card["digest"]
    task = model_of(name)
    seen = [task.variable_names[i] for i in interface.columns(task)]
    ignored = own.card.get("ignored", ())
    assert seen == [variable for variable in task.variable_names if variable not in ignored]
    assert interface.outputs == task.labels


@pytest.mark.parametrize("name", PUBLISHED_NAMES)
def test_models_have_published_sizes(name: str) -> None:
    assert shipped("safety", name).card["options"] == domain_of(name).options


def system_of_shipped(name: str) -> System[State, str]:
    task = model_of(name)
    engine = task.new_engine()
    return system_of(task, load_policy(f"shipped:{name}", task, engine=engine), engine)


@EACH
def test_a_run_with_a_fixed_seed_gets_unsafe(name: str) -> None:
    """From the start state on the card."""
    fuzzing = shipped("safety", name).card["fuzzing"]
    start = fuzzing["bug_at"] or fuzzing["unsafe_at"]
    if start is None:
        assert fuzzing["unsafe_runs"] == 0
        assert name in NEVER_UNSAFE
        return
    system, state = system_of_shipped(name), model_of(name).parse_state(start)
    ends = [
        fuzz(system, FuzzSettings("greedy", lookahead, runs=20), seed=1, starts=[state]).ends
        for lookahead in (1, math.inf)
    ]
    assert any(own["unsafe"] for own in ends)


@EACH
def test_its_bug_is_proven(name: str) -> None:
    start = shipped("safety", name).card["fuzzing"]["bug_at"]
    if start is None:
        assert name in WITHOUT_PROVEN_BUG
        return
    state = model_of(name).parse_state(start)
    assert Decider(system_of_shipped(name)).decide(state).answer is Answer.SAFE


@pytest.mark.parametrize("name", [*PUBLISHED_NAMES, *TREES])
def test_the_card_tells_how_good_it_is(name: str) -> None:
    card = shipped("safety", name).card
    test = card["test"]
    assert test["episodes"] == 1000
    assert test["goal_rate"] + test["unsafe_rate"] <= 1 + 1e-9
    assert name in NEVER_UNSAFE or test["unsafe_rate"] > 0 or card["fuzzing"]["unsafe_runs"] > 0


@EACH
@pytest.mark.soundness
def test_the_rates_of_the_card(name: str) -> None:
    """The native network gives the same bits everywhere; the episodes come from the seed."""
    own = shipped("safety", name)
    stated = dict(own.card["test"])
    seed, horizon = stated.pop("seed"), stated.pop("horizon")
    uniform = stated.pop("uniform_outcomes", False)
    network = load_network(network_file(own.file))
    found = evaluate(
        model_of(name),
        network,
        load_interface(own.file).columns(model_of(name)),
        episodes=stated["episodes"],
        horizon=horizon,
        seed=seed,
        uniform_outcomes=uniform,
    )
    assert found == stated


@EACH
def test_by_name(name: str) -> None:
    """`shipped:NAME` decides as the file does, and fits the model it was made for and no other."""
    task, own = model_of(name), shipped("safety", name)
    short, long = (load_policy(s, task) for s in (f"shipped:{name}", str(own.file)))
    assert (short.digest, short.name) == (long.digest, f"shipped:{name}")
    for other in NAMES:
        if model_of(other).variable_names != task.variable_names:
            with pytest.raises(UnsupportedError, match="not what the network was trained on"):
                load_policy(f"shipped:{other}", task)


def test_another_size_is_another_model(tmp_path: Path) -> None:
    card = shipped("safety", "one-way-line-small").card
    for change, told in (
        ({"cells": 9}, "a variable load_8 too many"),
        ({"cells": 7}, "no variable load_7"),
        ({"park": True}, "a variable parked too many"),
    ):
        path = tmp_path / f"{'-'.join(change)}-{len(told)}.jani"
        path.write_text(generate_model("one-way-line", **{**card["options"], **change}).text)
        with pytest.raises(UnsupportedError, match=told) as error:
            load_policy("shipped:one-way-line-small", load_jani(path))
        assert "--cells 8 --packages 3 --drop" in str(error.value)
    with pytest.raises(UsageError, match="no network 'gripper'"):
        load_policy("shipped:gripper", load_jani(path))
