"""Storage: hoists carry crates over areas into depots."""

from __future__ import annotations

from misstep.reports.drawings.cards import Board, Where
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject


def make(subject: Subject) -> Painter | None:
    if not subject.has("lifting/2", "at/2", "on/2", "connected/2", "in/2"):
        return None
    hoists, crates = subject.kind("hoist"), subject.kind("crate")
    house = subject.always_pairs("in/2")

    def where(scene: Scene) -> Where:
        found = {**scene.pairs("at/2"), **scene.pairs("on/2")}
        found.update({crate: hoist for hoist, crate in scene.of("lifting/2")})
        return found

    return Board(
        *(subject.kind("area", "storearea", "transitarea"), hoists, crates, where),
        roads=[(a, b) for a, b in subject.always("connected/2")],
        goals=subject.goal_pairs("in/2"),
        done=lambda scene, crate: any(
            scene.holds("in/2", *own) for own in subject.goals_of("in/2") if own[0] == crate
        ),
        mark_place=lambda _, area: house.get(area, ""),
    )
