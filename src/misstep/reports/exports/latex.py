"""Tables as LaTeX: a document that compiles on its own, or the table alone, to include in a paper.

Only packages of every LaTeX distribution are used, and `booktabs` only on request. Every character with a meaning in
LaTeX is escaped. Characters beyond ASCII are written as numbers, because not every font has them.
"""

from __future__ import annotations

from collections.abc import Sequence

from misstep.escaping import written_out
from misstep.reports.exports.names import shortened
from misstep.reports.exports.tables import Cell, Table

_LONGEST_TABULAR = 40  # rows; a longer table runs over several pages
_LONGEST_CELL = 80
_MOST_ROWS = 10_000  # beyond, LaTeX takes minutes and nobody reads it
# Of records: what is too wide for a page, or what the id says already.
_LEFT_OUT = {
    "records": (
        *("state", "world", "task", "number", "lower_bound", "upper_bound", "oracle", "source"),
        *("expansions", "evaluations", "seconds"),
    )
}
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedblright{}",
    "'": "{'}",
    "`": "{`}",
    "-": "{-}",
    **{own: f"\\{own}" for own in "&%$#_{}"},
}


def latex_text(table: Table, *, fragment: bool = False, booktabs: bool = False) -> tuple[str, int]:
    """The table as LaTeX, and its number of rows.

    To fit on a page, columns that are empty or 0 in every row are left out, and the name of the campaign if there is
    only one.
    """
    rows: list[tuple[Cell, ...]] = []
    more = 0
    for row in table.rows:
        if len(rows) < _MOST_ROWS:
            rows.append(row)
        else:
            more += 1
    shown = _shown(table, rows)
    body = _body(table, shown, rows, booktabs)
    if more:
        body += f"\n\n{more:,} further rows are left out.\n"
    if fragment:
        return body, len(rows)
    return _document(table.title, body, booktabs), len(rows)


def _shown(table: Table, rows: Sequence[tuple[Cell, ...]]) -> list[int]:
    """The places of the columns that are written."""
    shown = []
    for place, name in enumerate(table.columns):
        if name in _LEFT_OUT.get(table.name, ()):
            continue
        values = {row[place] for row in rows}
        alone = name == "campaign" and len(values) == 1
        if not rows or not (alone or values <= {None, 0}):
            shown.append(place)
    return shown


def _document(title: str, body: str, booktabs: bool) -> str:
    packages = ["longtable", "graphicx", *(["booktabs"] if booktabs else [])]
    return "\n".join(
        [
            r"\documentclass{article}",
            r"\usepackage[a4paper,landscape,margin=15mm]{geometry}",
            *(f"\\usepackage{{{name}}}" for name in packages),
            r"\renewcommand{\arraystretch}{1.15}",
            r"\begin{document}",
            rf"\section*{{{escaped(title)}}}",
            body,
            r"\end{document}",
            "",
        ]
    )


def _body(
    table: Table, shown: Sequence[int], rows: Sequence[tuple[Cell, ...]], booktabs: bool
) -> str:
    top, middle, bottom = (
        (r"\toprule", r"\midrule", r"\bottomrule") if booktabs else (r"\hline",) * 3
    )
    numeric = [
        bool(rows) and all(isinstance(row[place], (int, float, type(None))) for row in rows)
        for place in shown
    ]
    form = "".join("r" if own else "l" for own in numeric)
    titles = _row([escaped(table.columns[place].replace("_", " ")) for place in shown])
    lines = [_row([_cell(row[place]) for place in shown]) for row in rows]
    if len(rows) > _LONGEST_TABULAR:
        head = [r"{\scriptsize", rf"\begin{{longtable}}{{{form}}}", top, titles, middle]
        return "\n".join([*head, r"\endhead", *lines, bottom, r"\end{longtable}", "}"])
    inside = [rf"\begin{{tabular}}{{{form}}}", top, titles, middle, *lines, bottom]
    wide = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    return "\n".join([r"\noindent", wide, *inside, r"\end{tabular}}"])


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(cell: Cell) -> str:
    if cell is None:
        return "--"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"${cell:.3f}$"
    return f"${cell}$" if isinstance(cell, int) else escaped(cell)


def escaped(text: str) -> str:
    """The text as LaTeX prints it."""
    short = shortened(written_out(text), _LONGEST_CELL)
    return "".join(_SPECIAL.get(own) or (own if own.isascii() else _number(own)) for own in short)


def _number(own: str) -> str:
    return rf"\textless{{}}U+{ord(own):04X}\textgreater{{}}"


__all__ = ["escaped", "latex_text"]
