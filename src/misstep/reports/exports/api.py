"""`Campaign.export`: everything that `misstep export` writes, from Python.

found.export("tests", "tests")                          # a new folder, or an update of an older export
found.export("problem", "bug/problem.pddl", bug="gripper:3")
found.export("csv", "records.csv"); found.export("latex", "metrics.tex", table="metrics")
found.export("figure", "bugs.svg", figure="over-time", others=[another])
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.records import Record
from misstep.errors import UsageError
from misstep.reports.exports.bug import write_model, write_plan, write_problem
from misstep.reports.exports.files import new_file
from misstep.reports.exports.json_file import write_json
from misstep.reports.exports.latex import latex_text
from misstep.reports.exports.regression import export_tests
from misstep.reports.exports.spreadsheet import write_csv
from misstep.reports.exports.tables import sources
from misstep.reports.exports.tables import table as table_of
from misstep.reports.figures.draw import write_figure
from misstep.tasks.parameters import did_you_mean

Handle = Record | str | int


def _tests(campaign: Campaign, path: Path, bugs: Sequence[Handle] | None = None) -> list[Path]:
    return export_tests(campaign, path, bugs=bugs).written


def _problem(campaign: Campaign, path: Path, bug: Handle, force: bool = False) -> list[Path]:
    return write_problem(campaign, bug, path, force=force)


def _plan(
    campaign: Campaign, path: Path, bug: Handle, policy_run: bool = False, force: bool = False
) -> list[Path]:
    return write_plan(campaign, bug, path, policy_run=policy_run, force=force)


def _model(campaign: Campaign, path: Path, bug: Handle, force: bool = False) -> list[Path]:
    return write_model(campaign, bug, path, force=force)


def _csv(
    campaign: Campaign,
    path: Path,
    table: str = "records",
    others: Sequence[Campaign] = (),
    force: bool = False,
) -> list[Path]:
    own = table_of(table, sources([campaign, *others]))
    with new_file(path, force=force) as file:
        write_csv(own, file)
    return [path]


def _json(
    campaign: Campaign,
    path: Path,
    tables: Sequence[str] | None = None,
    others: Sequence[Campaign] = (),
    force: bool = False,
) -> list[Path]:
    with new_file(path, force=force) as file:
        write_json(sources([campaign, *others]), file, tables)
    return [path]


def _latex(
    campaign: Campaign,
    path: Path,
    table: str = "metrics",
    others: Sequence[Campaign] = (),
    fragment: bool = False,
    booktabs: bool = False,
    force: bool = False,
) -> list[Path]:
    own = table_of(table, sources([campaign, *others]))
    text, _ = latex_text(own, fragment=fragment, booktabs=booktabs)
    with new_file(path, force=force) as file:
        file.write(text)
    return [path]


def _figure(
    campaign: Campaign,
    path: Path,
    figure: str = "over-time",
    others: Sequence[Campaign] = (),
    force: bool = False,
) -> list[Path]:
    return write_figure(figure, sources([campaign, *others]), path, force=force)


def _baseline(campaign: Campaign, path: Path) -> list[Path]:
    from misstep.reports.exports.baseline import write_baseline

    return [write_baseline(campaign, path)]


WHAT: dict[str, Callable[..., list[Path]]] = {
    "tests": _tests,
    "problem": _problem,
    "plan": _plan,
    "model": _model,
    "csv": _csv,
    "json": _json,
    "latex": _latex,
    "figure": _figure,
    "baseline": _baseline,
}


def export(campaign: Campaign, what: str, path: Path, options: dict[str, object]) -> list[Path]:
    """Write an export; returns the files that were written."""
    if what not in WHAT:
        raise UsageError(
            f"{what!r:.80} cannot be exported",
            expected=", ".join(WHAT),
            hint=did_you_mean(str(what), list(WHAT)),
        )
    known = list(inspect.signature(WHAT[what]).parameters)[2:]
    for option in options:
        if option not in known:
            raise UsageError(
                f"{option} is not an option of the export {what!r}",
                expected=", ".join(known) or "none",
            )
    if "bug" in known and "bug" not in options:
        raise UsageError(f"the export {what!r} needs a record", expected="bug=ID")
    return WHAT[what](campaign, path, **options)


__all__ = ["WHAT", "export"]
