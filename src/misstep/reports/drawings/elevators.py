"""Elevators: several lifts that stop at some floors, with room for some passengers."""

from __future__ import annotations

from misstep.reports.drawings.cards import Board, Where
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.miconic import floors_of
from misstep.reports.drawings.subject import Scene, Subject


def make(subject: Subject) -> Painter | None:
    if not subject.has("passenger-at/2", "boarded/2", "lift-at/2", "above/2"):
        return None
    floors = floors_of(subject)
    lifts = subject.kind("elevator", "lift")
    people = subject.kind("passenger", "person")

    def where(scene: Scene) -> Where:
        people = {**scene.pairs("passenger-at/2"), **scene.pairs("boarded/2")}
        return {**scene.pairs("lift-at/2"), **people}

    return Board(
        *(floors, lifts, people, where),
        arrange="column",
        goals=subject.goal_pairs("passenger-at/2"),
        round=frozenset(people),
    )
