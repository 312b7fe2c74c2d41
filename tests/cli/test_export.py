"""The verbs of `misstep export`: what they write, what they say, and how they refuse."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import misstep as package
from misstep.campaigns.store import open_store
from misstep.cli.verbs import EXPORT_VERBS
from misstep.errors import UsageError
from misstep.reports.exports.api import WHAT
from misstep.reports.exports.cases import DATA_NAME, MODULE_NAME
from support.commands import misstep, result_of
from support.exports import model_campaign, planning_campaign


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A campaign on tasks and one on a model."""
    root = tmp_path_factory.mktemp("campaigns")
    for name, campaign in (("tasks", planning_campaign()), ("models", model_campaign())):
        campaign.save(root / name).close()
    return root / "tasks", root / "models"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_verb_can_be_called_from_python() -> None:
    assert set(WHAT) == set(EXPORT_VERBS)


def test_tests(folders: tuple[Path, Path], place: Path) -> None:
    tasks, models = folders
    first = result_of("export", "tests", tasks)
    assert len(first["added"]) == len(planning_campaign().bugs)
    assert str(Path("tests") / MODULE_NAME) in first["written"]
    again = misstep("export", "tests", tasks)
    assert again.returncode == 0
    assert again.stdout.endswith("nothing had to be written\n")
    one = planning_campaign().bugs[0].id
    assert len(result_of("export", "tests", tasks, one, "-o", "one")["added"]) == 1
    assert len(result_of("export", "tests", models, "-o", "one")["added"]) > 1
    (place / "one" / DATA_NAME).write_text("{}")
    failed = misstep("export", "tests", tasks, "-o", "one")
    assert failed.returncode == 31
    assert len(failed.stderr.splitlines()) == 1


def test_problem_plan_and_model(folders: tuple[Path, Path], place: Path) -> None:
    tasks, models = folders
    bug = planning_campaign().bugs[0]
    names = f"{bug.task}-{bug.number}"
    done = result_of("export", "problem", tasks, bug.id)
    assert done["written"] == [f"{names}/problem.pddl", f"{names}/domain.pddl"]
    plan = misstep("export", "plan", tasks, bug.id).stdout
    steps = [line for line in plan.splitlines() if line.startswith("(")]
    assert steps == [f"({name})" for name in bug.witness.names or ()]
    assert f"; cost = {bug.witness.cost} (unit cost)" in plan
    assert result_of("export", "plan", tasks, bug.id) == {"plan": plan}
    run = result_of("export", "plan", tasks, bug.id, "--policy-run", "-o", "run.plan")
    assert run == {"written": ["run.plan"]}
    own = model_campaign().bugs[0]
    written = result_of("export", "model", models, own.id)
    assert written["options"] == {}
    assert (place / written["written"][0]).is_file()
    for verb, folder, id, word in (
        ("problem", models, own.id, "export model"),
        ("model", tasks, bug.id, "export problem"),
        ("plan", models, own.id, "misstep explain"),
    ):
        failed = misstep("export", verb, folder, id)
        assert failed.returncode == 32
        assert word in failed.stderr


def test_unknown_ids_and_folders(folders: tuple[Path, Path], place: Path) -> None:
    for verb in ("problem", "plan", "tests"):
        failed = misstep("export", verb, folders[0], "nowhere:99")
        assert failed.returncode == 2
        assert "no record 'nowhere:99'" in failed.stderr
        missing = misstep("export", verb, "nowhere", "x:1")
        assert missing.returncode == 30
    assert misstep("export", "csv", "nowhere").returncode == 30
    assert list(place.iterdir()) == []


@pytest.mark.usefixtures("place")
def test_tables(folders: tuple[Path, Path]) -> None:
    tasks, models = folders
    records = list(csv.DictReader(io.StringIO(misstep("export", "csv", tasks, models).stdout)))
    assert len(records) == len(planning_campaign()) + len(model_campaign())
    done = result_of("export", "csv", tasks, "--table", "metrics", "-o", "m.csv")
    assert done == {"written": ["m.csv"], "rows": 3}
    failed = misstep("export", "csv", tasks, "--table", "metrics", "-o", "m.csv")
    assert failed.returncode == 30
    assert "--force" in failed.stderr
    assert misstep("export", "csv", tasks, "-o", "m.csv", "--force").returncode == 0
    assert misstep("export", "csv", tasks, "--json").returncode == 2
    assert "no table 'odd'" in misstep("export", "csv", tasks, "--table", "odd").stderr
    tables = json.loads(misstep("export", "json", tasks, "--table", "summary").stdout)["tables"]
    assert list(tables) == ["summary"]
    assert r"\begin{tabular}" in misstep("export", "latex", tasks, models).stdout
    bare = misstep("export", "latex", tasks, "--fragment", "--booktabs").stdout
    assert bare.startswith(r"\noindent")
    assert r"\toprule" in bare


def test_figures(folders: tuple[Path, Path], place: Path) -> None:
    tasks, models = folders
    assert result_of("export", "figure", tasks, "over-time") == {"written": ["over-time.svg"]}
    done = result_of("export", "figure", tasks, models, "over-time", "-o", "both.pdf")
    assert done == {"written": ["both.pdf"]}
    assert (place / "both.pdf").read_bytes().startswith(b"%PDF")
    for arguments, code, word in (
        ([tasks, "odd"], 2, "no figure 'odd'"),
        ([tasks], 2, "a folder and a figure are needed"),
        ([tasks, "depth", "-o", "x.png"], 2, "neither SVG nor PDF"),
        ([tasks, models, "severity"], 2, "do not go into one figure"),
    ):
        failed = misstep("export", "figure", *arguments)
        assert failed.returncode == code
        assert word in failed.stderr


def test_a_campaign_that_is_not_finished_is_exported_and_said_to_be(
    folders: tuple[Path, Path], place: Path
) -> None:
    package.open_campaign(folders[0]).save(place / "half").close()
    with open_store(place / "half") as store:
        store.set_meta("finished", "0")
    done = misstep("export", "csv", "half", "-o", "half.csv")
    assert done.returncode == 0
    assert (
        "the campaign is not finished; only what it has found so far can be exported" in done.stderr
    )


def test_no_bugs(place: Path) -> None:
    none = package.test(package.generate("gripper", balls=1), "optimal", pool=2)
    none.save(place / "none").close()
    assert "no bugs" in misstep("export", "tests", "none").stdout
    empty = misstep("export", "csv", "none", "--table", "over-time")
    assert empty.stdout == "campaign,oracle,seconds,bugs\n"
    assert "the table is empty" in empty.stderr
    assert misstep("export", "figure", "none", "severity").returncode == 0


def test_python_exports_what_the_commands_export(folders: tuple[Path, Path], place: Path) -> None:
    with package.open_campaign(folders[0]) as campaign:
        bug = campaign.bugs[0]
        assert len(campaign.export("tests", "tests", bugs=[bug])) == 4
        campaign.export("problem", "bug/problem.pddl", bug=bug)
        campaign.export("plan", "bug/plan", bug=bug.id, policy_run=True)
        campaign.export("csv", "a.csv")
        campaign.export("json", "a.json", tables=["metrics"])
        campaign.export("latex", "a.tex", table="summary", booktabs=True)
        campaign.export("figure", "a.pdf", figure="depth", others=[campaign])
        for what, options, word in (
            ("odd", {}, "cannot be exported"),
            ("csv", {"odd": 1}, "not an option of the export 'csv'"),
            ("plan", {}, "needs a record"),
        ):
            with pytest.raises(UsageError, match=word):
                campaign.export(what, place / "x", **options)
    assert (place / "a.csv").read_text() == misstep("export", "csv", folders[0]).stdout
    assert {path.name for path in place.iterdir()} == {
        *("tests", "bug", "a.csv", "a.json", "a.tex", "a.pdf")
    }


def test_baseline(folders: tuple[Path, Path], place: Path) -> None:
    done = result_of("export", "baseline", folders[0], "-o", "baseline.json")
    assert done == {"written": ["baseline.json"]}
    assert (place / "baseline.json").stat().st_size > 0
    assert result_of("export", "baseline", folders[0], "-o", "baseline.json") == done
    (place / "mine.py").write_text("def policy(state): ...")
    refused = misstep("export", "baseline", folders[0], "-o", "mine.py")
    assert refused.returncode == 2
    assert "this file is not a baseline, so it is not overwritten" in refused.stderr
    assert (place / "mine.py").read_text() == "def policy(state): ..."
