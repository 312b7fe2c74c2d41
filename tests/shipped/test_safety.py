"""The networks that ship: what their cards say is so."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from misstep.errors import UnsupportedError, UsageError
from misstep.policies.load import load_policy
from misstep.policies.networks import choose, load_network
from misstep.policies.shipped import SHIPPED, shipped, shipped_names
from misstep.safety import Answer, Decider, System, envelope
from misstep.tasks.jani.interface import load_interface
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.property import State
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.models import generate_model
from misstep.training.qlearning.evaluate import evaluate

EACH = pytest.mark.parametrize("name", shipped_names("safety"))


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


def test_three_domains() -> None:
    assert {"one-way-line", "beluga", "inverted-pendulum"} <= set(shipped_names("safety"))
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
    assert file.stat().st_size < 100_000
    assert (network.inputs, network.outputs) == (own.card["inputs"], own.card["outputs"])
    assert network.digest == own.card["digest"]
    assert hashlib.sha256(file.read_bytes()).hexdigest() == own.card["digest"]
    task = model_of(name)
    assert interface.columns(task) == list(range(network.inputs))
    assert interface.outputs == task.labels
    assert own.card["commands"][1].startswith("misstep train qlearning ")
    assert own.card["test"]["unsafe_rate"] > 0


@EACH
def test_it_has_a_bug(name: str) -> None:
    own = shipped("safety", name)
    task = model_of(name)
    network = load_network(network_file(own.file))

    def act(state: State) -> int:
        mask = np.zeros((1, len(task.labels)), np.bool_)
        mask[0, task.applicable(state)] = True
        return int(choose(network.evaluate(np.array([state], dtype=np.float64)), mask)[0])

    start = task.parse_state(own.card["fuzzing"]["bug_at"])
    system = System(task, act, initial=[start])
    assert envelope(system, [start]).answer is Answer.NOT_SAFE
    assert Decider(system).decide(start).answer is Answer.SAFE


@EACH
def test_the_rates_of_the_card(name: str) -> None:
    """The native network gives the same bits everywhere; the episodes come from the seed."""
    own = shipped("safety", name)
    stated = dict(own.card["test"])
    seed, horizon = stated.pop("seed"), stated.pop("horizon")
    uniform = stated.pop("uniform_outcomes")
    network = load_network(network_file(own.file))
    found = evaluate(
        model_of(name),
        network,
        range(network.inputs),
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
    for other in shipped_names("safety"):
        if other != name:
            with pytest.raises(UnsupportedError, match="not what the network was trained on"):
                load_policy(f"shipped:{other}", task)


def test_another_size_is_another_model(tmp_path: Path) -> None:
    card = shipped("safety", "one-way-line").card
    for change, told in (
        ({"cells": 9}, "a variable load_8 too many"),
        ({"cells": 7}, "no variable load_7"),
        ({"park": True}, "a variable parked too many"),
    ):
        path = tmp_path / f"{'-'.join(change)}-{len(told)}.jani"
        path.write_text(generate_model("one-way-line", **{**card["options"], **change}).text)
        with pytest.raises(UnsupportedError, match=told) as error:
            load_policy("shipped:one-way-line", load_jani(path))
        assert "--cells 8 --packages 3 --drop" in str(error.value)
    with pytest.raises(UsageError, match="no network 'gripper'"):
        load_policy("shipped:gripper", load_jani(path))
