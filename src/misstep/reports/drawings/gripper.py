"""Gripper: rooms, balls, and a robot with hands."""

from __future__ import annotations

from misstep.reports.drawings.cards import Board, Where
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject


def make(subject: Subject) -> Painter | None:
    robot = subject.find("at-robot/1", "at-robby/1")
    if robot is None or not subject.has("at/2", "carry/2", "free/1"):
        return None
    rooms, hands = subject.kind("room"), subject.kind("gripper")
    balls = [name for name in subject.objects if name not in {*rooms, *hands}]

    def where(scene: Scene) -> Where:
        here = next((room for (room,) in scene.of(robot)), "")
        found = dict.fromkeys(hands, here)
        for ball, spot in (*scene.of("at/2"), *scene.of("carry/2")):
            found[ball] = spot
        return found

    def mark(scene: Scene, room: str) -> str:
        return "robot" if scene.holds(robot, room) else ""

    goals = subject.goal_pairs("at/2")
    ways = [(a, b) for a in rooms for b in rooms if a < b] if len(rooms) < 8 else []
    return Board(
        *(rooms, hands, balls, where),
        roads=[*ways, *((b, a) for a, b in ways)],
        arrange="row",
        goals=goals,
        round=frozenset(balls),
        mark_place=mark,
    )
