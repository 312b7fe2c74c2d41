"""Readers of learned policies: networks, trees, archives of agents, rankers and action schema networks."""

from __future__ import annotations

import importlib.util
import io
import json
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from attack.fuzzing.mutators import Files
from attack.fuzzing.reader import Reader, placed
from misstep.policies.load import load_policy
from misstep.policies.networks.activation import Activation
from misstep.policies.networks.declaration import Declaration, load_golden
from misstep.policies.networks.load import load_network
from misstep.policies.networks.nnet import encode_nnet
from misstep.policies.networks.trees import encode_ensemble
from misstep.policies.policy import States
from misstep.policies.safetensors import encode_tensors
from misstep.policies.shipped import shipped
from misstep.policies.torch_archive import read_checkpoint
from misstep.policies.torch_archive import tensors_of as tensors_of_checkpoint
from misstep.policies.zoo import __path__ as zoo
from misstep.tasks.jani.interface import load_interface
from misstep.tasks.task import Task
from support.agents import PLAIN, actor, archive, state_dict
from support.networks import (
    LIGHTGBM,
    LIGHTGBM_FILE,
    XGBOOST,
    random_ensemble,
    random_mlp,
    safetensors_bytes,
    tensors_of,
)
from support.tasks import rows, small_task, walk

TRAINED = Path(__file__).resolve().parents[2] / "policies" / "trained"
HAS_TORCH = importlib.util.find_spec("torch") is not None

INTERFACE = {
    "file": "n.nnet",
    "input": [{"name": "x", "index": 0, "automaton": {"name": "m", "index": 0}}, {"name": "y"}],
    "output": ["a", "b"],
}


@cache
def task() -> Task:
    return small_task("ferry-3")


@cache
def states() -> States:
    return rows(walk(task(), 4, 1))


def use_network(files: Files, place: Path) -> None:
    (name,) = files
    network = load_network(placed(files, place) / name)
    outputs = network.evaluate(np.zeros((3, network.inputs)))
    assert outputs.shape == (3, network.outputs)


def use_weights(files: Files, place: Path) -> None:
    """A file of weights whose activation the user declares."""
    (name,) = files
    network = load_network(placed(files, place) / name, Declaration(Activation("tanh")))
    assert network.evaluate(np.zeros((3, network.inputs))).shape == (3, network.outputs)


def use_pickle(files: Files, _: Path) -> None:
    """The pickle alone, in an archive that is whole: damage to an archive seldom gets as far as what is in it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr("a/data.pkl", files["data.pkl"])
        for number in range(16):
            packed.writestr(f"a/data/{number}", bytes(1024))
    stored = read_checkpoint(buffer.getvalue(), "here", "weights", 2**20)
    tensors_of_checkpoint(stored, "here", "weights", 2**20)


def use_rows(files: Files, place: Path) -> None:
    load_golden(placed(files, place) / "x.json")


def use_policy(kind: str, file: str) -> Callable[[Files, Path], None]:
    def use(files: Files, place: Path) -> None:
        policy = load_policy(f"{kind}{placed(files, place) / file}", task())
        if policy.set_valued:
            policy.permitted(states())
        else:
            policy.decide(states())

    return use


def nnet_seeds() -> list[Files]:
    return [
        {"x.nnet": encode_nnet(random_mlp(sizes, normalised=sizes[0] == 2)).encode()}
        for sizes in ([2, 3, 2], [3, 4, 4, 2])
    ]


def tensor_seeds() -> list[Files]:
    weights = random_mlp([3, 4, 2])
    return [
        {"x.safetensors": safetensors_bytes(tensors_of(weights, names))}
        for names in (["0", "2"], ["fc1", "fc2"])
    ]


def json_seeds() -> list[Files]:
    own = encode_ensemble(random_ensemble(0, trees=2, depth=2))
    return [{"x.json": t.encode()} for t in (own, json.dumps(XGBOOST), json.dumps(LIGHTGBM))]


def text_seeds() -> list[Files]:
    return [{"x.txt": LIGHTGBM_FILE.encode()}]


def interface_seeds() -> list[Files]:
    return [{"x.jani2nnet": json.dumps(INTERFACE).encode()}]


def use_interface(files: Files, place: Path) -> None:
    load_interface(placed(files, place) / "x.jani2nnet")


def agent_seeds() -> list[Files]:
    from misstep.tasks.observations import FlatFacts

    sizes = [FlatFacts(task()).size, 8, task().operator_count]
    made = [
        archive(
            state_dict(actor(sizes, dqn=dqn)),
            {
                **PLAIN,
                "policy_kwargs": {"activation_fn": "<class 'torch.nn.modules.activation.ELU'>"},
            },
        )
        for dqn in (False, True)
    ]
    return [
        {"x.zip": content} for content in (*made, (Path(zoo[0]) / "ferry-ppo.zip").read_bytes())
    ]


def torch_seeds() -> list[Files]:
    tensors = {
        name: np.asarray(t, np.float32)
        for name, t in tensors_of(random_mlp([3, 4, 2]), ["0", "2"]).items()
    }
    return [{"x.pt": state_dict(tensors)}, {"x.pt": (TRAINED / "ppo-actor.pt").read_bytes()}]


def pickle_seeds() -> list[Files]:
    found: list[Files] = []
    for seed in torch_seeds():
        with zipfile.ZipFile(io.BytesIO(seed["x.pt"])) as stored:
            (name,) = (own for own in stored.namelist() if own.endswith("data.pkl"))
            found.append({"data.pkl": stored.read(name)})
    return found


def row_seeds() -> list[Files]:
    return [{"x.json": json.dumps({"inputs": [[1, 2.5]], "outputs": [[0.5]]}).encode()}]


def wl_seeds() -> list[Files]:
    """As it is stored, and unpacked: damage to an archive seldom gets as far as what is in it."""
    content = (Path(zoo[0]) / "ferry-wl.model").read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as stored:
        return [{"x.model": content}, {"x.model": stored.read("ferry-wl.model.params")}]


def asnet_seeds() -> list[Files]:
    return [{"x.safetensors": shipped("asnets", "ferry").file.read_bytes()}]


def rgnn_seeds() -> list[Files]:
    from misstep.policies.gnn.checkpoint import Relation, weight_shapes
    from misstep.policies.rgnn.model_file import AGGREGATION, FORMAT, VERSION, names

    lifted = task().lifted
    listed = [(predicate.name, predicate.arity) for predicate in lifted.predicates]
    both = [*listed, *((f"{name}_goal", arity) for name, arity in listed)]
    relations = tuple(Relation(*entry) for entry in both)
    own = dict(names(relations, True))
    random = np.random.default_rng(1)
    tensors = {}
    for name, shape in weight_shapes(relations, 4, True).items():
        layer, _, kind = name.rpartition(".")
        tensors[f"{own[layer]}.{kind}"] = random.normal(size=shape).astype(np.float32)
    about = {
        "format": FORMAT,
        "version": VERSION,
        "width": 4,
        "rounds": 2,
        "aggregation": AGGREGATION,
        "predicates": [list(entry) for entry in listed],
        "solvable": True,
    }
    return [{"x.safetensors": encode_tensors(tensors, {}), "x.json": json.dumps(about).encode()}]


READERS = (
    Reader("nnet", nnet_seeds, use_network, cases=2000),
    Reader("tensors", tensor_seeds, use_network, cases=2500),
    Reader("trees", json_seeds, use_network, cases=3000),
    Reader("lightgbm", text_seeds, use_network, cases=2000),
    Reader("interface", interface_seeds, use_interface, cases=1500),
    Reader("sb3", agent_seeds, use_policy("sb3:", "x.zip"), cases=1000),
    Reader("wl", wl_seeds, use_policy("wl:", "x.model"), cases=1000),
    Reader("asnet", asnet_seeds, use_policy("asnet:", "x.safetensors"), cases=750),
    *(
        (Reader("rgnn", rgnn_seeds, use_policy("rgnn:", "x.safetensors"), cases=500),)
        if HAS_TORCH
        else ()
    ),
    Reader("torch", torch_seeds, use_weights, cases=750),
    Reader("torch-pickle", pickle_seeds, use_pickle, cases=2000),
    Reader("golden-rows", row_seeds, use_rows, cases=1000),
)
