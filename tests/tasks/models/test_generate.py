"""Built-in models are reproducible, well-formed, and do what their variants promise."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from typing import Any, cast

import pytest

from misstep.checking.jani import evaluate
from misstep.errors import InputFileError, UsageError
from misstep.tasks.domains.dice import Dice
from misstep.tasks.models import MODELS, generate_model, write_model
from misstep.tasks.parameters import Parameter
from support.ground_truth import census, explore, safe_states
from support.models import VARIANTS, Choices, described
from support.plain_task import PlainTask, parts

# SHA-256 of the file with default parameters and seed 0, shortened. A change here breaks the
# reproducibility of what users have published, and needs a line in the changelog.
GOLDEN = {
    "one-way-line": "b3741ae9223170a7",
    "two-way-line": "2ecc73300a26e31b",
    "blocksworld-cost": "1cb108b0c9f679d3",
    "n-puzzle": "791ac42488cbbe2b",
    "beluga": "0d6f99a6a2071527",
    "bouncing-ball": "40f41112b8409030",
    "inverted-pendulum": "3e8c87af81edf2df",
    "cartpole": "5c478ce92a8774c9",
    "follow-car": "83ccf20bfb6bb588",
}

variants = pytest.mark.parametrize(("name", "choices"), VARIANTS, ids=described)


def task_of(name: str, which: str = "safety", **choices: Any) -> PlainTask:
    return PlainTask(generate_model(name, **choices).document, which)


@pytest.mark.parametrize("name", MODELS)
def test_same_request_gives_the_same_bytes(name: str) -> None:
    text = generate_model(name).text
    assert generate_model(name, seed=0).text == text
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == GOLDEN[name]


@pytest.mark.parametrize("name", MODELS)
def test_the_seed_changes_the_drawn_starts_only(name: str) -> None:
    one, two = (generate_model(name, seed=seed).document for seed in (1, 2))
    assert one["properties"][1] != two["properties"][1]
    assert one["properties"][0] == two["properties"][0]
    assert one["automata"] == two["automata"]


@variants
def test_the_file_is_the_document(name: str, choices: Choices) -> None:
    instance = generate_model(name, **choices)
    assert json.loads(instance.text) == instance.document
    assert instance.document["name"] == instance.name


def test_the_name_says_how_to_generate_it_again() -> None:
    name = generate_model("one-way-line", drop=True, ice="3,5", seed=7, starts=3).name
    assert name == "one-way-line-cells10-packages5-vmax3-drop-ice3,5-seed7-starts3"
    assert "/" not in generate_model("beluga").name


@variants
def test_drawn_starts_meet_the_condition(name: str, choices: Choices) -> None:
    instance = generate_model(name, **choices)
    task = PlainTask(instance.document)
    condition = instance.document["properties"][0]["expression"]["start"]
    drawn = PlainTask(instance.document, "sampled").starts()
    assert 1 <= len(drawn) <= 50
    assert all(task.holds(condition, start) for start in drawn)
    assert all(not task.is_unsafe(start) for start in drawn)
    assert drawn[0] == tuple(slot.initial for slot in task.model.slots)


def test_few_starts_are_the_first_of_many() -> None:
    many, few = (task_of("n-puzzle", "sampled", starts=n).starts() for n in (20, 3))
    assert few == many[:3]
    properties = generate_model("n-puzzle", starts=0).document["properties"]
    assert [p["name"] for p in properties] == ["safety"]


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("one-way-line", {"cells": 3, "packages": 2, "park": True}),
        ("two-way-line", {"cells": 3, "packages": 2}),
        ("blocksworld-cost", {"blocks": 3, "limit": 2}),
        ("n-puzzle", {"width": 2, "height": 2, "tile": 1, "cell": 3}),
        ("beluga", {"lines": "0/1", "racks": 1}),
    ],
)
def test_starts_are_drawn_uniformly_from_all(name: str, choices: Choices) -> None:
    every = task_of(name, **choices).starts()
    model = MODELS[name].build(
        **{p.name: choices.get(p.name, p.default) for p in MODELS[name].parameters}
    )
    dice = Dice("uniform")
    order = [variable.name for variable in model.variables]
    draws = 400 * len(every)
    counts = Counter(
        tuple(start[v] for v in order) for start in (model.draw(dice) for _ in range(draws))
    )
    assert set(counts) == set(every)
    assert all(abs(count - 400) < 120 for count in counts.values())


@variants
def test_models_use_the_core_of_the_format_only(name: str, choices: Choices) -> None:
    """So that every JANI tool reads them without any feature."""
    instance = generate_model(name, **choices)
    body = {k: v for k, v in instance.document.items() if k != "properties"}
    found = {part["op"] for part in parts(body) if isinstance(part, dict) and "op" in part}
    assert found <= {"=", "≠", "<", "≤", "∧", "∨", "+", "-", "*", "/", "ite", "sin", "cos"}  # noqa: RUF001
    features = instance.document.get("features", [])
    assert features == (["trigonometric-functions"] if choices.get("trig") else [])


@variants
def test_edges_are_complete_distributions_over_declared_names(name: str, choices: Choices) -> None:
    document = generate_model(name, **choices).document
    variables = {variable["name"] for variable in document["variables"]}
    labels = [action["name"] for action in document["actions"]]
    edges = document["automata"][0]["edges"]
    assert {edge["action"] for edge in edges} == set(labels)
    assert list(dict.fromkeys(edge["action"] for edge in edges)) == labels
    for edge in edges:
        written = [d.get("probability", {"exp": 1})["exp"] for d in edge["destinations"]]
        shares = [cast(float, evaluate(share, {})) for share in written]
        assert math.isclose(sum(shares), 1)
        for destination in edge["destinations"]:
            assert {a["ref"] for a in destination["assignments"]} <= variables


@variants
def test_policies_see_variables_of_the_model(name: str, choices: Choices) -> None:
    instance = generate_model(name, **choices)
    variables = [variable["name"] for variable in instance.document["variables"]]
    assert instance.inputs
    assert [v for v in variables if v in instance.inputs] == list(instance.inputs)
    assert instance.labels == tuple(action["name"] for action in instance.document["actions"])


@pytest.mark.parametrize("name", MODELS)
def test_largest_parameters_are_generated(name: str) -> None:
    largest: Choices = {
        p.name: p.maximum if isinstance(p, Parameter) else p.default
        for p in MODELS[name].parameters
    }
    if name == "n-puzzle":
        largest |= {"tile": 99, "cell": 0}
    assert generate_model(name, starts=1, **largest).labels


@pytest.mark.parametrize(
    ("name", "request_", "fragments"),
    [
        ("one-way", {}, ["unknown model 'one-way'", "did you mean one-way-line?"]),
        ("n-puzzle", {"heigth": 2}, ["n-puzzle has no parameter 'heigth'", "did you mean height?"]),
        ("n-puzzle", {"max_cost": -1}, ["max_cost of n-puzzle is -1", "from 0 to 100"]),
        ("n-puzzle", {"wrap": 1}, ["wrap of n-puzzle is 1", "true or false"]),
        ("n-puzzle", {"width": 1, "height": 1}, ["one cell"]),
        ("n-puzzle", {"tile": 9}, ["tile 9 on cell 7 of a puzzle of 9 cells"]),
        ("n-puzzle", {"tile": 8}, ["tile 8 on cell 7 is unsafe", "part of the goal"]),
        ("n-puzzle", {"terminal": True, "max_cost": 0}, ["max_cost 1 or more"]),
        ("blocksworld-cost", {"blocks": 3, "limit": 3}, ["no state is unsafe", "from 1 to 2"]),
        ("one-way-line", {"ice": "10"}, ["ice on cell 10 of 10 cells", "from 0 to 9"]),
        ("one-way-line", {"ice": "1,x"}, ["ice of one-way-line is '1,x'", "such as 3,5"]),
        ("one-way-line", {"ice": "1,1"}, ["'1,1'", "different cells"]),
        ("one-way-line", {"ice": "-1"}, ["'-1'"]),
        ("one-way-line", {"ice": 3}, ["ice of one-way-line is 3"]),
        ("beluga", {"lines": "0,2/3"}, ["lines of beluga is '0,2/3'", "each once"]),
        ("beluga", {"lines": "0/"}, ["lines of beluga is '0/'"]),
        ("beluga", {"lines": "0"}, ["one jig"]),
        ("cartpole", {"seed": -1}, ["the seed is -1"]),
        ("cartpole", {"starts": -1}, ["starts is -1"]),
    ],
)
def test_wrong_requests_are_refused(name: str, request_: Choices, fragments: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        generate_model(name, **request_)
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_files_are_not_overwritten_by_accident(tmp_path: Any) -> None:
    path = tmp_path / "sub" / "m.jani"
    write_model(generate_model("cartpole"), path)
    write_model(generate_model("cartpole"), path)
    with pytest.raises(InputFileError, match="differs from the model"):
        write_model(generate_model("cartpole", seed=1), path)
    write_model(generate_model("cartpole", seed=1), path, force=True)
    assert path.read_text() == generate_model("cartpole", seed=1).text


# What the variants change


def at_the_end(park: bool) -> tuple[PlainTask, Any]:
    task = task_of("one-way-line", cells=4, packages=2, park=park)
    names = {"load_0": 2, "load_1": 0, "load_2": 0, "load_3": 0}
    return task, task.state({**names, "pos": 3, "vel": 0, "cargo": 0})


def test_only_parking_saves_a_truck_that_left_packages_behind() -> None:
    for park in (False, True):
        task, state = at_the_end(park)
        space = explore(task, [state])
        assert (0 in safe_states(space, space.policy(), math.inf)) is park


def test_a_parked_truck_stays() -> None:
    task, state = at_the_end(True)
    (parked,) = task.outcomes(state)["park"]
    assert task.outcomes(parked) == {}


def test_where_a_package_falls() -> None:
    for name, cell in (("one-way-line", "load_2"), ("two-way-line", "load_1")):
        task = task_of(name, cells=5, packages=1, drop=True)
        empty = {f"load_{i}": 0 for i in range(5)}
        state = task.state({**empty, "pos": 1, "vel": 2, "cargo": 1})
        kept, lost = map(task.named, task.outcomes(state)["move"])
        assert (kept["pos"], kept["cargo"], kept[cell]) == (3, 1, 0)
        assert (lost["pos"], lost["cargo"], lost[cell]) == (3, 0, 1)


def test_ice() -> None:
    task = task_of("two-way-line", cells=9, packages=1, ice="4")

    def speeds(vel: int, label: str) -> list[Any]:
        state = task.state({"pos": 4, "vel": vel})
        return [task.named(outcome)["vel"] for outcome in task.outcomes(state)[label]]

    assert speeds(-2, "move") == [-2, -3]
    assert speeds(2, "move") == [2, 3]
    assert speeds(3, "move") == [3]
    assert speeds(-2, "acc") == [-1, -2]
    assert speeds(0, "acc") == [1]
    assert speeds(1, "dec") == [0, 1]


def test_terminal_costs_make_dead_ends() -> None:
    sizes: Choices = {"blocks": 3, "limit": 2, "max_cost": 1}
    assert census(task_of("blocksworld-cost", **sizes)).dead_ends == 0
    assert census(task_of("blocksworld-cost", terminal=True, **sizes)).dead_ends > 0


def test_wrapping_leaves_a_row_at_its_end() -> None:
    order = {"empty": 2, **{f"tile_{k}": cell for k, cell in enumerate((0, 1, 3, 4, 5), start=1)}}
    for wrap in (False, True):
        task = task_of("n-puzzle", width=3, height=2, tile=1, cell=4, max_cost=0, wrap=wrap)
        state = task.state({**order, **{f"cost_{k}": 0 for k in range(1, 6)}})
        assert ("move_right" in task.outcomes(state)) is wrap
        assert "move_left" in task.outcomes(state)


def test_the_car_in_front_may_change_its_speed() -> None:
    task = task_of("follow-car", nondeterministic=True)

    def leads(lead: float) -> set[Any]:
        state = task.state({"gap": 50.0, "speed": 30.0, "lead": lead, "t": 0})
        return {task.named(outcome)["lead"] for outcome in task.outcomes(state)["coast"]}

    assert leads(20.0) == {19.0, 20.0, 21.0}
    assert leads(0.0) == {0.0, 1.0}
    assert leads(39.5) == {38.5, 39.5, 40.0}


def test_brakes_and_throttle_end_at_the_bounds() -> None:
    task = task_of("follow-car")
    assert "brake" not in task.outcomes(task.state({"gap": 50.0, "speed": 1.0, "t": 0}))
    assert "accel" not in task.outcomes(task.state({"gap": 50.0, "speed": 39.0, "t": 0}))


def test_small_angles_and_trigonometry_agree_near_the_top() -> None:
    plain, trig = (task_of("cartpole", trig=t) for t in (False, True))
    values = {"x": 0.01, "v": -0.02, "angle": 0.001, "speed": 0.03, "t": 0}
    for label in ("left", "right"):
        (one,), (two,) = (t.outcomes(t.state(values))[label] for t in (plain, trig))
        assert one == pytest.approx(two, rel=1e-4)
        assert one != two


def test_nothing_is_applicable_beyond_the_horizon() -> None:
    for name in ("bouncing-ball", "inverted-pendulum", "cartpole", "follow-car"):
        task = task_of(name, horizon=5)
        last = task.state({"t": 5})
        assert task.is_goal(last)
        assert task.outcomes(last) == {}


@pytest.mark.parametrize("name", ["one-way-line", "two-way-line"])
def test_the_informative_distance_holds_when_unsafe_and_before_every_crash(name: str) -> None:
    task = task_of(name, cells=5, packages=1, drop=True, ice="2")
    distance = task.property["x-distance"]
    space = explore(task)
    for i, state in enumerate(space.states):
        if i in space.goals:
            continue
        crashes = any(t in space.unsafe for r in space.outcomes[i].values() for t in r)
        assert task.holds(distance, state) == (i in space.unsafe or crashes)
