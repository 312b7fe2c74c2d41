"""Domains that no generator of ours and no file at hand has, and drawings of installed packages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import misstep
from misstep.reports.drawings import Canvas, Scene, Subject, drawing_for, registry
from misstep.reports.drawings.drawing import Painter
from misstep.tasks.task import Task

LOGISTICS = (
    """(define (domain logistics) (:requirements :strips)
(:predicates (obj ?o) (truck ?t) (airplane ?a) (location ?l) (airport ?l) (city ?c)
 (in-city ?l ?c) (at ?o ?l) (in ?o ?t))
(:action load :parameters (?o ?t ?l) :precondition (and (obj ?o) (truck ?t) (at ?t ?l) (at ?o ?l))
 :effect (and (not (at ?o ?l)) (in ?o ?t)))
(:action unload :parameters (?o ?t ?l) :precondition (and (obj ?o) (truck ?t) (at ?t ?l) (in ?o ?t))
 :effect (and (at ?o ?l) (not (in ?o ?t))))
(:action drive :parameters (?t ?a ?b ?c)
 :precondition (and (truck ?t) (location ?a) (location ?b) (city ?c) (at ?t ?a) (in-city ?a ?c) (in-city ?b ?c))
 :effect (and (not (at ?t ?a)) (at ?t ?b))))""",
    """(define (problem l) (:domain logistics) (:objects parcel van post airfield town)
(:init (obj parcel) (truck van) (location post) (location airfield) (airport airfield) (city town)
 (in-city post town) (in-city airfield town) (at parcel post) (at van airfield))
(:goal (at parcel airfield)))""",
)
TILES = (
    """(define (domain tiles) (:requirements :strips :typing) (:types tile cell)
(:predicates (at ?t - tile ?c - cell) (empty ?c - cell) (neighbor ?a ?b - cell))
(:action slide :parameters (?t - tile ?a ?b - cell) :precondition (and (at ?t ?a) (empty ?b) (neighbor ?a ?b))
 :effect (and (not (at ?t ?a)) (not (empty ?b)) (at ?t ?b) (empty ?a))))""",
    """(define (problem t) (:domain tiles) (:objects t1 t2 t3 - tile p-1-1 p-1-2 p-2-1 p-2-2 - cell)
(:init (at t1 p-1-2) (at t2 p-1-1) (at t3 p-2-1) (empty p-2-2) (neighbor p-1-1 p-1-2) (neighbor p-1-2 p-1-1)
 (neighbor p-1-1 p-2-1) (neighbor p-2-1 p-1-1) (neighbor p-2-2 p-1-2) (neighbor p-1-2 p-2-2) (neighbor p-2-2 p-2-1)
 (neighbor p-2-1 p-2-2))
(:goal (and (at t1 p-1-1) (at t3 p-2-1))))""",
)


def loaded(files: tuple[str, str], folder: Path) -> Task:
    for name, text in zip(("domain.pddl", "problem.pddl"), files, strict=True):
        (folder / name).write_text(text)
    task = misstep.load_task(folder / "domain.pddl", folder / "problem.pddl")
    assert isinstance(task, Task)
    return task


@pytest.mark.parametrize(
    ("files", "name", "said"),
    [
        (LOGISTICS, "logistics", ["parcel → airfield", "van", "town ✈"]),
        (TILES, "sliding-tiles", ["t1", "t2", "t3"]),
    ],
    ids=["logistics", "tiles"],
)
def test_recognised(files: tuple[str, str], name: str, said: list[str], tmp_path: Path) -> None:
    task = loaded(files, tmp_path)
    drawing = drawing_for(task)
    assert drawing is not None
    assert drawing.name == name
    svg = drawing.svg(task.initial_state)
    assert all(f">{text}<" in svg for text in said), svg
    assert "failed" not in svg


class Entry:
    """As `importlib.metadata` has them."""

    def __init__(self, name: str, found: object) -> None:
        self.name = name
        self.found = found

    def load(self) -> object:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Entry]]:
    entries: list[Entry] = []
    monkeypatch.setattr(
        registry, "entry_points", lambda group: entries if group == "misstep.drawings" else []
    )
    registry._installed.cache_clear()
    yield entries
    registry._installed.cache_clear()


def test_a_drawing_of_an_installed_package(installed: list[Entry], tmp_path: Path) -> None:
    def make(subject: Subject) -> Painter | None:
        def paint(canvas: Canvas, scene: Scene) -> None:
            canvas.text(0, 0, f"{len(scene.of('at/2'))} tiles")

        return paint if subject.has("neighbor/2") else None

    installed += [Entry("broken", ImportError("no such module")), Entry("theirs", make)]
    task = loaded(TILES, tmp_path)
    drawing = drawing_for(task)
    assert drawing is not None
    assert drawing.name == "theirs"
    svg = drawing.svg(task.initial_state)
    assert ">3 tiles<" in svg
    assert "the drawing broken failed: ImportError: no such module" in svg
