"""Names in files do no harm, pictures have a largest size, and places do not overlap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from xml.etree import ElementTree

import pytest

import misstep
from misstep.errors import InputFormatError, UsageError
from misstep.reports.drawings import Canvas, Scene, Subject, drawing_for, forget, register
from misstep.reports.drawings.canvas import LOOKS, MOST_SHAPES, fitted, plain, width_of
from misstep.reports.drawings.drawing import Drawing, Painter
from misstep.reports.drawings.generic import Graph
from misstep.reports.drawings.layout import apart, cells_by_name, cells_by_steps, on_map
from misstep.reports.drawings.registry import BUILT_IN, _built_in
from misstep.reports.drawings.subject import Variable, read_atom
from misstep.reports.drawings.variables import make as variables
from misstep.tasks.task import Task

HOSTILE = [
    "<script>alert(1)</script>",
    "\"'&<>]]>",
    "\u202eabc\u2066",
    "\x00\x1b[2J\x9b\r\n\t",
    "\ud800\ufffe",
    "שלום-漢字",
    "x" * 10_000,
]


@pytest.fixture(scope="module")
def gripper() -> Task:
    task = misstep.load_task(misstep.generate("gripper"))
    assert isinstance(task, Task)
    return task


def parsed(svg: str) -> ElementTree.Element:
    assert "<script" not in svg
    assert all(letter.isprintable() for letter in svg)
    svg.encode()
    return ElementTree.fromstring(svg)


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name)[:20])
def test_hostile_text(name: str) -> None:
    canvas = Canvas(name, name)
    canvas.rect(0, 0, 10, 10, title=name)
    canvas.text(0, 0, name)
    canvas.text(0, 0, name, width=40)
    canvas.note(name)
    svg = canvas.svg()
    parsed(svg)
    assert len(svg) < 6000


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name)[:20])
def test_hostile_names_of_objects_and_variables(name: str, gripper: Task) -> None:
    atoms = frozenset(
        {("at", name, "b"), ("free", name), ("near", "b", name), (name,), ("p", name, name, name)}
    )
    subject = Subject(
        "t" + name,
        "planning",
        {name: ("ball",), "b": ("room",)},
        goals=(("at", "b", name),),
        initial=Scene(atoms),
    )
    svg = Drawing("objects", gripper, subject, Graph(subject), Graph(subject))
    canvas = Canvas("t")
    svg.paint(canvas, Scene(atoms, before=Scene()))
    parsed(canvas.svg())
    model = Subject("m", "model", variables=(Variable(name, "int", 0, 9),))
    painter = variables(model)
    assert painter is not None
    canvas = Canvas("t")
    painter(canvas, Scene(values={name: 4}, before=Scene(values={name: 3})))
    parsed(canvas.svg())


def test_hostile_names_in_every_drawing() -> None:
    """The objects of each domain, renamed."""
    for name in (
        "blocksworld",
        "gripper",
        "ferry",
        "transport",
        "miconic",
        "satellite",
        "visitall",
    ):
        task = misstep.load_task(misstep.generate(name))
        drawing = drawing_for(task)
        assert drawing is not None
        old = next(iter(drawing.subject.objects))

        def renamed(atom: tuple[str, ...], old: str = old) -> tuple[str, ...]:
            return tuple(HOSTILE[0] if word == old else word for word in atom)

        own = drawing.subject
        atoms = frozenset(map(renamed, own.initial.atoms))
        subject = replace(
            own,
            objects={
                HOSTILE[0] if key == old else key: kinds for key, kinds in own.objects.items()
            },
            static=frozenset(map(renamed, own.static)),
            goals=tuple(map(renamed, own.goals)),
            initial=Scene(atoms),
        )
        painter = _built_in({"blocksworld": "blocks"}.get(name, name))(subject)
        if painter is None:
            assert name == "visitall"  # the name told where the cell lies
            continue
        canvas = Canvas("t")
        painter(canvas, Scene(atoms))
        parsed(canvas.svg())


def test_thousands_of_objects_and_facts() -> None:
    names = [f"o{k}" for k in range(10_000)]
    atoms = frozenset(("at", name, names[(7 * k) % 100]) for k, name in enumerate(names))
    subject = Subject("large", "planning", dict.fromkeys(names, ()), initial=Scene(atoms))
    graph = Graph(subject)
    canvas = Canvas("t")
    graph(canvas, Scene(atoms))
    svg = canvas.svg()
    assert len(svg) < 200_000
    assert "9940 of 10000 objects are left out" in svg


def test_shapes_beyond_the_bound_are_counted() -> None:
    canvas = Canvas("t")
    for _ in range(MOST_SHAPES + 5):
        canvas.circle(0, 0, 1)
    assert "5 shapes are left out" in canvas.svg()


def test_looks_and_colours() -> None:
    canvas = Canvas("t")
    for look in LOOKS:
        canvas.rect(0, 0, 1, 1, look)
    parsed(canvas.svg())
    assert "#" not in LOOKS["card"] + LOOKS["ink"] + LOOKS["box"]  # surfaces go with the page
    with pytest.raises(KeyError):
        canvas.rect(0, 0, 1, 1, "pink")


def test_texts_are_cut_in_their_middle() -> None:
    assert fitted("package-12", 200) == "package-12"
    short = fitted("package-number-12", 60)
    assert "…" in short
    assert short.endswith("2")
    assert width_of(short) <= 60
    assert plain("a\x1bb") == "a\\x1bb"


def test_cells() -> None:
    assert cells_by_name(["x0-y1", "x2-y3"]) == {"x0-y1": (0, 1), "x2-y3": (2, 3)}
    assert cells_by_name(["a", "x2-y3"]) is None
    assert cells_by_name(["a1-1", "b1-1"]) is None
    assert cells_by_name(["1" * 1_000_000 + "-1"]) is None
    assert cells_by_name(["a" * 1_000_000 + "9-1"]) == {"a" * 1_000_000 + "9-1": (9, 1)}
    assert cells_by_steps(["a", "b", "c"], [("a", "b", (1, 0)), ("b", "c", (0, 1))]) == {
        "a": (0, 0),
        "b": (1, 0),
        "c": (1, 1),
    }
    assert cells_by_steps(["a", "b"], [("a", "b", (1, 0)), ("a", "b", (0, 1))]) is None


def test_places_lie_apart_and_neighbours_near() -> None:
    names = [f"p{k}" for k in range(30)]
    roads = [(names[k], names[k + 1]) for k in range(29)]
    centres = apart(on_map(names, roads), 100, 50, 20)
    assert centres == apart(on_map(names, roads), 100, 50, 20)
    for a in names:
        for b in names:
            (ax, ay), (bx, by) = centres[a], centres[b]
            assert a == b or abs(ax - bx) >= 100 or abs(ay - by) >= 50
    far = on_map(names, roads)
    (ax, ay), (bx, by), (cx, cy) = far["p0"], far["p1"], far["p29"]
    assert (ax - bx) ** 2 + (ay - by) ** 2 < (ax - cx) ** 2 + (ay - cy) ** 2


def test_atoms_are_read() -> None:
    assert read_atom("on(a, b)") == ("on", "a", "b")
    assert read_atom("arm_empty()") == ("arm-empty",)
    assert read_atom("at(a,b, c)") == ("at", "a,b", "c")


# -- drawings of users ----------------------------------------------------------------------------


@pytest.fixture
def registered() -> Iterator[list[str]]:
    names: list[str] = []
    yield names
    for name in names:
        forget(name)


def test_a_drawing_of_a_user_comes_first(gripper: Task, registered: list[str]) -> None:
    def make(subject: Subject) -> Painter | None:
        return (lambda canvas, _: canvas.text(0, 0, "mine")) if subject.has("carry/2") else None

    registered.append("mine")
    register("mine", make)
    drawing = drawing_for(gripper)
    assert drawing is not None
    assert drawing.name == "mine"
    svg = drawing.svg(gripper.facts(gripper.initial_state))
    assert ">mine<" in svg
    assert "not drawn: room-a, room-b" in svg  # it draws none of the objects
    other = drawing_for(misstep.load_task(misstep.generate("ferry")))
    assert other is not None
    assert other.name == "ferry"


def test_a_drawing_that_fails(gripper: Task, registered: list[str]) -> None:
    def fails(*_: object) -> None:
        raise ValueError("<no>")

    registered += ["late", "soon"]
    register("soon", fails)
    drawing = drawing_for(gripper)
    assert drawing is not None
    assert drawing.name == "gripper"
    assert "the drawing soon failed: ValueError: &lt;no&gt;" in drawing.svg(gripper.initial_state)
    register("late", lambda _: fails)
    drawing = drawing_for(gripper)
    assert drawing is not None
    svg = drawing.svg(gripper.initial_state)
    parsed(svg)
    assert "the drawing late failed" in svg
    assert "room-a" in svg


def test_what_is_no_drawing_and_no_state(gripper: Task) -> None:
    with pytest.raises(UsageError):
        register("", lambda _: None)
    with pytest.raises(UsageError):
        register("x", 3)  # type: ignore[arg-type]
    model = misstep.load_task(misstep.generate("cartpole"))
    drawing = drawing_for(model)
    assert drawing is not None
    with pytest.raises(InputFormatError, match="not a state of"):
        drawing.svg((1.0, 2.0))
    own = drawing_for(gripper)
    assert own is not None
    with pytest.raises(InputFormatError, match="not a state of"):
        own.svg((1, 2))


def test_each_built_in_drawing_has_a_file() -> None:
    assert all(callable(_built_in(name)) for name in BUILT_IN)
