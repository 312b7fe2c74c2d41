"""The import graph of the packages as a drawing, and what each package is for, from the data of the layering test."""

from __future__ import annotations

import ast
from functools import cache

from import_graph import ORDER, SOURCE
from import_graph import edges as edges_of

NAME = "reference/packages.md"
_ROW, _LEFT = 26, 150


@cache
def edges() -> dict[str, set[str]]:
    return edges_of()


def closure(graph: dict[str, set[str]], start: str) -> set[str]:
    """Everything that a package imports, directly or not."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


@cache
def reduced() -> dict[str, set[str]]:
    """The graph without the imports that follow from others; with all of them a drawing shows nothing."""
    graph = {part: set(others) for part, others in edges().items()}
    graph["campaigns"] -= {"comparison", "reports"}  # offered as methods, see test_layering.py
    return {
        part: {
            other
            for other in others
            if not any(other in closure(graph, third) for third in others - {other})
        }
        for part, others in graph.items()
    }


def drawing() -> str:
    """An arc from every package to each one that it imports; what is imported stands above."""
    names = [name for rank in ORDER for name in rank] + ["checking"]
    at = {name: 20 + _ROW * row for row, name in enumerate(names)}
    height = 20 + _ROW * len(names)
    lines = [
        f'<svg viewBox="0 0 640 {height}" width="640" height="{height}" role="img" '
        'aria-label="The packages in the order of their imports" font-family="monospace" font-size="14">'
    ]
    for part, others in sorted(reduced().items()):
        for other in sorted(others):
            top, bottom = at[other], at[part]
            reach = _LEFT + 14 + abs(bottom - top) * 0.8
            lines.append(
                f'<path d="M {_LEFT} {bottom} C {reach:.0f} {bottom}, {reach:.0f} {top}, {_LEFT} {top}" '
                'fill="none" stroke="currentColor" stroke-opacity="0.35"/>'
            )
    for name, y in at.items():
        lines.append(
            f'<text x="{_LEFT - 8}" y="{y + 5}" text-anchor="end" fill="currentColor">{name}</text>'
        )
        lines.append(f'<circle cx="{_LEFT}" cy="{y}" r="3" fill="currentColor"/>')
    return "\n".join([*lines, "</svg>"])


def summary(part: str) -> str:
    """The first paragraph of the docstring of a package or module."""
    folder = SOURCE / part
    file = folder / "__init__.py" if folder.is_dir() else SOURCE / f"{part}.py"
    if not file.exists():
        return "The native core, in C++."
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def pages() -> dict[str, str]:
    graph = edges()
    lines = [
        "# Packages and what they import",
        "",
        "An arc leads from each package to one that it imports, unless the import follows from other arcs; the table "
        "has them all. A package imports only what stands above it in the drawing or in its own rank; "
        "`checking`, the independent checker, imports nothing but the errors. "
        "`tests/test_layering.py` fails otherwise, and this page is made from the same data.",
        "",
        drawing(),
        "",
        "| package | what it is for | imports |",
        "|---|---|---|",
    ]
    for part in [name for rank in ORDER for name in rank] + ["checking"]:
        imported = ", ".join(f"`{other}`" for other in sorted(graph.get(part, ())))
        lines.append(f"| `{part}` | {summary(part).replace('|', chr(92) + '|')} | {imported} |")
    return {NAME: "\n".join([*lines, ""])}
