"""Places as cards, and what is there as chips: the board that rooms, floors, roads and skies are drawn on.

A domain says which objects are places, which ones carry others, and where everything is in a scene; the rest is the
same for all. Cards have room for a fixed number of chips, so that nothing moves along a run but what the policy moves.
What does not fit is counted on the card.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt

from misstep.reports.drawings.canvas import Canvas, fitted, width_of
from misstep.reports.drawings.layout import Point, apart, cells_by_name, on_map
from misstep.reports.drawings.subject import Scene

ROW = 24.0
CHIP = 19.0
HEADER = 22.0
INSET = 8.0
GAP = 26.0
MOST_PLACES = 150
ELSEWHERE = "elsewhere"

Where = Mapping[str, str]  # each thing and what it is at or in


@dataclass
class Board:
    """`where` says of a scene where things are; the other fields do not change."""

    places: Sequence[str]
    carriers: Sequence[str]
    things: Sequence[str]
    where: Callable[[Scene], Where]
    roads: Iterable[tuple[str, str]] = ()
    arrange: str = "map"  # or row, column
    goals: Mapping[str, str] = field(default_factory=dict)  # of things and carriers: the place
    done: Callable[[Scene, str], bool] | None = None  # where being at the place is not all
    wants: str = ""  # a word instead of the place, for goals that are no places
    detail: Callable[[Scene, str], str] = lambda _scene, _name: ""
    longest: str = ""  # the longest detail of a carrier, to make room for it
    rest: bool = False  # whether things are often at no place: then there is always room for them
    round: frozenset[str] = frozenset()  # things drawn with round ends
    mark_place: Callable[[Scene, str], str] = lambda _scene, _name: ""  # a word on the card
    hidden: int = 0  # places that are too many

    def __post_init__(self) -> None:
        if len(self.places) > MOST_PLACES:
            self.hidden = len(self.places) - MOST_PLACES
            self.places = self.places[:MOST_PLACES]
        kept = set(self.places)
        pairs = {(a, b) for a, b in self.roads if a in kept and b in kept and a != b}
        self._ways = sorted(
            (a, b, (b, a) in pairs) for a, b in pairs if (b, a) not in pairs or a < b
        )
        self._measure()
        self._centres = self._arranged()

    # -- what is fixed ----------------------------------------------------------------------------

    def _measure(self) -> None:
        labels = [self._label(name) for name in self.things]
        labels += [f"{self._label(name)} {self.longest}" for name in self.carriers]
        self.wide = min(
            max([44.0, *(width_of(label, 11) + 14 for label in labels)]),
            128.0 if len(self.places) <= 8 else 110.0,
        )
        items = len(self.things) + 2 * len(self.carriers)
        few = len(self.places) <= 4
        tall = self.arrange == "column"
        self.columns = 6 if tall else 2 if items <= 10 or not few else 3 if items <= 24 else 5
        full = len(self.carriers) + 1 + ceil(len(self.things) / self.columns)
        # Room for three times the average, as things gather at some places.
        usual = ceil(3 * len(self.things) / max(len(self.places), 1) / self.columns) + 1
        cap = 2 if tall else 14 if few else min(max(usual, 3), 6)
        # A floor has its name at the left, a place above.
        self.inset = (70.0, 5.0) if tall else (INSET, HEADER)
        self.rows = max(1, min(full, cap))
        self.width = self.columns * (self.wide + 4) + INSET + self.inset[0]
        self.height = self.inset[1] + self.rows * ROW + (2 if tall else INSET)

    def _arranged(self) -> dict[str, Point]:
        names = list(self.places)
        if self.arrange == "row":
            wide = max(1, min(len(names), self._per_row(len(names))))
            steps = {name: (float(k % wide), float(k // wide)) for k, name in enumerate(names)}
        elif self.arrange == "column":
            steps = {name: (0.0, float(-k)) for k, name in enumerate(names)}
        else:
            cells = cells_by_name(names) if self._is_grid(names) else None
            if cells is None:
                return apart(
                    on_map(names, [(a, b) for a, b, _ in self._ways]), self.width, self.height, GAP
                )
            steps = {name: (float(x), float(y)) for name, (x, y) in cells.items()}
        between = GAP if self.arrange != "column" else 4.0
        return {
            name: (x * (self.width + GAP), y * (self.height + between))
            for name, (x, y) in steps.items()
        }

    def _per_row(self, count: int) -> int:
        """So many that the picture is about twice as wide as high."""
        if count <= 3:
            return count
        return max(2, round(sqrt(2 * count * (self.height + GAP) / (self.width + GAP))))

    def _is_grid(self, names: list[str]) -> bool:
        from misstep.reports.drawings.layout import are_neighbours

        cells = cells_by_name(names)
        return cells is not None and are_neighbours(cells, [(a, b) for a, b, _ in self._ways])

    def _label(self, name: str) -> str:
        goal = self.goals.get(name)
        return name if goal is None else f"{name} {self._wish(goal)}"

    def _wish(self, goal: str) -> str:
        return self.wants if self.wants and not goal else f"→ {goal}"

    # -- one state --------------------------------------------------------------------------------

    def __call__(self, canvas: Canvas, scene: Scene) -> None:
        where = dict(self.where(scene))
        last = None if scene.before is None else dict(self.where(scene.before))
        inside: dict[str, list[str]] = {}
        known = {*self.places, *self.carriers}
        for name in (*self.carriers, *self.things):
            spot = where.get(name, ELSEWHERE)
            inside.setdefault(spot if spot in known and spot != name else ELSEWHERE, []).append(
                name
            )
        for a, b, both in self._ways:
            canvas.line(self._centres[a], self._centres[b], arrow=not both, title=f"{a} to {b}")
        moved = set() if last is None else {name for name in where if where[name] != last.get(name)}
        for place in self.places:
            x, y = self._centres[place]
            self._card(
                canvas, scene, place, inside, moved, (x - self.width / 2, y - self.height / 2)
            )
        self._rest(canvas, scene, inside, moved)
        if self.hidden:
            canvas.note(f"{self.hidden} more places are left out")

    def _rest(
        self, canvas: Canvas, scene: Scene, inside: dict[str, list[str]], moved: set[str]
    ) -> None:
        """What is at no place, such as what was used up, stands below all."""
        if not inside.get(ELSEWHERE) and not self.rest:
            return
        left = min(x for x, _ in self._centres.values()) - self.width / 2
        low = max(y for _, y in self._centres.values()) + self.height / 2 + 18
        self._card(canvas, scene, ELSEWHERE, inside, moved, (left, low))

    def _card(
        self,
        canvas: Canvas,
        scene: Scene,
        place: str,
        inside: dict[str, list[str]],
        moved: set[str],
        corner: Point,
    ) -> None:
        x, y = corner
        look = "card" if place != ELSEWHERE else "ghost"
        canvas.rect(x, y, self.width, self.height, look, radius=8, title=place)
        word = self.mark_place(scene, place) if place != ELSEWHERE else ""
        if self.arrange == "column":
            room, middle = self.inset[0] - 14, y + self.height / 2
        else:
            room, middle = self.width - 2 * INSET, y + 12
        title = min(room, width_of(place, 12) + 4)
        canvas.text(x + INSET, middle, place, anchor="start", width=room, bold=place != ELSEWHERE)
        if word and room - title > 30:
            canvas.text(
                *(x + self.width - INSET, middle, word),
                anchor="end",
                size=10,
                look="faint",
                width=room - title,
            )
        slots = _Slots(self, canvas, scene, moved, (x + self.inset[0], y + self.inset[1]))
        items = inside.get(place, [])
        slots.fill([(name, inside.get(name, [])) for name in items])

    def chip(self, canvas: Canvas, scene: Scene, name: str, corner: Point, moved: bool) -> None:
        goal = self.goals.get(name)
        done = goal is not None and (
            self.done(scene, name) if self.done else self.where(scene).get(name) == goal
        )
        own = self.detail(scene, name)
        wish = "✓" if done else "" if goal is None else self._wish(goal)
        label = " ".join(word for word in (name, wish, own) if word)
        look = "goal" if done else "carrier" if name in self.carriers else "thing"
        x, y = corner
        radius = CHIP / 2 if name in self.round else 4
        canvas.rect(x, y, self.wide, CHIP, look, radius=radius, title=label)
        if moved:
            canvas.rect(
                x - 1.5, y - 1.5, self.wide + 3, CHIP + 3, "changed-line", radius=radius + 1
            )
        shown = label if width_of(label, 11) <= self.wide - 8 else self._short(name, label)
        canvas.text(x + self.wide / 2, y + CHIP / 2, shown, size=11, width=self.wide - 8)

    def _short(self, name: str, label: str) -> str:
        """Both ends of `package-1 → city-3` stay readable."""
        rest = label.removeprefix(name)
        half = (self.wide - 8) / 2
        if not rest:
            return name
        first = fitted(name, max(half, self.wide - 8 - width_of(rest, 11)), 11)
        return first + fitted(rest, self.wide - 8 - width_of(first, 11), 11)


class _Slots:
    """The rows of a card, filled from the top. A carrier begins a row of its own and takes its load along."""

    def __init__(
        self, board: Board, canvas: Canvas, scene: Scene, moved: set[str], corner: Point
    ) -> None:
        self.board = board
        self.canvas = canvas
        self.scene = scene
        self.moved = moved
        self.x, self.y = corner
        self.row = self.column = 0

    def fill(self, items: list[tuple[str, list[str]]]) -> None:
        left_out: list[str] = []
        for k, (name, load) in enumerate(items):
            if name in self.board.carriers:
                self._begin_row()
                if self.row < self.board.rows:
                    left_out += self._carrier(name, load)
                else:
                    left_out += [name, *load]
                continue
            last = self.row == self.board.rows - 1 and self.column == self.board.columns - 1
            if self.row >= self.board.rows or (last and (left_out or k < len(items) - 1)):
                left_out.append(name)
            else:
                self._put(name)
        if left_out:
            self._say(left_out)

    def _carrier(self, name: str, load: list[str]) -> list[str]:
        """Returns what does not fit."""
        board = self.board
        rows = min(ceil((1 + len(load)) / board.columns), board.rows - self.row)
        room = rows * board.columns - 1
        wide = board.columns * (board.wide + 4)
        self.canvas.rect(
            self.x - 3, self.y + self.row * ROW - 2.5, wide + 2, rows * ROW - 1, "shade", radius=6
        )
        self._put(name)
        for own in load[:room]:
            self._put(own)
        self._begin_row()
        return load[room:]

    def _begin_row(self) -> None:
        if self.column:
            self.row, self.column = self.row + 1, 0

    def _corner(self, row: int, column: int) -> Point:
        return self.x + column * (self.board.wide + 4), self.y + row * ROW

    def _put(self, name: str) -> None:
        corner = self._corner(self.row, self.column)
        self.board.chip(self.canvas, self.scene, name, corner, name in self.moved)
        self.column += 1
        if self.column == self.board.columns:
            self.row, self.column = self.row + 1, 0

    def _say(self, names: list[str]) -> None:
        x, y = self._corner(self.board.rows - 1, self.board.columns - 1)
        if self.row >= self.board.rows:  # no slot was kept free for it
            x, y = (
                self.x + self.board.columns * (self.board.wide + 4) - self.board.wide,
                self.y - HEADER + 3,
            )
            self.canvas.rect(x, y, self.board.wide, CHIP, "card")
        said = ", ".join(names[:30])
        self.canvas.rect(x, y, self.board.wide, CHIP, "ghost", title=said)
        text = f"+{len(names)} more"
        self.canvas.text(x + self.board.wide / 2, y + CHIP / 2, text, size=11, look="faint")


__all__ = ["Board", "Where"]
