"""Reports are made from the database alone, and the verdict on a claim follows from the numbers."""

from __future__ import annotations

import csv
import resource
import sqlite3
import xml.etree.ElementTree as ET
from contextlib import closing
from pathlib import Path

import pytest

from misstep.errors import InputFileError, InputFormatError
from misstep.experiments import kinds
from misstep.experiments.claims import AGREES, DISAGREES, OPEN
from misstep.experiments.driver import run_experiment
from misstep.experiments.page import write_page
from misstep.experiments.report import write_report
from misstep.experiments.store import NAME
from support.experiments import SMALL, definition, fill

GUIDED = {
    ("line", "uniform-1", "0"): 1,
    ("line", "uniform-1", "1"): 3,
    ("line", "greedy-inf", ""): 28,
    ("ball", "uniform-1", ""): 4,
    ("ball", "greedy-inf", ""): 25,
}


def verdicts(folder: Path) -> dict[str, str]:
    return {own.name: own.verdict for own in write_report(folder).claims}


def files(folder: Path) -> dict[Path, bytes]:
    return {own: own.read_bytes() for own in (folder / "report").rglob("*") if own.is_file()}


def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    run_experiment(definition(), tmp_path / "out")
    write_report(tmp_path / "out")
    before, limits = files(tmp_path / "out"), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(InputFileError, match="cannot write"):
            write_report(tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert files(tmp_path / "out") == before


def test_the_report_is_made_from_the_database_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_experiment(definition(), tmp_path / "out", jobs=2)
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / NAME).write_bytes((tmp_path / "out" / NAME).read_bytes())
    for name in kinds.KINDS:
        monkeypatch.setattr(kinds.kind(name), "run", None)  # nothing runs
    written = write_report(alone)
    names = {path.relative_to(alone / "report").as_posix() for path in written.files}
    assert {"report.md", "claims.md", "tables/unsafe-runs.csv", "figures/bars.svg"} <= names
    assert {"figures/curves-safe.svg", "figures/scatter.svg", "tables/unsafe-runs.tex"} <= names
    for path in written.files:
        if path.suffix == ".svg":
            assert ET.fromstring(path.read_text()).tag.endswith("svg")
    assert written.done == written.units
    assert written.missing == ()
    assert r"\begin{tabular}" in (alone / "report/tables/unsafe-runs.tex").read_text()


def test_mean_and_spread_over_seeds_beside_the_paper(tmp_path: Path) -> None:
    fill(tmp_path, GUIDED)
    write_report(tmp_path)
    text = (tmp_path / "report/tables/unsafe-runs.md").read_text()
    assert "| row | uniform-1 (baseline) | greedy-inf | greedy-inf, paper |" in text
    assert "| line | 2 +- 1.41 | 28 +- 0 | 99 |" in text
    assert "| ball | 4 +- 0 | 25 +- 0 | - |" in text
    assert "| all rows | 6 +- 1.41 | 53 +- 0 | - |" in text
    with (tmp_path / "report/tables/unsafe-runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["uniform-1 (baseline)"] == "2.0"
    assert rows[0]["uniform-1 (baseline), spread"] == "1.414214"


@pytest.mark.parametrize("number", [1e200, 1.5e308])
def test_results_that_are_too_large_are_refused(number: float, tmp_path: Path) -> None:
    """Their squares overflow, or even their sum."""
    fill(tmp_path, {key: number / 40 * (1 + unsafe) for key, unsafe in GUIDED.items()})
    with pytest.raises(InputFormatError, match="too large to compute with"):
        write_report(tmp_path)


def test_claims_come_out_either_way(tmp_path: Path) -> None:
    fill(tmp_path / "a", GUIDED)
    assert verdicts(tmp_path / "a") == {"guided": AGREES, "cheap": OPEN}  # 4 of 8 may be anything
    fill(tmp_path / "b", {**GUIDED, ("ball", "greedy-inf", ""): 4})
    assert verdicts(tmp_path / "b") == {"guided": DISAGREES, "cheap": OPEN}
    high = dict.fromkeys(GUIDED, 30)
    fill(tmp_path / "c", high)
    assert verdicts(tmp_path / "c") == {"guided": DISAGREES, "cheap": AGREES}
    low = dict.fromkeys(GUIDED, 0)
    fill(tmp_path / "d", low)
    assert verdicts(tmp_path / "d") == {"guided": DISAGREES, "cheap": DISAGREES}
    fill(tmp_path / "e", {})
    assert verdicts(tmp_path / "e") == {"guided": OPEN, "cheap": OPEN}
    fill(tmp_path / "f", {("line", "uniform-1", ""): 30})
    assert verdicts(tmp_path / "f")["cheap"] == OPEN  # 2 cases, 4 are needed
    page = (tmp_path / "f/report/claims.md").read_text()
    assert "2 cases, and 4 are needed" in page
    assert "Almost all runs are unsafe." in page


def test_rows_without_results_say_so(tmp_path: Path) -> None:
    fill(tmp_path, {key: value for key, value in GUIDED.items() if key[0] == "line"})
    written = write_report(tmp_path)
    assert ("fuzzing", "ball", "not done yet") in written.missing
    text = (tmp_path / "report/tables/unsafe-runs.md").read_text()
    assert "| ball | not done yet | - | - |" in text


def test_rows_of_which_nothing_counts_say_so_where_asked(tmp_path: Path) -> None:
    counted = 'baseline = "uniform-1"\nwhere = "deterministic"\n'
    for own, line in (("", []), ('empty = "none counts"\n', ["| line | none counts | - | 99 |"])):
        fill(
            tmp_path / str(len(own)),
            GUIDED,
            SMALL.replace('baseline = "uniform-1"\n', counted + own, 1),
        )
        write_report(tmp_path / str(len(own)))
        text = (tmp_path / str(len(own)) / "report/tables/unsafe-runs.md").read_text()
        assert [one for one in text.splitlines() if one.startswith("| line ")] == line


def test_where_a_claim_fails_is_told_in_figures(tmp_path: Path) -> None:
    shown = 'shown = { "by chance" = "sum(unsafe, configuration == \'uniform-1\')" }\n[[claims]]'
    text = (
        SMALL.replace("[[claims]]", "@", 1)
        .replace("[[claims]]", shown, 1)
        .replace("@", "[[claims]]")
    )
    fill(tmp_path, {**GUIDED, ("ball", "greedy-inf", ""): 4}, text)
    (guided, _) = write_report(tmp_path).claims
    assert guided.verdict == DISAGREES
    assert "Not so in ball (by chance 8)." in guided.why
    # A claim that asks for few domains is told against by those for which it is so.
    few = text.replace('agrees = "== 1"', 'agrees = "<= 0.2"', 1)
    assert few != text
    fill(tmp_path / "few", {**GUIDED, ("ball", "greedy-inf", ""): 4}, few)
    (guided, _) = write_report(tmp_path / "few").claims
    assert guided.verdict == DISAGREES
    assert " So in line (by chance 4)." in guided.why


def test_a_missing_model_is_named_in_its_row(tmp_path: Path) -> None:
    text = SMALL.replace('model = "bouncing-ball"', 'model = "nowhere.jani"')
    run_experiment(definition(text), tmp_path, seeds=1)
    write_report(tmp_path)
    table = (tmp_path / "report/tables/unsafe-runs.md").read_text()
    assert "nowhere.jani: no such file" in table
    assert "| line | " in table


def test_names_of_others_are_no_markup(tmp_path: Path) -> None:
    text = SMALL.replace('name = "ball"', 'name = "ball|<b>\\u001b[31m"')
    own = {("ball|<b>\x1b[31m", c, s): v for (r, c, s), v in GUIDED.items() if r == "ball"}
    fill(tmp_path, own, text)
    for path in write_report(tmp_path).files:
        content = path.read_text()
        assert "\x1b" not in content
        if path.suffix == ".md":
            assert "ball|" not in content
        if path.suffix == ".svg":
            assert "<b>" not in content


def test_links_in_the_folder_are_not_followed(tmp_path: Path) -> None:
    fill(tmp_path / "out", GUIDED)
    precious = tmp_path / "precious.md"
    precious.write_text("mine")
    (tmp_path / "out/report").mkdir()
    (tmp_path / "out/report/claims.md").symlink_to(precious)
    write_report(tmp_path / "out")
    assert precious.read_text() == "mine"
    assert not (tmp_path / "out/report/claims.md").is_symlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    fill(tmp_path / "other", GUIDED)
    (tmp_path / "other/report").symlink_to(elsewhere)
    with pytest.raises(InputFileError, match="symbolic link"):
        write_report(tmp_path / "other")
    assert list(elsewhere.iterdir()) == []


def test_a_result_that_somebody_has_changed_is_told(tmp_path: Path) -> None:
    fill(tmp_path, GUIDED)
    with closing(sqlite3.connect(tmp_path / NAME)) as connection, connection:
        connection.execute("UPDATE results SET result = '[1]'")
    with pytest.raises(InputFormatError, match="not what Misstep stores"):
        write_report(tmp_path)
    with closing(sqlite3.connect(tmp_path / NAME)) as connection, connection:
        connection.execute("UPDATE results SET result = '{}'")
    with pytest.raises(InputFormatError, match="not what its kind stores"):
        write_report(tmp_path)
    with closing(sqlite3.connect(tmp_path / NAME)) as connection, connection:
        connection.execute("UPDATE results SET result = '{'")
    with pytest.raises(InputFormatError, match="damaged"):
        write_report(tmp_path)
    with closing(sqlite3.connect(tmp_path / NAME)) as connection, connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema'")
    with pytest.raises(InputFormatError, match="another folder"):
        write_report(tmp_path)


def test_results_as_a_part_of_a_page(tmp_path: Path) -> None:
    fill(tmp_path / "out", GUIDED)
    page = tmp_path / "page.md"
    page.write_text(
        "# Mine\n<!-- experiment tiny -->\nstale\n<!-- end of experiment tiny -->\nrest\n"
    )
    written = write_page(tmp_path / "out", page)
    text = page.read_text()
    assert text.startswith("# Mine\n<!-- experiment tiny -->\nScale ")
    assert text.endswith("<!-- end of experiment tiny -->\nrest\n")
    assert "stale" not in text
    assert "| line | 2 +- 1.41 | 28 +- 0 | 99 |" in text
    assert f"| {AGREES} |" in text
    assert "Where the numbers do not agree, or do not decide:" in text
    assert "![Unsafe runs](images/tiny-bars.svg)" in text
    assert (tmp_path / "images/tiny-bars.svg") in written
    write_page(tmp_path / "out", page)
    assert page.read_text() == text  # written again, it is the same


def test_a_page_that_is_not_there_is_begun(tmp_path: Path) -> None:
    fill(tmp_path / "out", GUIDED)
    page = tmp_path / "page.md"
    write_page(tmp_path / "out", page)
    text = page.read_text()
    assert text.startswith("# ")
    assert "\n<!-- experiment tiny -->\nScale " in text
    write_page(tmp_path / "out", page)
    assert page.read_text() == text


def test_a_page_needs_a_place_for_the_experiment(tmp_path: Path) -> None:
    fill(tmp_path / "out", GUIDED)
    page = tmp_path / "page.md"
    page.write_bytes(b"\xff")
    with pytest.raises(InputFileError, match="cannot read the page"):
        write_page(tmp_path / "out", page)
    for text in ("nothing\n", "<!-- end of experiment tiny -->\n<!-- experiment tiny -->\n"):
        page.write_text(text)
        with pytest.raises(InputFileError, match="no place for the experiment tiny"):
            write_page(tmp_path / "out", page)
        assert page.read_text() == text
