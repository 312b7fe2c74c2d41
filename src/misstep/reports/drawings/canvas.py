"""The canvas on which a state is drawn; the result is SVG as text.

Pictures appear in pages that forbid scripts and inline styles, on light and dark backgrounds. So they contain no
script, no `style` and no `id`. Colours are attributes with CSS variables (`--misstep-thing` and so on) that a page may
set; the defaults work on both backgrounds, because surfaces are a transparent version of the text colour. Untrusted
text is escaped here and nowhere else, and the number of shapes is limited here, also for drawings of users.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from unicodedata import east_asian_width

from misstep.escaping import written_out

MOST_SHAPES = 3000
MOST_LETTERS = 200  # of one text, as long as it may be in the task
PADDING = 8.0
LEAST_WIDTH = 400.0

# What a shape is, and how it looks. A page changes a colour by its variable and the rest by the class `misstep-NAME`.
_COLOURS = {
    "thing": "#3b7dd8",
    "carrier": "#d08700",
    "goal": "#1f9d63",
    "bad": "#d0455a",
    "changed": "#a24bd0",
    "other": "#7a8594",
}
_TONES = ("#3b7dd8", "#d08700", "#1f9d63", "#d0455a", "#8a63d2", "#0f97a7", "#b3702d", "#7a8594")


def _tinted(colour: str, name: str) -> str:
    value = f"var(--misstep-{name}, {colour})"
    return f'fill="{value}" fill-opacity="0.2" stroke="{value}" stroke-width="1.3"'


LOOKS = {
    "box": 'fill="currentColor" fill-opacity="0.04" stroke="currentColor" stroke-opacity="0.4"',
    "card": 'fill="var(--misstep-paper, Canvas)" stroke="currentColor" stroke-opacity="0.4"',
    "shade": 'fill="currentColor" fill-opacity="0.07" stroke="none"',
    "wall": 'fill="currentColor" fill-opacity="0.5" stroke="none"',
    "line": 'fill="none" stroke="currentColor" stroke-opacity="0.35" stroke-width="1.5"',
    "strong": 'fill="none" stroke="currentColor" stroke-opacity="0.8" stroke-width="2"',
    "ghost": 'fill="none" stroke="currentColor" stroke-opacity="0.5" stroke-dasharray="3 3"',
    "ink": 'fill="currentColor"',
    "faint": 'fill="currentColor" fill-opacity="0.75"',
    **{name: _tinted(colour, name) for name, colour in _COLOURS.items()},
    **{f"tone{k}": _tinted(colour, f"tone{k}") for k, colour in enumerate(_TONES)},
    **{
        f"{name}-line": f'fill="none" stroke="var(--misstep-{name}, {colour})" stroke-width="2.2"'
        for name, colour in _COLOURS.items()
    },
    **{
        f"{name}-full": f'fill="var(--misstep-{name}, {colour})" stroke="none"'
        for name, colour in _COLOURS.items()
    },
}


def plain(text: str, most: int = MOST_LETTERS) -> str:
    """The text, cut, with odd characters written out as in `\\x1b`."""
    return written_out(text if len(text) <= most else text[: max(most - 1, 1)] + "…")


def width_of(text: str, size: float = 12) -> float:
    """An upper estimate of the width of a text, because the font depends on the reader."""
    letters = sum(
        1.0 if east_asian_width(c) in "WF" else 0.82 if c in "mwMW→@%" else 0.56 for c in text
    )
    return letters * size


def fitted(text: str, width: float, size: float = 12) -> str:
    """The text, cut in the middle if it is too wide, because names differ at their ends."""
    text = plain(text)
    if width_of(text, size) <= width:
        return text
    for keep in range(min(len(text) - 1, 60), 1, -1):
        tail = keep // 2
        short = text[: keep - tail] + "…" + (text[-tail:] if tail else "")
        if width_of(short, size) <= width:
            return short
    return text[:1] + "…"


def _number(value: float) -> str:
    return f"{round(value, 1):g}" if abs(value) < 1e6 else "0"


class Canvas:
    """Shapes are drawn in the order of the calls. Lengths are in units of the picture, y downwards."""

    def __init__(self, title: str, description: str = "") -> None:
        self.title = title
        self.description = description
        self.left_out = 0  # shapes beyond the bound
        self._shapes: list[str] = []
        self._notes: list[tuple[str, str]] = []
        self._said: list[str] = []  # all texts, as they are in the task
        self._frame: tuple[float, float, float, float] | None = None
        self._extent = [float("inf"), float("inf"), float("-inf"), float("-inf")]

    # -- where ------------------------------------------------------------------------------------

    def frame(self, x: float, y: float, width: float, height: float) -> None:
        """Set the visible area, so that it stays the same along a run; the default is everything that is drawn."""
        self._frame = (x, y, width, height)

    def note(self, text: str, look: str = "faint") -> None:
        """A sentence below the picture, such as what it leaves out."""
        self._notes.append((plain(text), look))

    def mention(self, *names: str) -> None:
        """Mark objects as drawn although no text names them, such as directions."""
        self._said += names

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those of the objects that no text and no title of the picture names."""
        said = " ".join(self._said)
        words = {*self._said, *said.replace(",", " ").split()}
        return [name for name in names if name not in words]

    # -- shapes -----------------------------------------------------------------------------------

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        look: str = "box",
        *,
        radius: float = 4,
        title: str = "",
    ) -> None:
        where = f'x="{_number(x)}" y="{_number(y)}" width="{_number(max(width, 0))}" height="{_number(max(height, 0))}"'
        self._add("rect", f'{where} rx="{_number(radius)}"', look, title)
        self._reach(x, y, x + width, y + height)

    def circle(
        self, x: float, y: float, radius: float, look: str = "thing", *, title: str = ""
    ) -> None:
        self._add(
            "circle", f'cx="{_number(x)}" cy="{_number(y)}" r="{_number(radius)}"', look, title
        )
        self._reach(x - radius, y - radius, x + radius, y + radius)

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        look: str = "line",
        *,
        arrow: bool = False,
        title: str = "",
    ) -> None:
        """Draw a line; with `arrow`, it has an arrow head in its middle, where nothing covers it."""
        (x1, y1), (x2, y2) = start, end
        where = f'x1="{_number(x1)}" y1="{_number(y1)}" x2="{_number(x2)}" y2="{_number(y2)}"'
        self._add("line", where, look, title)
        self._reach(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        if arrow and length > 1:
            dx, dy = (x2 - x1) / length * 5, (y2 - y1) / length * 5
            mx, my = (x1 + x2) / 2, (y1 + y2) / 2
            self.path(
                [(mx - dx - dy, my - dy + dx), (mx + dx, my + dy), (mx - dx + dy, my - dy - dx)],
                look,
            )

    def path(
        self, points: Sequence[tuple[float, float]], look: str = "line", *, closed: bool = False
    ) -> None:
        where = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
        self._add("polygon" if closed else "polyline", f'points="{where}"', look, "")
        for x, y in points:
            self._reach(x, y, x, y)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 12,
        anchor: str = "middle",
        look: str = "ink",
        width: float | None = None,
        bold: bool = False,
    ) -> None:
        """A line of text with its middle at height y, cut to the width if there is one."""
        shown = fitted(text, width, size) if width is not None else plain(text)
        where = f'x="{_number(x)}" y="{_number(y + 0.35 * size)}" font-size="{_number(size)}"'
        weight = ' font-weight="600"' if bold else ""
        whole = "" if shown == text else plain(text)
        self._said.append(text)
        self._add("text", f'{where} text-anchor="{anchor}"{weight}', look, whole, shown)
        wide = width_of(shown, size)
        left = {"middle": x - wide / 2, "start": x, "end": x - wide}[anchor]
        self._reach(left, y - size / 2, left + wide, y + size / 2)

    # -- the result -------------------------------------------------------------------------------

    def svg(self) -> str:
        x, y, width, height = self._frame or self._drawn()
        notes = list(self._notes)
        if self.left_out:
            text = f"{self.left_out} shapes are left out: there are too many for a picture"
            notes.append((text, "faint"))
        size = min(max(width / 50, 11.0), 20.0)  # readable where the picture is large
        step = 1.45 * size
        below = ""
        for k, (text, look) in enumerate(notes[:6]):
            top = y + height + 1.3 * size + step * k
            below += (
                f'<text x="{_number(x)}" y="{_number(top)}" font-size="{_number(size)}" class="misstep-note" '
                f"{LOOKS[look]}>{escape(text)}</text>"
            )
            width = max(width, width_of(text, size))
        height += step * len(notes[:6]) + (4 if notes else 0)
        spare = max(LEAST_WIDTH - width, 0) / 2  # a small picture is not blown up
        x, width = x - spare, width + 2 * spare
        box = [x - PADDING, y - PADDING, width + 2 * PADDING, height + 2 * PADDING]
        described = (
            f"<desc>{escape(plain(self.description, 600))}</desc>" if self.description else ""
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{" ".join(map(_number, box))}" role="img" '
            f'class="misstep-drawing" font-family="system-ui, sans-serif">'
            f"<title>{escape(plain(self.title))}</title>{described}{''.join(self._shapes)}{below}</svg>"
        )

    def _drawn(self) -> tuple[float, float, float, float]:
        left, top, right, bottom = self._extent
        return (left, top, right - left, bottom - top) if left <= right else (0, 0, 120, 20)

    def _reach(self, left: float, top: float, right: float, bottom: float) -> None:
        own = self._extent
        own[:] = [min(own[0], left), min(own[1], top), max(own[2], right), max(own[3], bottom)]

    def _add(self, tag: str, where: str, look: str, title: str, text: str = "") -> None:
        if len(self._shapes) >= MOST_SHAPES:
            self.left_out += 1
            return
        if title:
            self._said.append(title)
        inside = (f"<title>{escape(plain(title))}</title>" if title else "") + escape(text)
        start = f'<{tag} {where} class="misstep-{look}" {LOOKS[look]}'
        self._shapes.append(f"{start}>{inside}</{tag}>" if inside else f"{start}/>")


__all__ = ["LOOKS", "MOST_SHAPES", "Canvas", "fitted", "plain", "width_of"]
