"""Miconic: one lift, floors, and passengers who wait, ride and arrive."""

from __future__ import annotations

from itertools import pairwise

from misstep.reports.drawings.cards import Board, Where
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject

LIFT = "lift"


def floors_of(subject: Subject) -> list[str]:
    """From the lowest to the highest. `above` is written both ways round; the order of the task decides which."""
    pairs = subject.always("above/2")
    floors = [name for name in subject.objects if any(name in pair for pair in pairs)]
    over = {floor: sum(floor == first for first, _ in pairs) for floor in floors}
    order = sorted(floors, key=lambda floor: over[floor])
    place = {name: k for k, name in enumerate(subject.objects)}
    upwards = sum(place[a] < place[b] for a, b in pairwise(order))
    return order if 2 * upwards >= len(order) - 1 else order[::-1]


def make(subject: Subject) -> Painter | None:
    target = subject.find("destin/2", "destination/2")
    if target is None or not subject.has("lift-at/1", "origin/2", "boarded/1", "served/1"):
        return None
    floors = floors_of(subject) or subject.kind("floor")
    people = [name for name in subject.objects if name not in set(floors)]
    origin = subject.initial.pairs("origin/2")
    goal = subject.initial.pairs(target)

    def where(scene: Scene) -> Where:
        found = {LIFT: next((floor for (floor,) in scene.of("lift-at/1")), "")}
        for person in people:
            if scene.holds("served/1", person):
                found[person] = goal.get(person, "")
            elif scene.holds("boarded/1", person):
                found[person] = LIFT
            else:
                found[person] = origin.get(person, "")
        return found

    return Board(
        *(floors, [LIFT], people, where),
        arrange="column",
        goals=goal,
        done=lambda scene, person: scene.holds("served/1", person),
        round=frozenset(people),
    )
