"""Every built-in domain and model is recognised and drawn, ours and those of the competitions."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

import misstep
from misstep._core import CounterRandom
from misstep.reports.drawings import Drawing, drawing_for
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask
from misstep.tasks.task import Task

GENERATED = {
    "blocksworld": "blocks",
    "childsnack": "childsnack",
    "ferry": "ferry",
    "floortile": "floortile",
    "gripper": "gripper",
    "miconic": "miconic",
    "satellite": "satellite",
    "spanner": "spanner",
    "transport": "transport",
    "visitall": "visitall",
    "one-way-line": "lines",
    "two-way-line": "lines",
    "blocksworld-cost": "blocksworld-cost",
    "n-puzzle": "n-puzzle",
    "beluga": "beluga",
    "bouncing-ball": "bouncing-ball",
    "inverted-pendulum": "poles",
    "cartpole": "poles",
    "follow-car": "follow-car",
}
COMPETITIONS = {
    "ipc/blocks": "blocks",
    "ipc/elevators-opt11-strips": "elevators",
    "ipc/floortile-opt11-strips": "floortile",
    "ipc/gripper": "gripper",
    "ipc/satellite": "satellite",
    "ipc/scanalyzer-opt11-strips": "scanalyzer",
    "ipc/storage": "storage",
    "ipc/transport-opt11-strips": "transport",
    "ipc/visitall-opt11-strips": "visitall",
    "ipc23-learning/blocksworld": "blocks",
    "ipc23-learning/childsnack": "childsnack",
    "ipc23-learning/ferry": "ferry",
    "ipc23-learning/floortile": "floortile",
    "ipc23-learning/miconic": "miconic",
    "ipc23-learning/rovers": "rovers",
    "ipc23-learning/satellite": "satellite",
    "ipc23-learning/sokoban": "sokoban",
    "ipc23-learning/spanner": "spanner",
    "ipc23-learning/transport": "transport",
}

TAGS = {"svg", "title", "desc", "rect", "circle", "line", "polygon", "polyline", "text"}
ATTRIBUTES = {
    *(
        "viewBox",
        "role",
        "class",
        "font-family",
        "font-size",
        "font-weight",
        "text-anchor",
        "points",
    ),
    *("x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "width", "height"),
    *("fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray"),
}


@cache
def generated(name: str) -> AnyTask:
    return misstep.load_task(misstep.generate(name))


def planning(name: str) -> Task:
    task = generated(name)
    assert isinstance(task, Task)
    return task


def model_of(name: str) -> JaniTask:
    task = generated(name)
    assert isinstance(task, JaniTask)
    return task


def drawn(task: AnyTask) -> Drawing:
    drawing = drawing_for(task)
    assert drawing is not None
    return drawing


def states(task: AnyTask) -> list[list[str]]:
    """The first states of a walk, in words."""
    found = []
    if isinstance(task, JaniTask):
        state = task.sample_initial(CounterRandom(1, 2))
        for step in range(6):
            found.append(task.text(state).split(", "))
            labels = task.applicable(state)
            if not labels:
                break
            state = task.outcomes(state, labels[step % len(labels)])[0]
        return found
    here = task.initial_state
    for step in range(6):
        found.append(task.facts(here))
        operators = task.applicable(here)
        if not operators:
            break
        here = task.apply(here, operators[step % len(operators)])
    return found


def texts(svg: str) -> str:
    """All that the picture says, in texts, titles and notes; not the description, which lists the facts."""
    root = ElementTree.fromstring(svg)
    found = []
    for element in root.iter():
        if element.tag.rpartition("}")[2] in ("text", "title") and element.text:
            found.append(element.text)
    return " ".join(found)


def check_picture(task: AnyTask, drawing: Drawing) -> None:
    before = None
    for state in states(task):
        svg = drawing.svg(state, before)
        assert svg == drawing.svg(state, before)
        root = ElementTree.fromstring(svg)
        assert root.get("viewBox")
        assert root[0].tag.endswith("title")
        assert {element.tag.rpartition("}")[2] for element in root.iter()} <= TAGS
        assert {name for element in root.iter() for name in element.keys()} <= ATTRIBUTES  # noqa: SIM118
        assert len(svg) < 400_000
        said = texts(svg)
        assert "the drawing" not in said, said  # it has failed
        as_numbers = drawing.subject.kind("direction", "size", "capacity-number", "level")
        if drawing.name == "sokoban":
            as_numbers += drawing.subject.kind("location")  # walls
        missing = [
            name for name in drawing.subject.objects if name not in said and name not in as_numbers
        ]
        assert not missing or "not drawn:" in said or "more" in said, missing
        before = state


@pytest.mark.parametrize(("name", "expected"), GENERATED.items())
def test_generated(name: str, expected: str) -> None:
    task = generated(name)
    drawing = drawn(task)
    assert drawing.name == expected
    check_picture(task, drawing)


@pytest.mark.parametrize(("folder", "expected"), COMPETITIONS.items())
def test_competitions(shared: Path, folder: str, expected: str) -> None:
    home = shared / "benchmarks" / folder
    if not home.is_dir():
        pytest.skip(f"the benchmarks of the competitions have no folder {folder}")
    domain = home / "domain.pddl"
    problem = min(
        (path for path in home.rglob("*.pddl") if path != domain),
        key=lambda p: (p.stat().st_size, str(p)),
    )
    task = misstep.load_task(domain, problem)
    drawing = drawn(task)
    assert drawing.name == expected
    check_picture(task, drawing)


def test_values_and_facts_are_one_state() -> None:
    task = planning("gripper")
    first = task.initial_state
    drawing = drawn(task)
    assert drawing.svg(tuple(first.values)) == drawing.svg(task.facts(first)) == drawing.svg(first)
    model = model_of("cartpole")
    state = model.sample_initial(CounterRandom(1, 2))
    assert drawn(model).svg(state) == drawn(model).svg(model.text(state).split(", "))


def test_the_frame_stays_along_a_run() -> None:
    for name in (
        "gripper",
        "blocksworld",
        "visitall",
        "transport",
        "cartpole",
        "one-way-line",
        "n-puzzle",
    ):
        task = generated(name)
        drawing = drawn(task)
        boxes = {re.search(r'viewBox="([^"]*)"', drawing.svg(state))[1] for state in states(task)}  # type: ignore[index]
        assert len(boxes) == 1, name


def test_what_changed_stands_out() -> None:
    for name in GENERATED:
        task = generated(name)
        drawing = drawn(task)
        first, second = states(task)[:2]
        assert "misstep-changed" not in drawing.svg(second)
        assert "misstep-changed" not in drawing.svg(first, first)
        assert "misstep-changed" in drawing.svg(second, first), name


def test_goals_are_marked() -> None:
    """A plan of the task turns the picture green."""
    task = planning("gripper")
    drawing = drawn(task)
    state = task.facts(task.initial_state)
    assert "✓" not in drawing.svg(state)
    there = [fact.replace("room-a", "room-b") if fact.startswith("at(") else fact for fact in state]
    assert drawing.svg(there).count("✓</text>") == 4


def test_a_model_says_whether_it_is_unsafe() -> None:
    model = model_of("one-way-line")
    state = model.sample_initial(CounterRandom(1, 2))
    crashed = tuple(
        1 if name == "crash" else value
        for name, value in zip(model.variable_names, state, strict=True)
    )
    drawing = drawn(model)
    assert "this state: not unsafe, no goal" in drawing.svg(state)
    assert "this state: unsafe" in drawing.svg(crashed)


def test_the_cell_that_a_tile_must_not_come_to() -> None:
    task = misstep.load_task(misstep.generate("n-puzzle", width=2, height=3, tile=2, cell=4))
    assert isinstance(task, JaniTask)
    svg = drawn(task).svg(task.sample_initial(CounterRandom(1, 2)))
    assert svg.count(">not 2<") == 1
    assert (
        'x="6" y="' in svg
    )  # the fifth cell is the first of the third row: the puzzle is two wide


def test_a_task_of_a_sas_file() -> None:
    task = planning("gripper")
    plain = Task(task.sas, name="plain")
    drawing = drawn(plain)
    check_picture(plain, drawing)
