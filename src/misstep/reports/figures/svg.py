"""Pages as SVG: nothing but shapes and text, a title and a description for screen readers."""

from __future__ import annotations

from html import escape

from misstep.escaping import written_out
from misstep.reports.figures.shapes import Box, Line, Page, Shape, Text

_FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"


def svg_text(page: Page) -> str:
    width, height = _number(page.width), _number(page.height)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" aria-labelledby="title desc" font-family="{_FONT}">',
            f'<title id="title">{_text(page.title)}</title>',
            f'<desc id="desc">{_text(page.description)}</desc>',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *map(_shape, page.shapes),
            "</svg>",
            "",
        ]
    )


def _shape(shape: Shape) -> str:
    if isinstance(shape, Line):
        points = " ".join(f"{_number(x)},{_number(y)}" for x, y in shape.points)
        dashes = ",".join(map(_number, shape.dashes))
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        return (
            f'<polyline points="{points}" fill="none" stroke="{shape.colour}" '
            f'stroke-width="{_number(shape.width)}" stroke-linejoin="round"{dashed}/>'
        )
    if isinstance(shape, Box):
        start = (
            f'<rect x="{_number(shape.x)}" y="{_number(shape.y)}" width="{_number(shape.width)}" '
            f'height="{_number(shape.height)}" fill="{shape.colour}"'
        )
        title = shape.title
        return f"{start}/>" if title is None else f"{start}><title>{_text(title)}</title></rect>"
    return _words(shape)


def _words(shape: Text) -> str:
    x, y = _number(shape.x), _number(shape.y)
    anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
    bold = ' font-weight="bold"' if shape.bold else ""
    turned = f' transform="rotate(-90 {x} {y})"' if shape.turned else ""
    return (
        f'<text x="{x}" y="{y}" font-size="{_number(shape.size)}" fill="{shape.colour}"{anchor}{bold}{turned}>'
        f"{_text(shape.text)}</text>"
    )


def _text(text: str) -> str:
    return escape(written_out(text))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


__all__ = ["svg_text"]
