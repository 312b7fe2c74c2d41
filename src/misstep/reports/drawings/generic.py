"""The drawing of unknown domains: objects are nodes, binary facts are edges, unary facts are labels.

Objects without binary facts are in rows below. The numbers of objects and edges are limited, and the picture says what
it leaves out; objects that the goal names are drawn first.
"""

from __future__ import annotations

from collections import Counter

from misstep.reports.drawings.canvas import Canvas, width_of
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.layout import apart, on_map
from misstep.reports.drawings.subject import Atom, Scene, Subject

MOST_OBJECTS = 60
MOST_EDGES = 160
MOST_LABELS = 3
HIGH = 22.0


class Graph:
    """The positions of the nodes depend on the facts of the initial state, the goal and the static facts."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        goals = Counter(name for goal in subject.goals for name in goal[1:])
        uses = Counter(name for atom in subject.initial.atoms for name in atom[1:])
        order = {name: k for k, name in enumerate(subject.objects)}
        ranked = sorted(order, key=lambda name: (-goals[name], -min(uses[name], 50), order[name]))
        self.drawn = sorted(ranked[:MOST_OBJECTS], key=order.__getitem__)
        self.left_out = len(ranked) - len(self.drawn)
        kept = set(self.drawn)
        atoms = [*sorted(subject.initial.atoms), *subject.goals]
        pairs = [atom[1:] for atom in atoms if len(atom) == 3 and set(atom[1:]) <= kept]
        linked = [name for name in self.drawn if any(name in pair for pair in pairs[:5000])]
        self.wide = min(max([50.0, *(width_of(name, 11) + 14 for name in self.drawn)]), 110.0)
        centres = apart(on_map(linked, [(a, b) for a, b in pairs]), self.wide, HIGH + 34, 34)
        self.centres = dict(centres)
        low = max((y for _, y in centres.values()), default=-70.0) + 80
        columns = max(
            4, int(max((x for x, _ in centres.values()), default=0) // (self.wide + 20)) + 1
        )
        for k, name in enumerate(own for own in self.drawn if own not in centres):
            self.centres[name] = ((k % columns) * (self.wide + 20), low + (k // columns) * 56)

    def __call__(self, canvas: Canvas, scene: Scene) -> None:
        self._edges(canvas, scene)
        self._nodes(canvas, scene)
        if self.left_out:
            canvas.note(
                f"{self.left_out} of {len(self.subject.objects)} objects are left out, and their facts"
            )

    def _edges(self, canvas: Canvas, scene: Scene) -> None:
        edges: dict[tuple[str, str], list[Atom]] = {}
        for atom in sorted(scene.atoms):
            if (
                len(atom) == 3
                and atom[1] in self.centres
                and atom[2] in self.centres
                and atom[1] != atom[2]
            ):
                edges.setdefault((atom[1], atom[2]), []).append(atom)
        goals = {(goal[1], goal[2]): goal for goal in self.subject.goals if len(goal) == 3}
        moving = {
            pair: atoms for pair, atoms in edges.items() if not set(atoms) <= self.subject.static
        }
        fixed = [pair for pair in edges if pair not in moving and (pair[1], pair[0]) not in moving]
        one_way = [pair for pair in fixed if (pair[1], pair[0]) not in edges or pair[0] < pair[1]]
        shown = [*moving, *one_way][:MOST_EDGES]
        for a, b in shown[::-1]:
            atoms = edges[a, b]
            is_new = scene.before is not None and any(
                atom not in scene.before.atoms for atom in atoms
            )
            look = "changed-line" if is_new else "thing-line" if (a, b) in moving else "line"
            names = ", ".join(dict.fromkeys(atom[0] for atom in atoms))
            arrow = (b, a) not in edges or (a, b) in moving
            canvas.line(
                self.centres[a], self.centres[b], look, arrow=arrow, title=f"{names} {a} {b}"
            )
            if (a, b) in moving:
                self._name(canvas, a, b, names)
        for (a, b), goal in sorted(goals.items())[:MOST_EDGES]:
            if a in self.centres and b in self.centres and goal not in scene.atoms:
                canvas.line(
                    self.centres[a], self.centres[b], "ghost", title=f"goal: {goal[0]} {a} {b}"
                )
        if len(shown) < len(moving) + len(one_way):
            canvas.note(
                f"{len(moving) + len(one_way) - len(shown)} facts of two objects are left out"
            )

    def _name(self, canvas: Canvas, a: str, b: str, names: str) -> None:
        (ax, ay), (bx, by) = self.centres[a], self.centres[b]
        canvas.text(
            (ax + bx) / 2 + 6,
            (ay + by) / 2 - 8,
            names,
            size=9,
            anchor="start",
            width=70,
            look="faint",
        )

    def _nodes(self, canvas: Canvas, scene: Scene) -> None:
        unary: dict[str, list[Atom]] = {}
        wide, none = 0, []
        for atom in sorted(scene.atoms):
            if len(atom) == 2 and atom not in self.subject.static:
                unary.setdefault(atom[1], []).append(atom)
            elif len(atom) == 1:
                none.append(atom[0])
            elif len(atom) > 3:
                wide += 1
        done = {goal: goal in scene.atoms for goal in self.subject.goals}
        for name, (x, y) in self.centres.items():
            own = [met for goal, met in done.items() if name in goal[1:]]
            look = "box" if not own else "goal" if all(own) else "carrier"
            canvas.rect(
                x - self.wide / 2, y - HIGH / 2, self.wide, HIGH, "card", title=self._title(name)
            )
            canvas.rect(
                x - self.wide / 2, y - HIGH / 2, self.wide, HIGH, look, title=self._title(name)
            )
            if scene.before is not None and self._has_changed(name, scene):
                canvas.rect(
                    x - self.wide / 2 - 2, y - HIGH / 2 - 2, self.wide + 4, HIGH + 4, "changed-line"
                )
            canvas.text(x, y, name, size=11, width=self.wide - 8)
            words = [atom[0] for atom in unary.get(name, [])]
            more = f" +{len(words) - MOST_LABELS}" if len(words) > MOST_LABELS else ""
            if words:
                said = ", ".join(words[:MOST_LABELS]) + more
                canvas.text(x, y + HIGH / 2 + 8, said, size=9, width=self.wide + 24, look="faint")
        if none:
            canvas.note("holds: " + ", ".join(none[:12]))
        if wide:
            canvas.note(f"{wide} facts of more than two objects are not drawn")
        if self.subject.goals:
            met = sum(done.values())
            canvas.note(
                f"green: all its goals hold; amber: some do not; dashed: wanted ({met} of {len(done)} hold)"
            )

    def _title(self, name: str) -> str:
        kinds = [kind for kind in self.subject.objects[name] if kind != "object"]
        return f"{name} ({', '.join(kinds)})" if kinds else name

    def _has_changed(self, name: str, scene: Scene) -> bool:
        assert scene.before is not None
        odd = scene.atoms ^ scene.before.atoms
        return any(len(atom) == 2 and atom[1] == name for atom in odd)


def make(subject: Subject) -> Painter | None:
    return Graph(subject) if subject.world == "planning" else None


__all__ = ["Graph", "make"]
