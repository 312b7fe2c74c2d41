"""What a figure is made of: lines, boxes and text on a page, in points, with the origin at the top left."""

from __future__ import annotations

from dataclasses import dataclass

Point = tuple[float, float]
# Advance widths of Helvetica for the characters from the blank to the tilde, in thousandths of its size. They make
# room for text; another sans-serif font of a browser is about as wide.
_WIDTHS = (
    *(
        278,
        278,
        355,
        556,
        556,
        889,
        667,
        191,
        333,
        333,
        389,
        584,
        278,
        333,
        278,
        278,
        556,
        556,
        556,
    ),
    *(
        556,
        556,
        556,
        556,
        556,
        556,
        556,
        278,
        278,
        584,
        584,
        584,
        556,
        1015,
        667,
        667,
        722,
        722,
        667,
    ),
    *(
        611,
        778,
        722,
        278,
        500,
        667,
        556,
        833,
        722,
        778,
        667,
        778,
        722,
        667,
        611,
        722,
        667,
        944,
        667,
    ),
    *(
        667,
        611,
        278,
        278,
        278,
        469,
        556,
        333,
        556,
        556,
        500,
        556,
        556,
        278,
        556,
        556,
        222,
        222,
        500,
    ),
    *(
        222,
        833,
        556,
        556,
        556,
        556,
        333,
        500,
        278,
        556,
        500,
        722,
        500,
        500,
        500,
        334,
        260,
        334,
        584,
    ),
)


@dataclass(frozen=True)
class Line:
    """Straight pieces from point to point."""

    points: tuple[Point, ...]
    colour: str
    width: float = 1.0
    dashes: tuple[float, ...] = ()


@dataclass(frozen=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    colour: str
    title: str | None = None  # shown where the reader can point at it


@dataclass(frozen=True)
class Text:
    x: float
    y: float  # of the baseline
    text: str
    size: float = 11.0
    colour: str = "#222222"
    anchor: str = "start"  # start, middle or end
    bold: bool = False
    turned: bool = False  # read from below


Shape = Line | Box | Text


@dataclass(frozen=True)
class Page:
    """A figure: its shapes, and what it shows in words."""

    width: float
    height: float
    title: str
    description: str
    shapes: tuple[Shape, ...]


def width_of(text: str, size: float) -> float:
    """How wide the text is, about."""
    widths = (_WIDTHS[ord(c) - 32] if 32 <= ord(c) < 127 else 600 for c in text)
    return sum(widths) * size / 1000


def fitted(text: str, size: float, room: float) -> str:
    """The text, cut where it is wider than the room for it."""
    if width_of(text, size) <= room:
        return text
    while text and width_of(text + "...", size) > room:
        text = text[: -max(1, len(text) // 50)]
    return text + "..."


__all__ = ["Box", "Line", "Page", "Point", "Shape", "Text", "fitted", "width_of"]
