"""Blocks world: towers, the hand, and beside them the towers of the goal."""

from __future__ import annotations

from misstep.reports.drawings.canvas import Canvas
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject
from misstep.reports.drawings.towers import HIGH, Towers, towers_of

SPACE = 30.0


def make(subject: Subject) -> Painter | None:
    table = subject.find("ontable/1", "on-table/1")
    hold = subject.find("holding/1", "holding/2")
    if table is None or not subject.has("on/2", "clear/1"):
        return None
    blocks = [
        name
        for name in subject.objects
        if not {"arm", "hand", "robot"} & set(subject.objects[name])
    ]
    goal_under = subject.goal_pairs("on/2")
    goal_under |= {block: "" for (block,) in subject.goals_of(table)}
    named = {*goal_under, *goal_under.values()} - {""}
    goal_towers = towers_of([block for block in blocks if block in named], goal_under)
    towers = Towers(blocks)

    def held(scene: Scene) -> list[str]:
        return [own[-1] for own in scene.of(hold)]

    def support(scene: Scene) -> dict[str, str]:
        return scene.pairs("on/2")

    def paint(canvas: Canvas, scene: Scene) -> None:
        under, up = support(scene), held(scene)
        standing = towers_of([block for block in blocks if block not in up], under)
        where = {**dict.fromkeys(blocks, ""), **under, **dict.fromkeys(up, "in the hand")}
        changed = frozenset[str]()
        if scene.before is not None:
            last = {**dict.fromkeys(blocks, ""), **support(scene.before)}
            last |= dict.fromkeys(held(scene.before), "in the hand")
            changed = frozenset(block for block in blocks if where[block] != last[block])
        looks = _looks(standing, where, goal_under)
        floor = towers.height([*standing, *goal_towers])
        width = towers.width(standing)
        towers.draw(canvas, standing, left=0, table=floor, looks=looks, changed=changed)
        for k, block in enumerate(up or [""]):
            x = max(width / 2 - towers.wide / 2, 6) + k * (towers.wide + 26)
            if block:
                towers.block(canvas, block, x, 0, "carrier", changed=block in changed)
            towers.hand(canvas, x, 0, closed=bool(block))
        total = width
        if goal_towers:
            total = _goal(canvas, towers, goal_towers, width + SPACE, floor)
        canvas.frame(0, -24, total, floor + 26 + (16 if goal_towers else 0))

    return paint


def _looks(
    standing: list[list[str]], where: dict[str, str], goal: dict[str, str]
) -> dict[str, str]:
    """Green from the bottom as long as all is as it shall be."""
    looks: dict[str, str] = {}
    for tower in standing:
        for block in tower:
            if goal.get(block, where[block]) != where[block]:
                break
            if block in goal or (
                where[block] == "" and any(below == block for below in goal.values())
            ):
                looks[block] = "goal"
            else:
                break
    return looks


def _goal(
    canvas: Canvas, towers: Towers, goal: list[list[str]], left: float, floor: float
) -> float:
    canvas.line((left - SPACE / 2, -20), (left - SPACE / 2, floor + 14), "ghost")
    towers.draw(
        canvas,
        goal,
        left=left,
        table=floor,
        looks=dict.fromkeys(towers.blocks, "ghost"),
        packed=True,
    )
    width = towers.width(goal, packed=True)
    canvas.text(left + width / 2, floor + HIGH / 3, "goal", size=11, look="faint")
    return left + width


__all__ = ["make"]
