"""Tables as CSV, JSON and LaTeX are complete, can be read again, and are harmless whatever the names are."""

from __future__ import annotations

import csv
import errno
import io
import json
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

import misstep
from misstep.campaigns.metrics import bugs_over_time
from misstep.errors import InputFileError, UsageError
from misstep.reports.exports.files import new_file
from misstep.reports.exports.json_file import write_json
from misstep.reports.exports.latex import escaped, latex_text
from misstep.reports.exports.spreadsheet import guarded, write_csv
from misstep.reports.exports.tables import TABLES, Table, sources, table
from misstep.tasks.generate import generate
from support.exports import model_campaign, planning_campaign

HOSTILE = (
    *("<script>alert(1)</script>", '"quoted"', "it's", "two\nlines", "=cmd()", "+1", "-1", "@x"),
    *("\t=1", " =1", "a & b % c $ d # e _ f { g } h ~ i ^ j \\ k", "x" * 10_000, "\x1b[31m"),
    *("\u202eright", "τ", "\ud800", "", "--", "``ligatures''", "<<>>", "?`!`", "\uff1dwide"),
)


def rows_of(name: str, *campaigns: misstep.Campaign) -> list[dict[str, str]]:
    file = io.StringIO()
    own = table(name, sources(campaigns))
    count = write_csv(own, file)
    rows = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert len(rows) == count
    return rows


def test_records_are_one_row_each() -> None:
    campaign = planning_campaign()
    rows = rows_of("records", campaign)
    assert [row["id"] for row in rows] == [record.id for record in campaign.records]
    for row, record in zip(rows, campaign.records, strict=True):
        assert row["verdict"] == record.verdict
        assert row["state"] == ", ".join(record.facts)
        assert row["cost"] == str(record.run.cost)
    assert set(rows[0]) == {"campaign", *campaign.to_rows()[0]}


def test_the_summary_and_the_metrics_are_those_of_the_campaign() -> None:
    campaign = planning_campaign()
    summary, metrics = campaign.summary, campaign.metrics(regions=True)
    *tasks, total = rows_of("summary", campaign)
    assert [row["task"] for row in tasks] == list(summary.by_task)
    assert total["bugs"] == str(summary.bugs["total"])
    *own, everything = rows_of("metrics", campaign)
    assert [row["task"] for row in own] == list(metrics["tasks"])
    for row in own:
        found = metrics["tasks"][row["task"]]
        assert row["bugs"] == str(found["sets"]["bugs"])
        assert row["regions"] == str(len(found["regions"]))
        assert row["largest_region"] == str(max(found["regions"]))
        assert float(row["unique_pairs"]) == pytest.approx(found["unique_pairs"], abs=1e-6)
    assert float(everything["coverage"]) == pytest.approx(metrics["coverage"], abs=1e-6)
    # One task needs no sum.
    assert len(rows_of("metrics", model_campaign())) == 1


def test_oracles_coverage_severity_and_curves() -> None:
    small = misstep.test(generate("gripper", balls=2), "noisy:0.4:1+heuristic:ff", pool=8, seed=1)
    small.judge("lookahead(2)")
    recall = {row["oracle"]: row["recall"] for row in rows_of("oracles", small)}
    assert set(recall) == set(small.summary.oracles)
    assert len(recall) == 2
    larger = misstep.test(generate("gripper", balls=2), "noisy:0.4:1+heuristic:ff", pool=12, seed=1)
    first, second = rows_of("coverage", small, larger)
    assert first["states"] == second["states"] == "8"
    assert float(first["coverage"]) == int(first["bugs"]) / 8
    bins = [row for row in rows_of("severity", small) if row["scale"] == "absolute gap"]
    assert sum(int(row["bugs"]) for row in bins) == len(small.bugs)
    radii = rows_of("severity", model_campaign())
    assert sum(int(row["bugs"]) for row in radii) == len(model_campaign().bugs)
    curve = rows_of("over-time", small)
    assert {row["oracle"] for row in curve} <= {"all", *recall}
    everything = [int(row["bugs"]) for row in curve if row["oracle"] == "all"]
    assert everything == [count for _, count in bugs_over_time(small.records)]
    assert everything[-1] == len(small.bugs)


def test_no_oracle_is_ahead_of_all_of_them_together() -> None:
    """A later oracle may prove more of a bug; it was known before all the same."""
    campaign = misstep.test(
        generate("gripper", balls=2), "noisy:0.4:1+heuristic:ff", pool=8, seed=1
    )
    campaign.judge("lookahead(2)")
    (source,) = sources([campaign])
    everything = source.over_time()
    for oracle in source.oracles:
        for seconds, count in source.over_time(oracle):
            assert max((n for time, n in everything if time <= seconds), default=0) >= count


def test_an_empty_campaign_makes_tables_with_titles_only() -> None:
    none = misstep.test(generate("gripper", balls=1), "optimal", pool=1, seed=1)
    for name in TABLES:
        rows_of(name, none)
    assert rows_of("over-time", none) == []
    text, rows = latex_text(table("over-time", sources([none])))
    assert rows == 0
    assert r"\begin{tabular}" in text


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_no_cell_is_a_formula_or_a_command(name: str) -> None:
    cell = guarded(name)
    assert isinstance(cell, str)
    assert cell.lstrip()[:1] not in set("=+-@\t\r\uff1d")
    assert cell.isprintable()
    if not name.strip().startswith(tuple("=+-@\uff1d")) and name.isprintable():
        assert cell == name


def test_numbers_stay_numbers() -> None:
    assert guarded(-3) == -3
    assert guarded(None) is None
    assert guarded(0.1234567891) == 0.123457


def test_cells_come_back_from_csv(tmp_path: Path) -> None:
    own = Table("records", "x", ("name",), iter([(name,) for name in HOSTILE]))
    path = tmp_path / "odd.csv"
    with new_file(path, force=False) as file:
        assert write_csv(own, file) == len(HOSTILE)
    with path.open(newline="", encoding="utf-8") as read:
        rows = list(csv.reader(read))
    assert [row[0] if row else "" for row in rows[1:]] == [guarded(name) for name in HOSTILE]


def test_json_has_all_tables_of_all_campaigns() -> None:
    file = io.StringIO()
    count = write_json(sources([planning_campaign(), model_campaign()], ["a", "b"]), file)
    found = json.loads(file.getvalue())
    assert (found["format"], found["version"]) == ("misstep-export", 1)
    assert [own["label"] for own in found["campaigns"]] == ["a", "b"]
    assert list(found["tables"]) == list(TABLES)
    assert sum(map(len, found["tables"].values())) == count
    ids = [row["id"] for row in found["tables"]["records"] if row["campaign"] == "b"]
    assert ids == [record.id for record in model_campaign().records]
    with pytest.raises(UsageError, match=r"no table 'metric'.*did you mean"):
        table("metric", [])


def test_labels_tell_campaigns_apart(tmp_path: Path) -> None:
    campaign = planning_campaign()
    folders = [tmp_path / "old" / "found", tmp_path / "new" / "found"]
    for folder in folders:
        folder.parent.mkdir()
    saved = [campaign.save(folder) for folder in folders]
    assert [own.label for own in sources(saved)] == ["old/found", "new/found"]
    assert [own.label for own in sources([saved[0], campaign])] == ["found", "campaign 2"]
    assert len({own.label for own in sources([saved[0], saved[0]])}) == 2
    with pytest.raises(UsageError, match="1 labels for 2 campaigns"):
        sources(saved, ["one"])


def test_a_file_that_exists_is_kept_and_a_failure_leaves_none(tmp_path: Path) -> None:
    path = tmp_path / "there.csv"
    path.write_text("mine")
    with pytest.raises(InputFileError, match="the file exists"), new_file(path, force=False):
        pass
    with suppress(ZeroDivisionError), new_file(path, force=True) as file:
        file.write("half of it")
        raise ZeroDivisionError
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]
    with new_file(path, force=True) as file:
        file.write("new")
    assert path.read_text() == "new"


# -- LaTeX --------------------------------------------------------------------------------------------

GROUPS = re.compile(r"\\(begin|end)\{(\w+)\}")


def check_structure(text: str) -> None:
    """Environments and braces are closed, and each row has as many cells as there are columns."""
    open_ones: list[str] = []
    for what, name in GROUPS.findall(text):
        if what == "begin":
            open_ones.append(name)
        else:
            assert open_ones.pop() == name
    assert not open_ones
    depth = 0
    for brace in re.findall(r"(?<!\\)(?:\\\\)*([{}])", text):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    (form,) = re.findall(r"\\begin\{(?:tabular|longtable)\}\{([lr]+)\}", text)
    rows = [line for line in text.splitlines() if line.endswith(r" \\")]
    for row in rows:
        assert len(re.findall(r"(?<!\\)&", row)) == len(form) - 1


def latex_tables() -> dict[str, str]:
    given = sources([planning_campaign(), model_campaign()], ["a_b & c", "=cmd() \\ <x> τ"])
    made = {name: latex_text(table(name, given))[0] for name in TABLES}
    odd = Table("odd", "Names & such", ("a_b", "n"), iter([(name, 1.5) for name in HOSTILE]))
    made["odd"] = latex_text(odd)[0]
    many = Table("many", "Many", ("a", "n"), iter([("x_y", k) for k in range(100)]))
    made["many"] = latex_text(many)[0]
    return made


@pytest.mark.parametrize("name", [*TABLES, "odd", "many"])
def test_a_latex_table_is_whole(name: str) -> None:
    text = latex_tables()[name]
    assert text.isascii()
    check_structure(text)


def test_latex_names_are_escaped() -> None:
    assert escaped("a_b & 50% $x$ #1 {y} ~ ^ \\") == (
        r"a\_b \& 50\% \$x\$ \#1 \{y\} \textasciitilde{} \textasciicircum{} \textbackslash{}"
    )
    assert escaped("τ") == r"\textless{}U+03C4\textgreater{}"
    assert "(10,000 characters)" in escaped("x" * 10_000)


def test_the_table_alone_and_with_booktabs() -> None:
    given = sources([planning_campaign()])
    text, _ = latex_text(table("metrics", given), fragment=True, booktabs=True)
    assert "documentclass" not in text
    assert r"\toprule" in text
    assert r"\hline" not in text
    check_structure(text)
    assert "campaign" not in text  # there is only one


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles_what_is_written(tmp_path: Path) -> None:
    """All tables in one document: a start of LaTeX takes longer than a table."""
    texts = latex_tables()
    head, _, _ = texts["odd"].partition(r"\begin{document}")
    bodies = [
        text.partition(r"\begin{document}")[2].partition(r"\end{document}")[0]
        for text in texts.values()
    ]
    whole = head + r"\begin{document}" + "\n".join(bodies) + r"\end{document}" + "\n"
    (tmp_path / "all.tex").write_text(whole)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=tmp_path,
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:].decode(errors="replace")
    assert (tmp_path / "all.pdf").read_bytes().startswith(b"%PDF")


def test_a_read_only_disk_is_told_of_the_file_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "read-only", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    with (
        pytest.raises(InputFileError, match="the disk is read-only") as told,
        new_file(tmp_path / "x.csv", force=False),
    ):
        pass
    assert told.value.where == str(tmp_path / "x.csv")
