"""The figures of the explanation: what bounds say about one state, and about two. `python -m docsite.figures` draws.

Each figure is a number line of costs. A figure has a panel of its own in a light colour, so that it can be read on
a light and on a dark page: an image does not know which of the two it stands on.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

IMAGES = Path(__file__).resolve().parents[1] / "images"
_WIDTH = 640
_LEFT, _STEP = 112, 28  # where cost 0 stands, and how wide a cost of 1 is
_INK, _PALE, _PAPER = "#1f2328", "#8a929c", "#fcfcfa"
POLICY, OPTIMAL, BOUNDS, PROOF = "#a04a00", "#1f2328", "#2f6aa8", "#1a7f37"


def _at(cost: float) -> float:
    return _LEFT + _STEP * cost


class Figure:
    """Lines of an SVG file, one row of marks after the other."""

    def __init__(self, title: str, height: int) -> None:
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
            f'height="{height}" role="img" font-family="sans-serif" font-size="14">',
            f"<title>{escape(title)}</title>",
            f'<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1}" rx="8" fill="{_PAPER}" '
            f'stroke="{_PALE}"/>',
        ]

    def text(
        self, x: float, y: float, words: str, colour: str = _INK, anchor: str = "middle"
    ) -> None:
        self.lines.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'
        )

    def line(
        self, a: tuple[float, float], b: tuple[float, float], colour: str, more: str = ""
    ) -> None:
        self.lines.append(
            f'<line x1="{a[0]:g}" y1="{a[1]:g}" x2="{b[0]:g}" y2="{b[1]:g}" stroke="{colour}"{more}/>'
        )

    def axis(self, y: float, name: str) -> None:
        """A row: its name on the left, and the line of costs, which grow to the right."""
        self.text(14, y + 5, name, anchor="start")
        end = _WIDTH - 22
        self.line((_LEFT, y), (end, y), _PALE)
        self.lines.append(
            f'<path d="M {end} {y - 4:g} L {end + 9} {y:g} L {end} {y + 4:g} Z" fill="{_PALE}"/>'
        )

    def interval(self, y: float, low: float, high: float) -> None:
        """Where the least cost can be: a bar from the lower to the upper bound."""
        self.lines.append(
            f'<rect x="{_at(low):g}" y="{y - 7:g}" width="{_at(high) - _at(low):g}" height="14" '
            f'fill="{BOUNDS}" fill-opacity="0.35" stroke="{BOUNDS}"/>'
        )

    def mark(self, y: float, cost: float, name: str, colour: str) -> None:
        self.line((_at(cost), y - 10), (_at(cost), y + 10), colour, ' stroke-width="3"')
        self.text(_at(cost), y - 16, name, colour)

    def span(self, y: float, low: float, high: float, words: str, colour: str) -> None:
        """A length with what it is."""
        for cost in (low, high):
            self.line((_at(cost), y - 5), (_at(cost), y + 5), colour)
        self.line((_at(low), y), (_at(high), y), colour, ' stroke-width="2"')
        self.text((_at(low) + _at(high)) / 2, y + 18, words, colour)

    def svg(self) -> str:
        return "\n".join([*self.lines, "</svg>", ""])


def one_state() -> Figure:
    """A plan between the least cost and the policy's cost proves a part of the gap; a dearer one proves nothing."""
    figure = Figure("A plan that is cheaper than the policy's run proves a part of the gap", 246)
    for y, plan, name in ((44, 8, "a bug"), (186, 15, "open")):
        figure.axis(y, name)
        figure.mark(y, 2, "l", BOUNDS)
        figure.mark(y, 5, "h*", OPTIMAL)
        figure.mark(y, plan, "plan u", BOUNDS)
        figure.mark(y, 13, "policy", POLICY)
    figure.span(70, 5, 13, "the gap, which nobody has to know", OPTIMAL)
    figure.span(110, 8, 13, "proven part", PROOF)
    figure.text(
        (_at(5) + _at(13)) / 2, 224, "the plan costs more than the policy's run: nothing is proven"
    )
    return figure


def _two_states(title: str, bounds: dict[str, tuple[float, float]]) -> Figure:
    figure = Figure(title, 262)
    for y, state in ((40, "t"), (96, "s")):
        low, high = bounds[state]
        figure.axis(y, f"state {state}")
        figure.interval(y, low, high)
        figure.text(_at(low), y - 14, f"l({state})", BOUNDS)
        figure.text(_at(high), y - 14, f"u({state})", BOUNDS)
    figure.axis(196, "policy's cost c")
    return figure


def gap_grows() -> Figure:
    """The policy's cost rises by more than the least cost can rise."""
    bounds = {"t": (2.0, 4.5), "s": (3.5, 8.0)}
    figure = _two_states("The policy's cost rises by more than the least cost can rise", bounds)
    figure.span(128, 2, 8, "h* rises by no more than this", OPTIMAL)
    figure.mark(196, 5, "in t", POLICY)
    figure.mark(196, 15, "in s", POLICY)
    figure.span(224, 5, 15, "c rises by more: the gap of s is larger", PROOF)
    return figure


def gap_remains() -> Figure:
    """The least cost falls by at least the distance of the bars, and the policy's cost falls by less."""
    bounds = {"t": (10.0, 13.0), "s": (2.0, 4.0)}
    figure = _two_states("The least cost falls by more than the policy's cost", bounds)
    figure.span(128, 4, 10, "h* falls by at least this", OPTIMAL)
    figure.mark(196, 15, "in t", POLICY)
    figure.mark(196, 12, "in s", POLICY)
    figure.span(224, 12, 15, "c falls by less: the gap of s is larger", PROOF)
    return figure


def figures() -> dict[str, str]:
    """The text of each figure by the name of its file."""
    drawn = {
        "bounds-one-state": one_state(),
        "bounds-rise": gap_grows(),
        "bounds-fall": gap_remains(),
    }
    return {f"{name}.svg": figure.svg() for name, figure in drawn.items()}


if __name__ == "__main__":
    for file, content in figures().items():
        (IMAGES / file).write_text(content, encoding="utf-8")
