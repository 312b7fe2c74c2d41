"""Policies over the labels of JANI tasks: what each kind decides, and one line for each thing that can be wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import (
    InputFileError,
    InputFormatError,
    MisstepError,
    ToolError,
    UsageError,
)
from misstep.policies.load import load_policy
from misstep.policies.networks.mlp import Layer, MlpWeights
from misstep.policies.networks.nnet import write_nnet
from misstep.safety import (
    Answer,
    Blacklist,
    Decider,
    FuzzSettings,
    OracleShield,
    System,
    envelope,
    fuzz,
    jani_transitions,
)
from misstep.tasks.jani.task import JaniTask, State
from support.label_policies import constant, decisions, save, system_of
from support.networks import naive_mlp, random_mlp, safetensors_bytes, tensors_of

START = (0, 0, 0)


# -- native ---------------------------------------------------------------------------------------


def test_decisions_of_the_first_and_the_random_policy(line: JaniTask) -> None:
    space = line.space()
    first = decisions(line, "first")
    assert all(first[s] == line.labels[line.applicable(s)[0]] for s in first)
    drawn = decisions(line, "random:3")
    assert all(line.label_id(str(a)) in line.applicable(s) for s, a in drawn.items())
    assert decisions(line, "random:4") != drawn
    # A function of the state, not of the order in which states were met.
    fresh = line.new_engine()
    handle = load_policy("random:3", line, engine=fresh)
    backwards = System(jani_transitions(line, fresh), handle.policy)
    for number in reversed(range(len(space))):
        if space.kinds[number] == 0:
            label = backwards.native.decision(backwards.id(space.state(number)))
            assert label is not None
            assert backwards.label(label) == drawn[space.state(number)]
    counts = [sum(a == label for a in drawn.values()) for label in line.labels]
    assert all(counts[line.label_id(name)] > 20 for name in ("acc", "dec", "move"))


def test_a_network_decides_as_the_plain_evaluation(line: JaniTask, tmp_path: Path) -> None:
    inputs = ["vel", "pos", "load_1", "cargo"]  # blind to the rest, in an order of its own
    labels = ["move", "drop", "dec", "acc", "pick"]
    weights = random_mlp([4, 8, 5], 1)
    file = save(tmp_path, weights, inputs, labels)
    columns = [line.variable_names.index(name) for name in inputs]
    found = decisions(line, str(file))
    for state, label in found.items():
        row = np.array([[float(state[c]) for c in columns]])
        numbers = naive_mlp(weights, row)[0]
        applicable = [line.labels[i] for i in line.applicable(state)]
        best = max((x for x in labels if x in applicable), key=lambda x: numbers[labels.index(x)])
        assert label == best
    for spec in (f"network:{file}", str(tmp_path / "net.jani2nnet")):
        assert decisions(line, spec) == found
    other = tmp_path / "elsewhere.jani2nnet"
    (tmp_path / "net.jani2nnet").rename(other)
    assert decisions(line, f"network:--interface={other} {file}") == found


def test_runs_are_the_same_asked_in_batches_or_one_by_one(line: JaniTask, tmp_path: Path) -> None:
    inputs = list(line.variable_names)
    file = save(tmp_path, random_mlp([len(inputs), 16, 5], 2), inputs, list(line.labels))
    settings = FuzzSettings("greedy", runs=50)
    handle = load_policy(str(file), line)
    batched = fuzz(system_of(line, handle), settings, seed=5)
    alone = decisions(line, str(file))
    single = System(jani_transitions(line), lambda state: alone[state])
    assert fuzz(single, settings, seed=5).runs == batched.runs
    assert batched.looked_at > batched.steps  # there were layers to batch


def test_among_equal_outputs_the_first_is_taken(line: JaniTask, tmp_path: Path) -> None:
    labels = ["dec", "acc", "move", "drop", "pick"]
    file = save(tmp_path, constant(1, 1, 1, 1, 1), ["vel"], labels)
    for state, label in decisions(line, str(file)).items():
        applicable = [line.labels[i] for i in line.applicable(state)]
        assert label == next(x for x in labels if x in applicable)


def test_modes_for_labels_that_do_not_apply(task: JaniTask, tmp_path: Path) -> None:
    file = save(tmp_path, constant(0, 1), ["vel"], ["acc", "dec"])  # brakes, though it stands
    assert decisions(task, str(file))[START] == "acc"
    assert decisions(task, str(file), inapplicable="stop_safe")[START] is None
    with pytest.raises(ToolError, match="names dec, which does not apply"):
        decisions(task, str(file), inapplicable="error")
    # What the rule of the system makes of the plain choice is what the policy does by itself.
    handle = load_policy(str(file), task, inapplicable="error")
    system = System(jani_transitions(task), handle.policy, inapplicable="filter")
    assert system.native.decision(system.id(START)) == 0
    interface = json.loads((tmp_path / "net.jani2nnet").read_text())
    (tmp_path / "net.jani2nnet").write_text(json.dumps({**interface, "filter": False}))
    assert load_policy(str(file), task).inapplicable == "error"
    assert load_policy(str(file), task, inapplicable="filter").inapplicable == "filter"


def test_a_network_that_knows_only_some_labels(task: JaniTask, tmp_path: Path) -> None:
    file = save(tmp_path, constant(1), ["vel"], ["dec"])
    told = r"names no label in pos=0.*; expected a label that applies there: acc; --inapplicable "
    with pytest.raises(ToolError, match=told):
        decisions(task, str(file))
    assert decisions(task, str(file), inapplicable="stop_safe")[START] is None


def test_numbers_that_overflow_are_an_error(task: JaniTask, tmp_path: Path) -> None:
    huge = MlpWeights((Layer(np.full((2, 1), 1e308), np.full(2, 1e308)),))
    file = save(tmp_path, huge, ["vel"], ["acc", "dec"])
    load_policy(str(file), task)
    with pytest.raises(ToolError, match="acc is not finite in"):
        decisions(task, str(file))


def test_networks_in_safetensors_files_and_trees(line: JaniTask, tmp_path: Path) -> None:
    weights = random_mlp([2, 4, 5], 3)
    save(tmp_path, weights, ["vel", "pos"], list(line.labels))
    file = tmp_path / "net.safetensors"
    file.write_bytes(safetensors_bytes(tensors_of(weights, ["0", "2"])))
    single = decisions(line, str(file))
    double = decisions(line, str(tmp_path / "net.nnet"))
    assert sum(single[s] == double[s] for s in single) > 0.99 * len(single)


def test_onnx_goes_through_python(line: JaniTask, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    matrix = np.random.default_rng(0).normal(size=(2, 5)).astype(np.float32)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 2])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 5])],
        [onnx.numpy_helper.from_array(matrix, "w")],
    )
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)])
    made.ir_version = 8
    (tmp_path / "net.onnx").write_bytes(made.SerializeToString())
    weights = MlpWeights((Layer(matrix.T.astype(np.float64), np.zeros(5)),))
    file = save(tmp_path, weights, ["vel", "pos"], list(line.labels))
    assert decisions(line, str(tmp_path / "net.onnx")) == decisions(line, str(file))


def test_digests_tell_policies_apart(task: JaniTask, tmp_path: Path) -> None:
    file = save(tmp_path, constant(0, 1), ["vel"], ["acc", "dec"])
    code = tmp_path / "p.py"
    code.write_text("def f(state): return 'acc'\n")
    specs = ["first", "random:1", "random:2", str(file), f"python:{code}:f"]
    digests = [load_policy(spec, task).digest for spec in specs]
    assert len(set(digests)) == len(specs)
    assert all(len(digest) == 64 for digest in digests)
    assert load_policy(f"network:{file}", task).digest == digests[3]
    other = save(tmp_path, constant(0, 1), ["vel"], ["dec", "acc"])
    assert load_policy(str(other), task).digest != digests[3]


# -- Python ---------------------------------------------------------------------------------------

SOURCE = """
def brake(state):
    return "dec" if state["vel"] > 0 else "acc"

def stops(state):
    return None

def stranger(state):
    return "fly"

def raises(state):
    return 1 / 0

class Made:
    def __init__(self, task):
        self.labels = task.labels
    def act(self, state):
        return self.labels[1]
    def values(self, state):
        return {"acc": 1.0}

class Batched:
    def __init__(self, task):
        self.asked = []
    def act(self, state):
        return "acc"
    def act_batch(self, states):
        self.asked.append(len(states))
        return ["dec" if state["vel"] > 0 else "acc" for state in states]

class Broken:
    def __init__(self, task):
        raise ValueError("no weights")

number = 7
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "policies.py").write_text(SOURCE)
    return tmp_path / "policies.py"


def test_decisions_of_python_policies(task: JaniTask, code: Path) -> None:
    found = decisions(task, f"python:{code}:brake")
    assert found[START] == "acc"
    assert found[0, 1, 0] == "dec"
    assert decisions(task, f"python:{code}:Made")[START] == "acc"  # the best that applies
    assert decisions(task, f"python:{code}:stops", inapplicable="stop_safe")[START] is None
    handle = load_policy(f"python:{code}:Batched", task)
    system = system_of(task, handle)
    report = fuzz(system, FuzzSettings("sample", runs=20))
    assert report.steps > 0


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("stranger", ToolError, "answered 'fly'; expected the name or number of a label, or None"),
        ("raises", ToolError, "ZeroDivisionError"),
        ("stops", ToolError, "names no label in pos=0"),
        ("Broken", InputFormatError, "no weights"),
        ("number", InputFormatError, "no policy 'number'"),
        ("nothing", InputFormatError, "no policy 'nothing'"),
    ],
)
def test_errors_of_python_policies_are_reported(
    task: JaniTask, code: Path, name: str, error: type[MisstepError], words: str
) -> None:
    with pytest.raises(error) as caught:
        decisions(task, f"python:{code}:{name}")
    assert words in str(caught.value)


# -- programs -------------------------------------------------------------------------------------

PROGRAM = """
import json, sys
hello = json.loads(sys.stdin.readline())
assert [v["name"] for v in hello["variables"]] == ["pos", "vel", "crash"], hello
print(json.dumps({"protocol": 1, "name": "brakes", "batch_size": 3}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    assert len(asked["states"]) <= 3
    labels = [
        "dec" if state["vel"] > 0 and "dec" in applicable else "acc"
        for state, applicable in zip(asked["states"], asked["applicable"])
    ]
    CHANGE
    print(json.dumps({"id": asked["id"], "labels": labels}), flush=True)
"""


def program(folder: Path, change: str = "pass") -> str:
    path = folder / "program.py"
    path.write_text(PROGRAM.replace("CHANGE", change))
    return f"exec:{sys.executable} {path}"


def test_decisions_of_programs(task: JaniTask, code: Path) -> None:
    spec = program(code.parent)
    assert decisions(task, spec) == decisions(task, f"python:{code}:brake")
    handle = load_policy(spec, task)
    try:
        report = fuzz(system_of(task, handle), FuzzSettings("sample", runs=20), seed=2)
    finally:
        handle.close()
    other = load_policy(f"python:{code}:brake", task)
    expected = fuzz(system_of(task, other), FuzzSettings("sample", runs=20), seed=2)
    assert report.runs == expected.runs


def test_a_program_that_dies_is_started_once_more(task: JaniTask, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    once = f"import os; os.path.exists({str(mark)!r}) or (open({str(mark)!r}, 'w'), sys.exit(3))"
    assert decisions(task, program(tmp_path, once))[0, 1, 0] == "dec"
    with pytest.raises(ToolError, match="exit code 3"):
        decisions(task, program(tmp_path, "sys.exit(3)"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("labels = ['fly']", 'chose "fly", not a label of the model'),
        ("labels = []", "0 labels for 1 states"),
        ("labels = 'acc'", "no list of labels for 1 states"),
        ("asked['id'] = 99", "id 99 where"),
    ],
)
def test_programs_that_answer_nonsense_are_refused(
    task: JaniTask, tmp_path: Path, change: str, words: str
) -> None:
    with pytest.raises(ToolError) as caught:
        decisions(task, program(tmp_path, change))
    assert words in str(caught.value)


# -- shields --------------------------------------------------------------------------------------


def test_decisions_of_shields(task: JaniTask, tmp_path: Path) -> None:
    system = System(jani_transitions(task), "first")
    blacklist = Blacklist({(0, 1, 0): ("acc",), (1, 1, 0): ("acc",)})
    (tmp_path / "black+list.json").write_text(blacklist.to_json())
    spec = f"shield:{tmp_path / 'black+list.json'}+first"
    assert decisions(task, spec)[0, 1, 0] == "dec"
    assert decisions(task, "first")[0, 1, 0] == "acc"
    table = OracleShield(Decider(system)).table([START])
    (tmp_path / "table.json").write_text(table.to_json())
    for file in ("table.json", "black+list.json"):
        handle = load_policy(f"shield:{tmp_path / file}+first", task)
        assert envelope(system_of(task, handle), [START]).answer is Answer.SAFE
        assert handle.digest != load_policy("first", task).digest
    assert envelope(system, [START]).answer is Answer.NOT_SAFE


def test_shields_of_other_models_are_refused(task: JaniTask, tmp_path: Path) -> None:
    file = tmp_path / "shield.json"
    cases: list[tuple[dict[State, tuple[str, ...]], str]] = [
        ({(0, 1): ("acc",)}, "no state of the model"),
        ({(0, 1, 0): ("fly",)}, "no label 'fly'"),
    ]
    for forbidden, words in cases:
        file.write_text(Blacklist(forbidden).to_json())
        with pytest.raises(InputFormatError, match="does not fit the model") as caught:
            load_policy(f"shield:{file}+first", task)
        assert words in str(caught.value)
    file.write_text("[]")
    with pytest.raises(InputFormatError, match="cannot read the shield"):
        load_policy(f"shield:{file}+first", task)


@pytest.mark.parametrize(
    ("kind", "entry", "message"),
    [
        ("oracle", {"state": [0, 0], "allowed": []}, "no label is allowed in"),
        ("blacklist", {"state": {"a": 1}, "forbidden": ["acc"]}, "unhashable"),
        ("blacklist", {"state": [0, 0, 0], "forbidden": [3]}, "3 is not a label"),
        ("blacklist", {"state": [0, 0, 0], "forbidden": [{}]}, "is not a label"),
        ("blacklist", {"state": [0, 0], "forbidden": 3}, "not iterable"),
        ("blacklist", {"state": [0, 0]}, "it has no 'forbidden'"),
    ],
)
def test_shields_that_make_no_sense_are_refused(
    task: JaniTask, tmp_path: Path, kind: str, entry: dict[str, Any], message: str
) -> None:
    file = tmp_path / "shield.json"
    document = {"format": "misstep-shield", "version": 1, "kind": kind, "complete": True}
    file.write_text(json.dumps({**document, "states": [entry]}))
    with pytest.raises(InputFormatError, match=message) as refused:
        load_policy(f"shield:{file}+first", task)
    assert str(file) in str(refused.value)


# -- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        ("frist", UsageError, "did you mean first?"),
        ("first:1", UsageError, "expected first"),
        ("random", UsageError, "expected random:SEED"),
        ("random:x", UsageError, "the seed is 'x'"),
        ("network:", UsageError, "expected network:FILE"),
        ("network:--speed=1 a.nnet", UsageError, "no option --speed"),
        ("nowhere.nnet", InputFileError, "nowhere.nnet"),
        ("nowhere.jani2nnet", InputFileError, "nowhere.jani2nnet"),
        ("python:nowhere.py:f", InputFileError, "nowhere.py"),
        ("python:f", UsageError, "python:FILE.py:NAME"),
        ("exec:", UsageError, "no command"),
        ("exec:/nowhere/program", ToolError, "no such program"),
        ("shield:first", InputFileError, "first"),
        ("shield:first+", UsageError, "shield:FILE or shield:FILE+SPEC"),
        ("shield:nowhere.json+first", InputFileError, "nowhere.json"),
    ],
)
def test_wrong_specs_are_refused(
    task: JaniTask, spec: str, error: type[MisstepError], words: str
) -> None:
    with pytest.raises(error) as caught:
        load_policy(spec, task)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wrong_modes_are_refused(task: JaniTask) -> None:
    with pytest.raises(UsageError, match="filter, stop_safe, error"):
        load_policy("first", task, inapplicable="ignore")


@pytest.mark.parametrize(
    ("inputs", "labels", "words"),
    [
        (["vel", "pos"], ["acc", "dec"], "the network has 1 inputs and its interface 2"),
        (["vel"], ["acc"], "the network has 2 outputs and its interface 1"),
        (["vel"], ["acc", "fly"], "the model has no label 'fly'"),
        (["wind"], ["acc", "dec"], "reads wind, which the model does not have"),
    ],
)
def test_networks_that_do_not_fit_the_model_are_refused(
    task: JaniTask, tmp_path: Path, inputs: list[str], labels: list[str], words: str
) -> None:
    file = save(tmp_path, constant(0, 1), inputs, labels)
    with pytest.raises(InputFormatError) as caught:
        load_policy(str(file), task)
    assert words in str(caught.value)


def test_a_network_without_interface_is_refused(task: JaniTask, tmp_path: Path) -> None:
    write_nnet(constant(0, 1), tmp_path / "net.nnet")
    with pytest.raises(InputFileError, match=r"net\.jani2nnet beside it"):
        load_policy(str(tmp_path / "net.nnet"), task)
    (tmp_path / "net.nnet").write_text("nonsense")
    with pytest.raises(InputFormatError):
        load_policy(str(tmp_path / "net.nnet"), task)
