"""The HTML report as a file: its contents, what it refuses to overwrite, and its words. No browser is needed."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import zlib
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import misstep
from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.campaigns.store import Store, create_store
from misstep.campaigns.summary import Summary
from misstep.comparison.changes import change_of
from misstep.errors import InputFileError, UnsupportedError, UsageError
from misstep.reports.html import overview, page, sentences
from misstep.reports.html.chunks import Chunks
from misstep.reports.html.write import make_report, write_report
from support.campaigns import CONFIG, fill
from support.commands import misstep as misstep_command
from support.made_up import hostile_task, large_campaign, one_bug

PIECE = re.compile(rb'<script type="application/octet-stream" id="([^"]+)">([^<]*)</script>')


def pieces(content: bytes) -> dict[str, bytes]:
    return {
        name.decode(): zlib.decompress(base64.b64decode(packed))
        for name, packed in PIECE.findall(content)
    }


def head(content: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(pieces(content)["head"])
    return found


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    task = misstep.load_task(misstep.generate("gripper", balls=2))
    return misstep.test(
        task, "noisy:0.3:1+heuristic:ff", pool=12, out=tmp_path_factory.mktemp("c") / "found"
    )


def test_the_page_holds_all_records(campaign: Campaign) -> None:
    content = make_report([campaign])
    found, own = pieces(content), head(content)["campaigns"][0]
    assert own["rows"] == len(campaign.records)
    words = own["columns"]["verdict"]["words"]
    verdicts = [words[place] for place in found["c0.verdict"]]
    assert verdicts == [record.verdict for record in campaign.records]
    low = np.frombuffer(found["c0.low"], dtype="<f8").tolist()
    for value, record in zip(low, campaign.records, strict=True):
        gap = (record.gap or (0, 0))[0]
        assert (
            math.isnan(value) if not record.is_bug else value == (math.inf if gap is None else gap)
        )
    rows = [
        row
        for block in range(len(own["blocks"]))
        for row in json.loads(found[f"late.c0.rows{block}"])
    ]
    assert [tuple(row["run"]) for row in rows] == [r.run.operators for r in campaign.records]
    block = own["blocks"][0]
    matrix = np.frombuffer(found["late.c0.states0"], dtype=np.uint8).reshape(-1, block["count"])
    assert [tuple(column) for column in matrix.T.tolist()] == [r.state for r in campaign.records]


def test_the_worst_bug_is_the_one_that_the_terminal_names(campaign: Campaign) -> None:
    own = json.loads(pieces(make_report([campaign]))["head"])["campaigns"][0]
    assert own["worst"] == campaign.summary.worst
    assert own["worst"]["id"] in {bug.id for bug in campaign.bugs}


def test_the_task_in_the_page_does_what_the_task_does(campaign: Campaign) -> None:
    content = json.loads(pieces(make_report([campaign]))["late.c0.task0"])
    task = campaign.tasks[0]
    assert isinstance(task, misstep.Task)
    for number, (name, cost, effects) in content["operators"].items():
        assert (name, cost) == (task.operator_name(int(number)), task.cost(int(number)))
        assert [value for _, _, value in effects] == [own[2] for own in task.effects(int(number))]


def test_only_its_own_script_and_style_may_run(campaign: Campaign) -> None:
    text = make_report([campaign]).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe" not in policy[1]
    assert "http" not in policy[1]
    for kind, pattern in (
        ("script", r"<script>(.*?)</script>"),
        ("style", r"<style>(.*?)</style>"),
    ):
        blocks = re.findall(pattern, text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(blocks[0].encode()).digest()).decode()
        assert len(blocks) == 1
        assert f"{kind}-src 'sha256-{digest}'" in policy[1]


def test_the_script_makes_no_markup_of_text_and_asks_nobody() -> None:
    folder = Path(page.__file__).parent / "page"
    for file in folder.glob("*.js"):
        script = file.read_text()
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert word not in script, file.name
        for word in ("fetch(", "XMLHttpRequest", "WebSocket", "import("):
            assert word not in script, file.name


def test_every_file_of_the_page_is_used() -> None:
    folder = Path(page.__file__).parent / "page"
    used = {f"{name}.css" for name in page.STYLES} | {f"{name}.js" for name in page.SCRIPTS}
    assert {file.name for file in folder.iterdir()} == used | {"body.html"}
    assert all(len(file.read_text().splitlines()) < 500 for file in folder.iterdir())


def test_no_name_ends_a_block_or_reaches_the_markup(tmp_path: Path) -> None:
    name = "</script><b>"
    folder = one_bug(tmp_path / "c", hostile_task(name), policy="</title><script>alert(1)</script>")
    content = make_report([open_campaign(folder)], labels=["<b>label</b>"])
    assert content.count(b"<b>") == 0
    assert b"<script>alert" not in content
    assert head(content)["campaigns"][0]["tasks"][0][0] == name


# -- files ----------------------------------------------------------------------------------------


def test_only_reports_are_overwritten(campaign: Campaign, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    campaign.report(file)
    campaign.report(file)
    other = tmp_path / "thesis.html"
    other.write_text("<!doctype html> years of work")
    with pytest.raises(UsageError, match="not a report of Misstep"):
        campaign.report(other)
    assert other.read_text().endswith("years of work")
    campaign.report(other, force=True)
    assert other.read_bytes().startswith(page.MARK)
    with pytest.raises(InputFileError, match="this is a folder"):
        campaign.report(tmp_path)
    with pytest.raises(InputFileError):
        campaign.report(tmp_path / "nowhere" / "report.html")


def test_a_moved_folder_is_reported_on_where_it_is(campaign: Campaign, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    campaign.save(moved)
    own = head(make_report([open_campaign(moved)]))["campaigns"][0]
    assert own["folder"] == str(moved)
    assert all(str(moved) in command for command in own["commands"])


def test_an_older_schema_is_refused_by_name(campaign: Campaign, tmp_path: Path) -> None:
    import sqlite3

    campaign.save(tmp_path / "old")
    with sqlite3.connect(tmp_path / "old" / "run.db") as database:
        database.execute("UPDATE meta SET value = '3' WHERE key = 'schema'")
    database.close()
    with pytest.raises(UnsupportedError, match="schema 3"):
        open_campaign(tmp_path / "old")


def test_the_command(campaign: Campaign, tmp_path: Path) -> None:
    file, folder = str(tmp_path / "r.html"), str(campaign.folder)
    done = misstep_command("report", folder, folder, "-o", file, "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told == {"file": file, "bytes": Path(file).stat().st_size, "campaigns": 2}
    assert [own["label"] for own in head(Path(file).read_bytes())["campaigns"]] == [
        "found",
        "found (2)",
    ]
    wrong = misstep_command("report", folder, "-o", file, "--label", "a", "--label", "b")
    assert (wrong.returncode, "--label" in wrong.stderr) == (2, True)
    assert misstep_command("report", str(tmp_path / "nowhere")).returncode == 30


def test_open_starts_the_browser(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import webbrowser

    asked: list[str] = []

    def refuse(url: str) -> bool:
        asked.append(url)
        return False

    monkeypatch.setattr(webbrowser, "open", refuse)
    file = tmp_path / "r.html"
    done = misstep_command("report", str(campaign.folder), "-o", str(file), "--open")
    assert done.returncode == 0
    assert asked == [file.as_uri()]
    assert "no browser could be started" in done.stderr


# -- numbers and words ----------------------------------------------------------------------------


def summary(**given: Any) -> Summary:
    kinds = dict.fromkeys(("total", *sentences.DOES), 0) | given.pop("bugs", {})
    return Summary(None, "planning", "p", ["o"], given.pop("finished", True), bugs=kinds, **given)


def test_the_verdict_in_one_sentence() -> None:
    assert "Nothing was tested" in sentences.verdict(summary())
    one = sentences.verdict(summary(tested=200, bugs={"total": 1, "costly": 1}))
    assert one == (
        "In 1 of 200 tested states (below 1%) the policy reaches the goal at a higher cost than needed."
    )
    two = sentences.verdict(summary(tested=1000, bugs={"total": 999, "fails": 990, "costly": 9}))
    assert "999 of 1,000 tested states (above 99%): in 990 it does not reach the goal" in two
    assert "all 7 tested states are proven" in sentences.verdict(summary(tested=7, optimal=7))
    open_ = sentences.verdict(summary(tested=10, optimal=4, unsolvable=1, unknown=5))
    assert "5 of them (50%) are proven to be no bugs, the others are undecided" in open_


def test_a_policy_of_a_model_that_stays_safe_was_tested() -> None:
    """There is no state to judge then, but that is a good sign and not the absence of one."""
    safe = replace(summary(runs=20, crashes=1), world="model")
    assert sentences.verdict(safe).startswith("No bug was found: no run among 19 runs was unsafe")
    nothing = "Nothing was tested, so nothing is known about this policy."
    assert sentences.verdict(replace(safe, crashes=20)) == nothing
    assert sentences.verdict(replace(safe, outcomes={"unsafe": 1})) == nothing


def test_why_there_are_no_verdicts_is_told_as_it_is() -> None:
    declared = sentences.notes(summary(states=2, tested=1, flaky=1))
    assert declared == [
        "1 state that was found is not judged.",
        "1 state is FLAKY, without a verdict: the policy declares that it is not deterministic.",
    ]
    (own,) = sentences.notes(summary(states=2, tested=2, flaky=2, contradictions=1))
    assert own == "2 states are FLAKY, without a verdict: the policy contradicts itself."


def test_what_keeps_numbers_from_being_the_truth_is_said() -> None:
    told = sentences.notes(
        summary(finished=False, limit="time", states=9, tested=4, flaky=2, crashes=1, timeouts=1)
    )
    assert "not finished because of its limit on time" in told[0]
    assert "5 states that were found are not judged" in told[1]
    assert len(told) == 5


def test_a_histogram_counts_everything_once() -> None:
    values = np.array([0, 1, 1, 57, math.inf, math.nan, 100])
    classes = np.array([0, 1, 2, 0, 1, 2, 0])
    found = overview.histogram(values, classes)
    bars = found["bars"]
    assert len(bars) <= overview.BARS
    assert sum(sum(bar[2:]) for bar in bars) == 5
    assert (bars[0][0], bars[-1][1]) == (0, 100)
    assert all(a[1] + 1 == b[0] for a, b in pairwise(bars))
    assert (found["infinite"], found["unknown"]) == ([0, 1, 0], [0, 0, 1])
    assert overview.histogram(np.array([]), np.array([]))["bars"] == []


def test_a_curve_is_thinned_and_ends_right() -> None:
    times = [float(k) for k in range(1001)]
    points = overview.curve(times[::-1])
    assert len(points) <= overview.POINTS + 1
    assert points[-1] == [1000.0, 1001]
    assert overview.curve([]) == []
    assert overview.curve([2.0]) == [[2.0, 1]]


def test_a_pair_of_campaigns_is_joined_by_states(campaign: Campaign) -> None:
    other = misstep.test(None, "optimal", pool_from=campaign)
    found = head(make_report([campaign, other]))["comparison"]
    old = {record.state: record for record in campaign.records}
    words = [change_of(old[own.state], own).word for own in other.records if own.state in old]
    pair = found["pairs"][0]
    assert pair["common"] == len(words)
    assert pair["words"] == {word: words.count(word) for word in set(words)}
    assert pair["words"]["fixed"] == len(campaign.bugs)
    assert all("too few tasks" in test["told"] for test in pair["tests"])
    assert ["policy", ["noisy:0.3:1+heuristic:ff", "optimal"]] in found["differ"]
    assert found["remarks"] == []
    went = Counter(bug.family for bug in campaign.bugs if bug.family)
    assert {key: before for key, before, after in pair["families"] if not after} == went
    low, high = found["shares"][0]
    assert low < len(campaign.bugs) / len(campaign) < high


def test_the_curve_of_a_campaign_counts_the_bugs_of_all_oracles() -> None:
    task = misstep.load_task(misstep.generate("transport", packages=2, locations=3))
    campaign = misstep.test(task, "heuristic:ff", pool=20, oracle="undo")
    campaign.judge("astar(evaluations=10)")
    own = head(make_report([campaign]))["campaigns"][0]
    alone = {oracle: points[-1][1] for oracle, points in own["times"].items()}
    assert max(alone.values()) < len(
        campaign.bugs
    )  # each oracle proves some that the other does not
    assert own["found"][-1][1] == len(campaign.bugs)


def test_differences_over_many_tasks_have_an_interval() -> None:
    tasks = [
        misstep.load_task(misstep.generate("gripper", balls=2, scatter=50, seed=k))
        for k in range(6)
    ]
    for k, task in enumerate(tasks):
        task.name = f"g{k}"
    worse = misstep.test(tasks, "random:1", pool=4)
    better = misstep.test(None, "optimal", pool_from=worse)
    pair = head(make_report([worse, better]))["comparison"]["pairs"][0]
    assert [test["measure"] for test in pair["tests"]] == ["bugs", "solved"]
    test = pair["tests"][0]
    value, low, high = test["difference"]
    assert -1 <= low <= value <= high <= 0
    assert 0 < test["p"] <= 1


def test_campaigns_of_two_worlds_are_side_by_side_only(campaign: Campaign) -> None:
    model = misstep.load_task(misstep.generate("one-way-line", cells=5, packages=2, drop=True))
    other = misstep.test(model, "first", runs=10)
    again = misstep.test(model, "random:1", runs=10)
    found = head(make_report([campaign, other, again]))["comparison"]
    assert [(pair["first"], pair["second"]) for pair in found["pairs"]] == [(1, 2)]
    assert "not compared with each other" in found["remarks"][0]
    assert found["shares"][0] is None
    found = head(make_report([campaign, other]))["comparison"]
    assert (found["pairs"], found["differ"]) == ([], [])


def test_campaigns_without_common_states() -> None:
    tasks = [misstep.load_task(misstep.generate("gripper", balls=n)) for n in (1, 2)]
    for number, task in enumerate(tasks):
        task.name = f"g{number}"
    found = head(make_report([misstep.test(task, "random:1", pool=5) for task in tasks]))
    pair = found["comparison"]["pairs"][0]
    assert (pair["common"], pair["words"]) == (0, {})
    assert "No state is common" in found["comparison"]["remarks"][0]


def test_a_name_that_stands_for_two_tasks_is_said() -> None:
    tasks = [misstep.load_task(misstep.generate("gripper", balls=n)) for n in (1, 2)]
    for task in tasks:
        task.name = "same"
    found = head(make_report([misstep.test(task, "random:1", pool=5) for task in tasks]))
    assert found["comparison"]["pairs"] == []
    assert "the task same is not the same" in found["comparison"]["remarks"][0]


def test_versions_of_several_policies_are_counted(campaign: Campaign) -> None:
    from types import SimpleNamespace

    from misstep.reports.html.comparing import _versions

    sides = [("a", "1"), ("a", "2"), ("b", "3"), ("b", "3")]
    made = SimpleNamespace(
        campaigns=[SimpleNamespace(policy=name, digest=digest) for name, digest in sides]
    )
    assert _versions(made) == [["version", ["1", "2", "1", "1"]]]  # type: ignore[arg-type]
    made.campaigns = made.campaigns[2:]
    assert _versions(made) == []  # type: ignore[arg-type]
    twice = head(make_report([campaign, campaign], labels=["x", "x"]))["comparison"]
    assert set(twice["pairs"][0]["words"]) <= {"still", "clean", "undecided"}


def test_families_have_the_rows_of_their_bugs(tmp_path: Path) -> None:
    found = open_campaign(large_campaign(tmp_path / "c", 60, tasks=2))
    content = make_report([found])
    own = head(content)["campaigns"][0]
    rows = np.frombuffer(pieces(content)["c0.families"], dtype="<u4")
    records = found.records
    assert own["families"]
    for family in own["families"]:
        inside = rows[family["first"] : family["first"] + family["count"]]
        assert len(inside) == family["count"]
        assert all(records[row].is_bug for row in inside)
        assert records[family["example"]].is_bug


def test_two_pieces_of_one_name_are_a_mistake_of_ours() -> None:
    chunks = Chunks()
    chunks.add("a", b"")
    with pytest.raises(ValueError, match="two pieces"):
        chunks.add("a", b"")
    with pytest.raises(ValueError, match="no typed array"):
        chunks.add_array("b", np.array([1 + 2j]))
    with pytest.raises(ValueError, match="JSON"):
        chunks.add_json("c", math.inf)


def test_no_campaign_is_no_report(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no campaign"):
        write_report([], tmp_path / "r.html")


def test_shrunk_bugs_are_read_from_beside_the_campaign(campaign: Campaign, tmp_path: Path) -> None:
    saved = campaign.save(tmp_path / "c")
    bug, other = saved.bugs[0], saved.bugs[1]
    small = saved.shrink(bug, candidates=40)
    content = make_report([saved])
    assert head(content)["campaigns"][0]["shrunk"] == [bug.id]
    found = json.loads(pieces(content)["late.c0.shrunk"])
    assert list(found) == [bug.id]
    told = found[bug.id]
    assert ["objects", small.objects_before, small.objects_after] in told["sizes"]
    assert told["problem"] == small.problem_text
    assert told["plan"] == list(small.record.witness.names or ())
    assert told["picture"].startswith("<svg")
    assert told["folder"] == str(small.campaign.folder)
    assert other.id not in found


def test_families_of_very_many_bugs_are_told_by_their_signature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from misstep.reports.html import families

    monkeypatch.setattr(families, "MOST_BUGS", 10)
    found = open_campaign(large_campaign(tmp_path / "c", 60, tasks=1))
    told = head(make_report([found]))["campaigns"][0]["families"]
    assert told
    assert {own["signature"] for own in told} == {bug.family for bug in found.bugs if bug.family}
    assert all("this many bugs" in own["measured"] for own in told)


def test_a_campaign_is_reported_on_while_it_is_written(tmp_path: Path) -> None:
    with create_store(tmp_path / "c", CONFIG) as store:
        fill(store, 40, 30)
        own = head(make_report([open_campaign(tmp_path / "c")]))["campaigns"][0]
    assert (own["rows"], own["finished"]) == (30, False)
    assert "not finished" in own["notes"][0]
    assert "10 states that were found are not judged" in own["notes"][1]


def test_a_campaign_is_decoded_once(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    stream = Store.stream

    def watched(self: Store, query: str, *parameters: object) -> Any:
        if "BETWEEN" not in query:  # the worst bug is read alone
            read.extend(word for word in ("FROM runs", "FROM verdicts") if word in query)
        return stream(self, query, *parameters)

    monkeypatch.setattr(Store, "stream", watched)
    with campaign.reading_once():
        assert campaign.summary.tested == sum(1 for _ in campaign.iter_records())
    assert sorted(read) == ["FROM runs", "FROM verdicts"]
    assert len(campaign.records) == campaign.summary.tested
    assert len(read) > 2
