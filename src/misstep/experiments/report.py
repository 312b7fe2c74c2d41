"""Write the report of an experiment from its database alone: nothing runs, and no model, task or policy is read.

DIR/report/report.md      all of it on one page: tables, figures, claims, what is missing
DIR/report/claims.md      the claims of the paper in our words, and whether our numbers agree
DIR/report/tables/        each table as Markdown, LaTeX and CSV
DIR/report/figures/       each figure as SVG
"""

from __future__ import annotations

import html
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from misstep.errors import InputFileError, InputFormatError
from misstep.experiments.claims import Judged, judge_claim
from misstep.experiments.figures import make_figures
from misstep.experiments.observations import Gathered, gather
from misstep.experiments.store import DONE, open_results
from misstep.experiments.tables import Made, in_markdown, make_table
from misstep.files import write_bytes
from misstep.reports.escaping import slug
from misstep.reports.exports.files import make_folder
from misstep.reports.exports.latex import latex_text
from misstep.reports.exports.spreadsheet import write_csv
from misstep.reports.figures.svg import svg_text

FOLDER = "report"


@dataclass(frozen=True)
class Report:
    name: str
    scale: str
    units: int
    done: int
    claims: tuple[Judged, ...]
    missing: tuple[tuple[str, str, str], ...]
    files: tuple[Path, ...]
    costs: dict[str, dict[str, float]]

    def as_dict(self) -> dict[str, Any]:
        return {
            "experiment": self.name,
            "scale": self.scale,
            "units": self.units,
            "done": self.done,
            "claims": [own.as_dict() for own in self.claims],
            "missing": [
                dict(zip(("step", "row", "reason"), own, strict=True)) for own in self.missing
            ],
            "files": [str(path) for path in self.files],
            "seconds_for_one": self.costs,
        }


@dataclass(frozen=True)
class Parts:
    """The parts of a report; figures by their names in it."""

    gathered: Gathered
    tables: tuple[Made, ...]
    claims: tuple[Judged, ...]
    figures: dict[str, str]


def parts_of(folder: Path) -> Parts:
    with open_results(folder) as store:
        gathered = gather(store)
    try:
        return _parts(gathered)
    except OverflowError as error:
        raise InputFormatError(
            "results are too large to compute with",
            where=str(folder),
            hint="run the experiment again into another folder",
        ) from error


def _parts(gathered: Gathered) -> Parts:
    top = gathered.definition.top
    figures = {
        f"figures/{slug(name)}.svg": svg_text(page)
        for own in top["figures"]
        for name, page in make_figures(own, gathered)
    }
    return Parts(
        gathered,
        tuple(make_table(own, gathered) for own in top["tables"]),
        tuple(judge_claim(own, gathered) for own in top["claims"]),
        figures,
    )


def write_report(folder: Path) -> Report:
    """Write all files of the report."""
    parts = parts_of(folder)
    gathered, tables, claims, figures = parts.gathered, parts.tables, parts.claims, parts.figures
    texts = {**_table_files(tables), **figures}
    texts["claims.md"] = "\n".join(_claims_page(gathered, claims)) + "\n"
    texts["report.md"] = "\n".join(_page(gathered, tables, figures, claims)) + "\n"
    written = _write(folder / FOLDER, texts)
    return Report(
        gathered.definition.name,
        gathered.scale,
        len(gathered.units),
        gathered.done,
        claims,
        tuple(gathered.missing()),
        tuple(written),
        measured_costs(gathered),
    )


def _write(folder: Path, texts: dict[str, str]) -> list[Path]:
    """The folder is untrusted, so no link in it is followed."""
    written = []
    for name, text in texts.items():
        path = folder / name
        for above in {folder, path.parent}:
            if above.is_symlink():
                raise InputFileError(
                    "this is a symbolic link, which is not followed here",
                    where=str(above),
                    expected="a folder of its own",
                )
        make_folder(path.parent)
        write_bytes(path, text.encode(errors="backslashreplace"), follow=False)
        written.append(path)
    return written


def measured_costs(gathered: Gathered) -> dict[str, dict[str, float]]:
    """Seconds for one piece of work (a run, a question, a path, a state), by step and row: what `[costs]` holds."""
    seconds: Counter[tuple[str, str]] = Counter()
    work: Counter[tuple[str, str]] = Counter()
    for unit in gathered.units:
        own = gathered.results.get(unit.key)
        if own is not None and own.outcome == DONE:
            seconds[unit.step, unit.row] += own.seconds  # type: ignore[assignment]
            work[unit.step, unit.row] += unit.work  # type: ignore[assignment]
    found: dict[str, dict[str, float]] = {}
    for (step, row), spent in seconds.items():
        found.setdefault(step, {})[row] = float(f"{spent / max(work[step, row], 1e-9):.2g}")
    return found


def _table_files(tables: tuple[Made, ...]) -> dict[str, str]:
    found = {}
    for own in tables:
        name = f"tables/{slug(own.name)}"
        found[f"{name}.md"] = own.as_markdown()
        found[f"{name}.tex"] = latex_text(own.as_text())[0]
        numbers = io.StringIO()
        write_csv(own.as_numbers(), numbers)
        found[f"{name}.csv"] = numbers.getvalue()
    return found


def _page(
    gathered: Gathered,
    tables: tuple[Made, ...],
    figures: dict[str, str],
    claims: tuple[Judged, ...],
) -> Iterator[str]:
    yield from _head(gathered)
    yield ""
    yield f"What is claimed, and what these numbers say to it, is in [claims.md](claims.md): {counted(claims)}."
    yield ""
    for own in tables:
        yield own.as_markdown()
    for name, drawn in figures.items():
        yield f"![{title_of(drawn)}]({name})"
        yield ""
    missing = list(gathered.missing())
    if missing:
        yield "### Missing"
        yield ""
        yield from (f"- {in_markdown(f'{step}, {row}: {why}'[:300])}" for step, row, why in missing)


def title_of(figure: str) -> str:
    """The title of a figure, for readers who cannot see it."""
    found = re.search("<title[^>]*>([^<]*)</title>", figure)
    return in_markdown(html.unescape(found.group(1))) if found else "figure"


def _claims_page(gathered: Gathered, claims: tuple[Judged, ...]) -> Iterator[str]:
    yield from _head(gathered)
    yield ""
    yield f"Of {len(claims)} claims, told in our words: {counted(claims)}."
    for own in claims:
        yield ""
        where = f" (section {in_markdown(own.section)})" if own.section else ""
        yield f"**{own.verdict}.** {in_markdown(own.text)}{where}"
        yield ""
        if own.paper:
            yield f"- Paper: {in_markdown(own.paper)}"
        yield f"- Ours: {in_markdown(own.ours)}"
        yield f"- {in_markdown(own.why)}"


def _head(gathered: Gathered) -> Iterator[str]:
    definition = gathered.definition
    seeds = f"{gathered.seeds} seed{'' if gathered.seeds == 1 else 's'}"
    yield f"## {in_markdown(definition.title)}"
    yield ""
    yield in_markdown(definition.top["paper"])
    yield ""
    yield (
        f"Scale {gathered.scale}, {seeds}, {gathered.done} of {len(gathered.units)} units done. "
        f"Written by `misstep experiment report` from stored results."
    )


def counted(claims: tuple[Judged, ...]) -> str:
    """The number of claims that agree, disagree, and are open, in words."""
    counts = Counter(own.verdict for own in claims)
    return ", ".join(f"{n} {verdict}" for verdict, n in counts.items()) or "no claims"


__all__ = ["FOLDER", "Parts", "Report", "counted", "measured_costs", "parts_of", "write_report"]
