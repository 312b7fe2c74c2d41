"""Rovers: way points, rovers with stores and cameras, samples to analyse, images to send."""

from __future__ import annotations

from misstep.reports.drawings.cards import Board, Where
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject

SAMPLES = {"soil": "communicated-soil-data/1", "rock": "communicated-rock-data/1"}
IMAGE = "communicated-image-data/2"


def make(subject: Subject) -> Painter | None:
    if not subject.has("at/2", "can-traverse/3", "at-lander/2", *SAMPLES.values()):
        return None
    rovers, landers = subject.kind("rover"), subject.kind("lander")
    tools = {**subject.always_pairs("store-of/2"), **subject.always_pairs("on-board/2")}
    objectives = subject.kind("objective")
    images = subject.goals_of(IMAGE)

    def where(scene: Scene) -> Where:
        return {**tools, **scene.pairs("at/2"), **scene.pairs("at-lander/2")}

    def detail(scene: Scene, name: str) -> str:
        if scene.holds("full/1", name):
            return "(full)"
        held = [
            kind
            for kind in SAMPLES
            if any(own[0] == name for own in scene.of(f"have-{kind}-analysis/2"))
        ]
        return f"({', '.join(held)})" if held else ""

    def samples(scene: Scene, place: str) -> str:
        words = []
        for kind, sent in SAMPLES.items():
            if scene.holds(f"at-{kind}-sample/1", place):
                words.append(kind)
            if (place,) in subject.goals_of(sent):
                words.append(f"{kind} data {'✓' if scene.holds(sent, place) else 'wanted'}")
        return ", ".join(words)

    return Board(
        *(subject.kind("waypoint"), rovers, [*landers, *tools, *objectives], where),
        roads={(a, b) for _, a, b in subject.always("can-traverse/3")},
        goals={objective: "" for objective, _ in images},
        wants="image",
        rest=bool(objectives),
        done=lambda scene, name: all(scene.holds(IMAGE, *own) for own in images if own[0] == name),
        detail=detail,
        mark_place=samples,
    )
