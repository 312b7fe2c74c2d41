"""Draw places as cards, and the things there as chips; used for rooms, floors, roads and skies.

A domain defines which objects are places, which ones carry others, and where everything is in a scene; the rest is the
same for all domains. Cards have room for a fixed number of chips, so that along a run only things move that the policy
moves. A card shows the number of things that do not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt

from misstep.reports.drawings.canvas import Canvas, fitted, width_of
from misstep.reports.drawings.drawing import UnknownDomainError
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
Look = tuple[str, bool, str]  # where a thing is, whether its goal is reached, a detail


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
        if not self.places:
            raise UnknownDomainError  # such as a SAS file, which does not tell what is a place
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
        now = self._looked_at(scene)
        last = None if scene.before is None else self._looked_at(scene.before)
        moved = set() if last is None else {name for name in now if now[name] != last[name]}
        known = {*self.places, *self.carriers}
        inside: dict[str, list[str]] = {}
        for name, (spot, _, _) in now.items():
            here = spot if spot in known and spot != name else ELSEWHERE
            inside.setdefault(here, []).append(name)
        for a, b, both in self._ways:
            canvas.line(self._centres[a], self._centres[b], arrow=not both, title=f"{a} to {b}")
        hand = _Hand(self, canvas, scene, now, moved, inside)
        for place in self.places:
            x, y = self._centres[place]
            hand.card(place, (x - self.width / 2, y - self.height / 2))
        if inside.get(ELSEWHERE) or self.rest:
            # What is at no place, such as what was used up, stands below all.
            left = min(x for x, _ in self._centres.values()) - self.width / 2
            low = max(y for _, y in self._centres.values()) + self.height / 2 + 18
            hand.card(ELSEWHERE, (left, low))
        if self.hidden:
            canvas.note(f"{self.hidden} more places are left out")

    def _looked_at(self, scene: Scene) -> dict[str, Look]:
        where = self.where(scene)
        found = {}
        for name in (*self.carriers, *self.things):
            spot, goal = where.get(name, ELSEWHERE), self.goals.get(name)
            done = goal is not None and (self.done(scene, name) if self.done else spot == goal)
            found[name] = (spot, done, self.detail(scene, name))
        return found

    def label(self, name: str, look: Look) -> str:
        _, done, detail = look
        goal = self.goals.get(name)
        wish = "✓" if done else "" if goal is None else self._wish(goal)
        return " ".join(word for word in (name, wish, detail) if word)

    def short(self, name: str, label: str) -> str:
        """Both ends of `package-1 → city-3` stay readable."""
        room = self.wide - 8
        rest = label.removeprefix(name)
        if width_of(label, 11) <= room or not rest:
            return label
        first = fitted(name, max(room / 2, room - width_of(rest, 11)), 11)
        return first + fitted(rest, room - width_of(first, 11), 11)


@dataclass(frozen=True)
class _Hand:
    """Draws the cards of one scene."""

    board: Board
    canvas: Canvas
    scene: Scene
    now: Mapping[str, Look]
    moved: set[str]
    inside: Mapping[str, list[str]]

    def card(self, place: str, corner: Point) -> None:
        board, canvas = self.board, self.canvas
        x, y = corner
        look = "card" if place != ELSEWHERE else "ghost"
        canvas.rect(x, y, board.width, board.height, look, radius=8, title=place)
        if board.arrange == "column":
            room, middle = board.inset[0] - 14, y + board.height / 2
        else:
            room, middle = board.width - 2 * INSET, y + 12
        bold = place != ELSEWHERE
        canvas.text(x + INSET, middle, place, anchor="start", width=room, bold=bold)
        if place != ELSEWHERE:
            left = room - min(room, width_of(place, 12) + 4)
            self._mark(place, (x + board.width - INSET, middle), left)
        slots = _Slots(self, (x + board.inset[0], y + board.inset[1]))
        slots.fill([(name, self._load(name)) for name in self.inside.get(place, [])])

    def _mark(self, place: str, at: Point, room: float) -> None:
        """A word on a card; it stands out if it has changed."""
        word = self.board.mark_place(self.scene, place)
        last = self.scene.before
        is_new = last is not None and self.board.mark_place(last, place) != word
        if word and room > 30:
            look = "changed-full" if is_new else "faint"
            self.canvas.text(*at, word, anchor="end", size=10, look=look, width=room)

    def _load(self, name: str) -> list[str]:
        """What is in a carrier, and in carriers in it."""
        found: list[str] = []
        rest = list(self.inside.get(name, ()))
        while rest:
            own = rest.pop(0)
            if own != name and own not in found:
                found.append(own)
                rest = [*self.inside.get(own, ()), *rest]
        return found

    def chip(self, name: str, corner: Point) -> None:
        board, canvas = self.board, self.canvas
        label = board.label(name, self.now[name])
        done = self.now[name][1]
        look = "goal" if done else "carrier" if name in board.carriers else "thing"
        x, y = corner
        wide, radius = board.wide, CHIP / 2 if name in board.round else 4
        canvas.rect(x, y, wide, CHIP, look, radius=radius, title=label)
        if name in self.moved:
            canvas.rect(x - 1.5, y - 1.5, wide + 3, CHIP + 3, "changed-line", radius=radius + 1)
        shown = board.short(name, label)
        canvas.text(x + wide / 2, y + CHIP / 2, shown, size=11, width=wide - 8)


class _Slots:
    """The rows of a card, filled from the top. A carrier begins a row of its own and takes its load along."""

    def __init__(self, hand: _Hand, corner: Point) -> None:
        self.hand = hand
        self.board = hand.board
        self.canvas = hand.canvas
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
        self.hand.chip(name, corner)
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
