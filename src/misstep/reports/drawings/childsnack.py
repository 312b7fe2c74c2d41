"""Child snack: sandwiches are made in the kitchen and brought to children on trays."""

from __future__ import annotations

from misstep.reports.drawings.canvas import Canvas
from misstep.reports.drawings.cards import Board, Where
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject

KITCHEN = "kitchen"


def make(subject: Subject) -> Painter | None:
    on_tray = subject.find("on-tray/2", "ontray/2")
    tray_at = subject.find("tray-at/2", "at/2")
    allergic = subject.find("allergic/1", "allergic-gluten/1")
    if None in (on_tray, tray_at, allergic) or not subject.has("served/1", "waiting/2"):
        return None
    children, trays = subject.kind("child"), subject.kind("tray")
    stock = subject.kind("sandwich", "ingredient", "bread-portion", "content-portion")
    home = subject.initial.pairs("waiting/2")
    kept = [
        name for name in subject.predicates if name.startswith(("in-kitchen", "at-kitchen", "made"))
    ]
    safe = [
        name for name in subject.predicates if name.startswith(("no-gluten", "gluten-free", "safe"))
    ]

    def where(scene: Scene) -> Where:
        found = scene.pairs(tray_at)
        for predicate in sorted(kept):
            found.update({own[0]: KITCHEN for own in scene.of(predicate)})
        found.update(scene.pairs(on_tray))
        return {**found, **home}

    def detail(scene: Scene, name: str) -> str:
        if scene.holds("served/1", name):
            return ""
        is_free = any(scene.holds(predicate, name) for predicate in safe)
        return "(no g.)" if is_free or scene.holds(allergic, name) else ""

    board = Board(
        *(subject.kind("place"), trays, [*children, *stock], where),
        arrange="row",
        goals={child: "" for (child,) in subject.goals_of("served/1")},
        wants="hungry",
        rest=True,
        done=lambda scene, child: scene.holds("served/1", child),
        detail=detail,
        round=frozenset(children),
    )

    def paint(canvas: Canvas, scene: Scene) -> None:
        board(canvas, scene)
        canvas.note(
            "no g.: without gluten, or must not have it; elsewhere: not made yet, or used up"
        )

    return paint
