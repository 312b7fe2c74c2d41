"""Steps that train: which tasks they take, what they compare, and that a kill changes nothing."""

from __future__ import annotations

import base64
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from misstep.errors import InputFileError, Interrupted, UnsupportedError
from misstep.experiments.definition import load_definition
from misstep.experiments.journal import read_journal
from misstep.experiments.kinds import MISSING, Finished, kind, learning, policies, training_runs
from misstep.experiments.kinds.learning import open_tasks, split, spread, subject
from misstep.policies.load import load_policy
from misstep.tasks.domains import DOMAINS, generate
from misstep.tasks.pddl.load import load_planning_task
from support.tasks import generated_task

HAS_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed")

ROW: dict[str, Any] = {
    "name": "Gripper",
    "domain": "gripper",
    "competition": "gripper",
    "tasks_folder": None,
    "training": {"balls": [1, 9]},
    "easy": {"balls": [2, 4], "scatter": [0, 50]},
    "medium": {"balls": [20, 30]},
    "hard": None,
    "layers": 2,
    "tags": {},
}
STEP: dict[str, Any] = {
    "name": "training",
    "recipe": "own",
    "inits": 1,
    "start": 1,
    "steps": 20,
    "teacher_expansions": 500,
    "exhaustive_states": 200,
    "all_states": False,
    "validation_pool": 4,
    "validation_oracle": "bmo(10)",
    "validation_budget": 5000,
    "test_pool": 4,
    "test_oracle": "bmo(10)+aras/ehc",
    "test_budget": 100_000,
    "max_steps": 1000,
    "train": 3,
    "validate": 2,
    "of_training": 40,
    "test": 2,
    "of_testing": 10,
    "difficulties": ["easy"],
    "most_operators": 1000,
    "configurations": ["line", "tree-pitest"],
    "budgets": [2, 3],
    "stands_for": [40, 240],
    "compare": True,
}


def row(**own: Any) -> dict[str, Any]:
    made = {**ROW, **own}
    return {**made, "subject": subject(made)}


def test_tasks_are_spread_over_the_whole_range() -> None:
    numbers = [{"n": n} for n in range(80)]
    assert [own["n"] for own in spread(numbers, 5)] == [0, 20, 40, 59, 79]
    assert spread(numbers, 100) == numbers
    assert len({own["n"] for own in spread(numbers, 40)}) == 40
    found = split(STEP, row()["subject"])
    assert [own["sizes"]["balls"] for own in found.train] == [1, 1, 1]
    assert [own["seed"] for own in found.validate] == [3, 39]
    assert [own["sizes"] for _, own in found.test] == [
        {"balls": 2, "scatter": 0},
        {"balls": 3, "scatter": 16},
    ]


def test_the_lists_grow_from_the_first_to_the_last_size() -> None:
    made = subject(ROW)
    assert [len(made[group]) for group in learning.GROUPS] == [99, 30, 30, 0]
    balls = [own["sizes"]["balls"] for own in made["training"]]
    assert balls == sorted(balls)
    assert (balls[0], balls[-1]) == (1, 9)
    uneven = subject({**ROW, "training": {"balls": [1, 5, 6]}})["training"]
    assert [uneven[place]["sizes"]["balls"] for place in (0, 25, 49, 98)] == [1, 3, 5, 6]
    with pytest.raises(UnsupportedError, match="no tasks of moon can be generated"):
        subject({**ROW, "domain": "moon"})


def test_what_is_missing_is_named() -> None:
    step = {**STEP, "difficulties": ["easy", "hard"], "test": 12}
    found = split(step, row()["subject"])
    assert found.missing == [
        ["easy", "10 tasks, and 12 are asked for"],
        ["medium", "not asked for at this scale"],
        ["hard", "0 tasks, and 12 are asked for"],
    ]
    own = open_tasks([*found.train, {**found.train[0], "sizes": {"balls": 0}}], 1000)
    assert own.places == [0, 1, 2]
    assert own.left_out[0][0] == "gripper, balls 0, task 0"
    large = open_tasks([{"domain": "gripper", "sizes": {"balls": 30}, "seed": 0}], 50)
    assert large.tasks == []
    assert large.left_out[0][1].endswith("operators, and at most 50 are allowed")


def track(folder: Path) -> Path:
    """A folder like that of the learning track."""
    own = folder / "gripper"
    for part, sizes in (("training/easy", range(1, 7)), ("testing/easy", (3, 4))):
        (own / part).mkdir(parents=True)
        for n in sizes:
            made = generate("gripper", balls=n)
            (own / part / f"p{n:02d}.pddl").write_text(made.problem_pddl)
            (own / "domain.pddl").write_text(made.domain_pddl)
    return folder


def test_files_of_the_learning_track(tmp_path: Path) -> None:
    made = row(tasks_folder=str(track(tmp_path)))
    found = split({**STEP, "difficulties": ["easy", "medium"]}, made["subject"])
    assert [Path(own["files"][1]).stem for own in found.train] == ["p01", "p02", "p03"]
    assert [Path(own["files"][1]).stem for own in found.validate] == ["p04", "p06"]
    assert [difficulty for difficulty, _ in found.test] == ["easy", "easy"]
    assert found.missing[0] == ["medium", "0 tasks, and 2 are asked for"]
    names = [task.name for task in open_tasks([own for _, own in found.test], 1000).tasks]
    assert names == ["gripper/easy/p03", "gripper/easy/p04"]
    # Other content is another unit.
    first = next(training_runs.units(STEP, made, 0)).payload
    learning._digest.cache_clear()
    (tmp_path / "gripper/training/easy/p01.pddl").write_text(
        generate("gripper", balls=8).problem_pddl
    )
    assert next(training_runs.units(STEP, made, 0)).payload != first
    with pytest.raises(InputFileError, match="no such file"):
        subject({**ROW, "tasks_folder": str(tmp_path / "nowhere")})


def test_only_lines_are_trained_for_every_budget() -> None:
    step = {**STEP, "configurations": ["line", "line-pitest", "tree", "tree-pitest"]}
    parts = list(training_runs.units(step, row(), 0))
    assert [(p.payload["configuration"], p.payload["budgets"]) for p in parts] == [
        ("line", [2]),
        ("line", [3]),
        ("line-pitest", [2, 3]),
        ("tree", [2, 3]),
        ("tree-pitest", [2, 3]),
    ]
    assert [p.payload["criteria"] for p in parts] == [False, True, False, False, False]
    assert [p.payload["start"] for p in parts] == [False, False, True, False, False]
    # A start-up phase that the smallest budget has no room for is another beginning.
    short = {**step, "budgets": [2, 8], "start": 5}
    assert [p.payload["budgets"] for p in training_runs.units(short, row(), 0)][2:4] == [[2], [8]]
    with pytest.raises(UnsupportedError, match="2 budgets and says for 1"):
        list(training_runs.units({**STEP, "stands_for": [40]}, row(), 0))


def test_states_are_compared_on_relevant_tasks_alone() -> None:
    payload = next(p for p in training_runs.units(STEP, row(), 0) if p.payload["criteria"]).payload
    pool = 4

    def choice(criterion: str, solved: list[bool], tests: dict[str, list[int]]) -> dict[str, Any]:
        compared = criterion in training_runs.COMPARED
        own = {"configuration": "line", "budget": 3, "criterion": criterion, "model": 1}
        return {**own, "epochs": 3, "compared": compared, "solved": solved, "tests": tests}

    whole, cut = [pool, 4, 3, 1], [pool, 2, 2, 0]
    result = {
        "places": [0, 1],
        "left_out": {"train": [["t", "too large"]], "validate": [], "test": []},
        "choices": [
            choice("early-train", [True, False], {}),
            choice("solved-val", [True, True], {"0": whole, "1": whole}),
            choice("pi-test-val", [True, True], {"0": whole, "1": cut}),
            choice("solved-test", [True, True], {"0": whole, "1": whole}),
        ],
    }
    found = list(training_runs.observations(payload, result))
    left_out = [(own["difficulty"], own["task"]) for own in found if own["left_out"]]
    assert left_out == [("medium", "all of medium"), ("hard", "all of hard"), ("train", "t")]
    used = [own for own in found if not own["left_out"]]
    assert len(used) == 8
    assert {own["arm"] for own in used} == {"line 240"}
    # The second task is not relevant for anybody: with one of them testing was cut.
    relevant = [own for own in used if own["relevant"]]
    assert len(relevant) == 3
    assert {(own["states"], own["solved_states"], own["bugs"]) for own in relevant} == {(4, 3, 1)}
    assert [own["solved"] for own in used if own["criterion"] == "early-train"] == [True, False]


@needs_torch
def test_an_interrupted_unit_goes_on_and_gives_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from misstep.training import trainer
    from misstep.training.algorithms import CRITERIA
    from misstep.training.folder import TrainingFolder

    payload = next(p for p in training_runs.units(STEP, row(), 0) if p.payload["criteria"]).payload
    fresh = training_runs.run_in(payload, _made(tmp_path / "fresh"))
    assert {own["criterion"] for own in fresh["choices"]} == set(CRITERIA)
    compared = [own for own in fresh["choices"] if own["compared"]]
    assert all(own["tests"].keys() == compared[0]["tests"].keys() for own in compared)
    train = trainer.train

    def interrupted(*given: Any, report: Any, **more: Any) -> Any:
        def stop(node: Any) -> None:
            report(node)
            if node.id == 1:
                raise KeyboardInterrupt

        return train(*given, report=stop, **more)

    place = _made(tmp_path / "killed")
    with monkeypatch.context() as patch:
        patch.setattr(trainer, "train", interrupted)
        with pytest.raises(Interrupted):
            training_runs.run_in(payload, place)
    with TrainingFolder.open_folder(place / "training") as kept:
        assert len(kept.tree) == 2
    assert training_runs.run_in(payload, place) == fresh
    # What is known of test tasks is read, not found again; a line that was cut is no line.
    log = place / "tests.jsonl"
    lines = log.read_bytes()
    log.write_bytes(lines[:-5])
    assert len(read_journal(log)) == lines.count(b"\n") - 1
    assert training_runs.run_in(payload, place) == fresh


def _made(path: Path) -> Path:
    path.mkdir()
    return path


@needs_torch
def test_a_larger_budget_contains_the_smaller_one(tmp_path: Path) -> None:
    found = {}
    for budgets, names in (([2], [40]), ([2, 4], [40, 240])):
        step = {**STEP, "configurations": ["tree-pitest"], "budgets": budgets, "stands_for": names}
        (part,) = training_runs.units(step, row(), 0)
        result = training_runs.run_in(part.payload, _made(tmp_path / str(len(budgets))))
        found[len(budgets)] = {
            (own["configuration"], own["budget"]): own for own in result["choices"]
        }
    for key in (("tree-pitest", 2), ("start", 2)):
        assert found[1][key] == found[2][key]
    assert ("tree-pitest", 4) in found[2]


@needs_torch
def test_the_best_policy_of_a_domain_is_kept_with_its_card(tmp_path: Path) -> None:
    step = {**STEP, "configuration": "original", "epochs": 2, "seconds": None}
    parts = []
    for seed in (0, 1):
        (part,) = policies.units(step, row(), seed)
        result = policies.run_in(part.payload, _made(tmp_path / str(seed)))
        parts.append(Finished("Gripper", seed, part.payload, result))
    # The second one is made worse on validation tasks, better on test tasks: the first one is chosen.
    worse = [{**own, "initial_solved": False} for own in parts[1].result["validation"]]
    better = [{**own, "initial_solved": True} for own in parts[0].result["validation"]]
    parts[0].result["validation"], parts[1].result["validation"] = better, worse
    policies.finish(tmp_path, parts)
    card = json.loads((tmp_path / "policies/gripper.json").read_text())
    assert card["seed"] == 0
    assert card["chosen_among"]["trainings"] == 2
    assert card["held_out"]["tasks"] == 2
    file = tmp_path / "policies/gripper.safetensors"
    assert file.read_bytes() == base64.b64decode(parts[0].result["file"])
    assert "gripper: an ASNet" in (tmp_path / "policies/gripper.md").read_text()
    load_policy(f"asnet:{file}", generated_task("gripper", balls=5)).close()
    seen = list(policies.observations(parts[0].payload, parts[0].result))
    assert [own["group"] for own in seen] == ["validation"] * 2 + ["test"] * 2


@needs_torch
def test_the_time_of_a_training_ends_it_after_an_epoch(tmp_path: Path) -> None:
    step = {**STEP, "configuration": "original", "epochs": 50, "seconds": 1e-6}
    (part,) = policies.units(step, row(), 0)
    place = _made(tmp_path / "short")
    made = policies.run_in(part.payload, place)["models"]
    assert 1 <= made <= 3  # a model may take less time than the clock shows
    assert policies.run_in(part.payload, place)["models"] == made  # it is over, not begun anew


def test_without_pytorch_a_unit_says_so(tmp_path: Path) -> None:
    part = next(training_runs.units(STEP, row(), 0))
    request = {"kind": "training-runs", "payload": part.payload, "place": str(tmp_path / "own")}
    code = (
        "import json, sys; sys.modules['torch'] = None\n"
        "from misstep.experiments.worker import answer\n"
        "print(json.dumps(answer(json.loads(sys.stdin.read()))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(request), capture_output=True, text=True
    )
    found = json.loads(done.stdout)
    assert found["outcome"] == "missing"
    assert "needs PyTorch" in found["result"]["message"]
    assert "misstep[neural]" in found["result"]["message"]


@pytest.mark.parametrize("name", ["p25", "policies"])
@pytest.mark.parametrize("scale", ["smoke", "small", "medium", "paper"])
def test_built_in_definitions_say_what_every_unit_needs(name: str, scale: str) -> None:
    definition = load_definition(name)
    units = definition.units(scale, 1)
    rows = {unit.row for unit in units}
    if scale != "smoke":
        assert len(rows) == (10 if name == "p25" else len(DOMAINS))
    for unit in units:
        assert MISSING not in unit.payload["train"][0]
        assert kind(unit.kind).longest(unit.payload) is None
        learnt = {(own["seed"], *own["sizes"].items()) for own in unit.payload["train"]}
        seen = {(own["seed"], *own["sizes"].items()) for own in unit.payload["validate"]}
        assert not learnt & seen


def test_training_tasks_of_the_definitions_can_be_made() -> None:
    for name in ("p25", "policies"):
        for unit in load_definition(name).units("small", 1):
            for own in (*unit.payload["train"], *unit.payload["validate"]):
                generate(own["domain"], seed=own["seed"], **own["sizes"])
    smallest = load_definition("policies").units("smoke", 1)[0].payload["train"][0]
    made = generate(smallest["domain"], seed=smallest["seed"], **smallest["sizes"])
    assert load_planning_task(made).operator_count > 0
