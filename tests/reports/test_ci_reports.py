"""Reports for continuous integration: what they say, that they are well formed, and that real consumers read them."""

from __future__ import annotations

import json
import os
import random
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

import misstep
from misstep.campaigns.campaign import Campaign
from misstep.comparison.baseline import Baseline, state_digest
from misstep.comparison.gates import Gate, GateResult
from misstep.reports import junit, markdown, sarif
from misstep.reports.escaping import block, code, slug, visible
from misstep.reports.findings import gaps_of, in_words
from misstep.tasks.task import Task
from support.campaigns import small_model
from support.commands import misstep as command
from support.records import record
from support.tasks import generated_task, sas, small_task

BAD, OTHER = "noisy:0.3:1+heuristic:ff", "noisy:0.3:2+heuristic:ff"


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Tested from files, as users do."""
    place = tmp_path_factory.mktemp("reports")
    assert command("generate", "gripper", "--balls", "3", "-o", place / "my task").returncode == 0
    tested = command("test", place / "my task", "--policy", BAD, "--pool", "30", "-o", place / "o")
    assert tested.returncode == 1
    return misstep.open_campaign(place / "o")


@pytest.fixture(scope="module")
def other(bad: Campaign) -> Campaign:
    return misstep.test(None, OTHER, pool_from=bad)


@pytest.fixture(scope="module")
def gate(bad: Campaign, other: Campaign) -> GateResult:
    """With new, fixed and known bugs."""
    result = Gate(("new",), baseline=Baseline.of(bad)).check(other)
    assert result.new
    assert result.fixed
    assert result.still
    return result


def evil_task() -> Task:
    """Names that would be markup, commands to a terminal, or mentions."""
    operators = ["0\n1\n0 0 -1 1\n2", "0\n1\n0 1 0 1\n1", "0\n1\n0 1 -1 0\n1"]
    text = sas([2, 2], [0, 0], [(1, 1)], operators)
    evil = '<script>&amp;]]> ``x`` | @all #1 "q" \x1b[31m \u202e'
    return Task(text.replace("op0", evil).replace("op1", "b " + evil).encode(), name=evil + "\r#")


@pytest.fixture(scope="module")
def evil() -> Campaign:
    campaign = misstep.test(evil_task(), "first", pool=4, max_steps=5, patience=50)
    assert campaign.bugs
    return campaign


# -- JUnit ----------------------------------------------------------------------------------------


def cases(text: str) -> dict[tuple[str, str], Xml.Element]:
    root = Xml.fromstring(text)
    found = {
        (suite.get("name", ""), case.get("name", "")): case
        for suite in root
        for case in suite.findall("testcase")
    }
    assert int(root.get("tests", "")) == len(found)
    return found


def test_junit_has_a_case_for_each_group(bad: Campaign) -> None:
    found = cases(junit.text(bad))
    groups = {f"{own.kind}: {own.family or 'no fault is proven'}" for own in bad.bugs}
    names = {name for _, name in found}
    assert names == groups | {"the policy answers", "all other states"}
    for (_, name), case in found.items():
        assert (case.find("failure") is not None) == (name in groups)
    texts = "".join(case.findtext("failure") or "" for case in found.values())
    for bug in bad.bugs:
        assert f"misstep explain {bad.folder} {bug.id}" in texts
    assert f"misstep replay {bad.folder}" in texts


def test_junit_fails_for_what_the_gate_fails_for(other: Campaign, gate: GateResult) -> None:
    found = cases(junit.text(other, gate))
    top = found.pop(("misstep gate", "gate")).find("failure")
    assert top is not None
    assert f"{len(gate.new)} new bug" in top.get("message", "")
    said = "".join(case.findtext("failure") or "" for case in found.values())
    listed = {own.id for own in other.bugs if f"{own.id}: BUG" in said}
    assert listed == gate.failing
    allowed = Gate(baseline=Baseline.of(other)).check(other)
    known = cases(junit.text(other, allowed))
    assert all(case.find("failure") is None for case in known.values())
    assert any(case.find("skipped") is not None for case in known.values())


def test_junit_tells_of_crashes() -> None:
    def crash(state: misstep.StateView) -> str:
        raise RuntimeError(f"no idea in {state}")

    campaign = misstep.test(small_task("gripper-4"), crash, pool=3)
    (answers,) = [c for (_, name), c in cases(junit.text(campaign)).items() if "answers" in name]
    error = answers.find("error")
    assert error is not None
    assert "3 runs in which the policy crashed" in error.get("message", "")


# -- SARIF ----------------------------------------------------------------------------------------


def test_sarif_has_a_result_for_each_bug(bad: Campaign) -> None:
    (run,) = sarif.document(bad)["runs"]
    assert len(run["results"]) == len(bad.bugs)
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    digest = bad.tasks[0].digest
    for result, bug in zip(run["results"], bad.bugs, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["partialFingerprints"] == {"misstepState/v1": state_digest(digest, bug.state)}
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert uri.startswith("file:///")
        assert uri.endswith("/my%20task/problem.pddl")
        (logical,) = location["logicalLocations"]
        assert logical["name"] == bug.id
        assert f"misstep explain {bad.folder} {bug.id}" in result["message"]["text"]


def test_fingerprints_do_not_depend_on_the_run(bad: Campaign) -> None:
    """Other numbers, other names, another policy: the same state."""
    again = misstep.test(bad.tasks, OTHER, pool=30, seed=3)
    digest = bad.tasks[0].digest
    for campaign in (bad, again):
        (run,) = sarif.document(campaign)["runs"]
        made = [result["partialFingerprints"]["misstepState/v1"] for result in run["results"]]
        assert made == [state_digest(digest, bug.state) for bug in campaign.bugs]


def test_sarif_says_what_is_new(other: Campaign, gate: GateResult) -> None:
    (run,) = sarif.document(other, gate)["runs"]
    new = {r["properties"]["id"] for r in run["results"] if r["baselineState"] == "new"}
    assert new == {own.id for own in gate.new}
    errors = {r["properties"]["id"] for r in run["results"] if r["level"] == "error"}
    assert errors == gate.failing
    assert run["properties"]["fixed"] == len(gate.fixed)
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 1}]


def test_rules_of_odd_names_stay_apart() -> None:
    plain = sarif.rule_id(record(kind="fails", family="move instead of pick"))
    assert plain == "fails/move-instead-of-pick"
    odd = {sarif.rule_id(record(kind="fails", family=own)) for own in ("a_b", "a-b", "a b", "Ä")}
    assert len(odd) == 4
    assert all(re.fullmatch(r"[a-z0-9/-]+", own) for own in odd)
    assert sarif.rule_id(record(kind="fails")) == "fails/no-fault"


def test_models_are_reported() -> None:
    campaign = misstep.test(small_model("one-way-line"), "random:1", runs=40)
    (run,) = sarif.document(campaign)["runs"]
    assert {result["properties"]["kind"] for result in run["results"]} == {"unsafe"}
    assert any(name.startswith("unsafe: ") for _, name in cases(junit.text(campaign)))
    assert "unsafe, radius " in markdown.text(campaign)


# -- Markdown -------------------------------------------------------------------------------------


def test_the_summary_for_a_pull_request(other: Campaign, gate: GateResult) -> None:
    text = markdown.text(other, gate)
    assert text.startswith("## Misstep: gate failed\n")
    for row in (
        f"| new bugs | {len(gate.new)} |",
        f"| fixed | {len(gate.fixed)} |",
        f"| still there | {len(gate.still)} |",
    ):
        assert row in text
    assert "Worst: the goal is missed." in text
    example = text.split("```text\n")[1]
    assert any(example.startswith(f"{own.id}: BUG") for own in gate.new)


def test_the_example_has_its_command(bad: Campaign) -> None:
    text = markdown.text(bad)
    assert text.startswith(f"## Misstep: {len(bad.bugs)} bugs\n")
    assert f"\nmisstep explain {bad.folder} problem:" in text


def test_a_clean_campaign_is_short() -> None:
    text = markdown.text(misstep.test(small_task("gripper-4"), "optimal", pool=3))
    assert text.startswith("## Misstep: no bugs found\n")
    assert "example" not in text


def unsteady(state: misstep.StateView) -> str | None:
    names = [state.task.operator_name(op) for op in state.task.applicable(state.state)]
    return random.choice([*names, None])


class Declared:
    deterministic = False

    def __call__(self, state: misstep.StateView) -> str | None:
        return unsteady(state)


@pytest.mark.parametrize(
    ("policy", "options", "told"),
    [
        ("first", {"require_solved": True}, "Nothing was tested."),
        (unsteady, {}, "The policy contradicts itself when it is asked again in 10 states."),
        (
            Declared(),
            {},
            "The policy declares that it is not deterministic, so there are no verdicts.",
        ),
    ],
)
def test_a_campaign_that_shows_nothing_is_not_green(
    policy: Any, options: dict[str, Any], told: str
) -> None:
    """Without a gate, nothing else would say so in these files."""
    campaign = misstep.test(small_task("gripper-4"), policy, pool=10, **options)
    assert not campaign.bugs
    text = markdown.text(campaign)
    assert text.startswith("## Misstep: no bugs found, but see below\n")
    assert told in text
    assert ("states where it contradicts itself" in text) == ("contradicts" in told)
    case = cases(junit.text(campaign))["misstep campaign", "everything was tested"]
    error = case.find("error")
    assert error is not None
    assert error.get("message") == told
    (invocation,) = sarif.document(campaign)["runs"][0]["invocations"]
    assert not invocation["executionSuccessful"]
    assert told in str(invocation)
    open_ = replace(campaign.summary, finished=False)
    assert gaps_of(open_)[0] == "The campaign is not finished: not all states were tested."


def test_a_campaign_that_decides_nothing_is_not_green() -> None:
    """The exit code is 0, as no limit of the work was reached; but no state is proven to be anything."""
    campaign = misstep.test(
        small_task("gripper-4"), "optimal", pool=5, oracle="astar(evaluations=1)"
    )
    assert {record.verdict for record in campaign.records} == {"UNKNOWN"}
    told = "none of the 5 tested states was decided, so nothing is known about bugs"
    text = markdown.text(campaign)
    assert text.startswith("## Misstep: no bugs found, but see below\n")
    assert f"\n{told.capitalize()}.\n" in text
    gate = Gate(max_bugs=0).check(campaign)
    assert markdown.text(campaign, gate).lower().count(told) == 1
    for own in (None, gate):
        case = cases(junit.text(campaign, own))[campaign.tasks[0].name, "all other states"]
        skipped = case.find("skipped")
        assert skipped is not None
        assert skipped.get("message") == told
    (invocation,) = sarif.document(campaign)["runs"][0]["invocations"]
    assert told.capitalize() in str(invocation)
    one = misstep.test(small_task("gripper-4"), "optimal", pool=1, oracle="astar(evaluations=1)")
    assert "1 state of 1 task tested" in markdown.text(one)
    assert "The one tested state was not decided" in markdown.text(one)
    assert "1 state tested, 0 proven" in junit.text(one)


def test_all_reports_count_the_same_states() -> None:
    """A state without a plan is proven to be no bug, and what is undecided is told."""
    task = generated_task("spanner", spanners=2, nuts=2, locations=2)
    campaign = misstep.test(task, "first", pool=20, oracle="aras/ehc, lmcut")
    summary, records = campaign.summary, campaign.records
    fine = sum(record.verdict == "OPTIMAL" for record in records)
    unknown = sum(record.verdict == "UNKNOWN" for record in records)
    assert summary.unsolvable > 0
    text = markdown.text(campaign)
    assert f"| proven to be no bugs | {fine} |" in text
    assert (f"| undecided states | {unknown} |" in text) == (unknown > 0)
    told = f"{len(records)} states tested, {fine} proven to be no bug, {unknown} unknown"
    assert told in junit.text(campaign)
    found = f"| bugs | {len(campaign.bugs)} |"
    assert found in text


# -- names ----------------------------------------------------------------------------------------


def test_names_are_escaped_everywhere(evil: Campaign) -> None:
    campaign = evil
    for made in (junit.text(campaign), sarif.text(campaign), markdown.text(campaign)):
        assert not set(made) & {"\x1b", "\u202e", "\x7f"}
        made.encode()
    cases(junit.text(campaign))
    assert "<script>" not in junit.text(campaign)
    json.loads(sarif.text(campaign))
    # In Markdown names stand in code alone: outside of it nothing of them is left.
    outside = re.sub(r"(?s)(`{3,})text\n.*?\n\1", "", markdown.text(campaign))
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)
    assert "script" not in outside
    assert "@all" not in outside


def test_escaping() -> None:
    assert visible("a\nb\t\x00\u2028\ud800\uffff") == "a\\x0ab\\x09\\x00\\u2028\\ud800\\uffff"
    assert visible("ä€😀") == "ä€😀"
    assert len(visible("x" * 10**6)) < 3000
    assert code("a`b``c") == "```a`b``c```"
    assert code("`a") == "`` `a ``"
    assert block("a ```` b").splitlines()[0] == "`````text"
    assert slug("Move instead of (pick)!") == "move-instead-of-pick"


def test_a_bug_in_words() -> None:
    own = record(3, verdict="BUG", kind="costly", cost=7, gap=(2, 2), bounds=(5, 5))
    assert in_words(own) == (
        "p:3: BUG, costly, gap 2. The policy reaches the goal at cost 7, and 5 is enough."
    )
    own = record(3, verdict="BUG", kind="fails", outcome="loop", gap=(None, None), bounds=(0, 4))
    assert "The policy runs in a loop, and a plan of cost 4 reaches the goal." in in_words(own)


# -- real consumers -------------------------------------------------------------------------------


def consumer(name: str) -> ModuleType:
    """A package that reads such files. In continuous integration it has to be there."""
    if os.environ.get("CI") and name in ("junitparser", "sarif_pydantic"):
        return __import__(name)
    module: ModuleType = pytest.importorskip(name)
    return module


@pytest.fixture(scope="module")
def files(
    other: Campaign, gate: GateResult, evil: Campaign, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    tmp_path = tmp_path_factory.mktemp("files")
    for name, campaign, result in (("gate", other, gate), ("evil", evil, None)):
        junit.write(tmp_path / f"{name}.xml", campaign, result)
        sarif.write(tmp_path / f"{name}.sarif", campaign, result)
    return tmp_path


def test_junitparser_reads_it(files: Path, gate: GateResult) -> None:
    junitparser: Any = consumer("junitparser")
    for name in ("gate", "evil"):
        read = junitparser.JUnitXml.fromfile(str(files / f"{name}.xml"))
        counted = (read.tests, read.failures, read.errors)
        read.update_statistics()
        assert counted == (read.tests, read.failures, read.errors)
        assert read.failures > 0
        results = [type(own).__name__ for suite in read for case in suite for own in case.result]
        assert set(results) <= {"Failure", "Skipped", "Error"}
    assert not gate.passed


def test_sarif_pydantic_reads_it(files: Path, other: Campaign) -> None:
    package: Any = consumer("sarif_pydantic")
    read = package.Sarif.model_validate_json((files / "gate.sarif").read_text())
    (run,) = read.runs
    assert len(run.results) == len(other.bugs)
    assert {own.rule_id for own in run.results} == {own.id for own in run.tool.driver.rules}
    package.Sarif.model_validate_json((files / "evil.sarif").read_text())


def test_sarif_tools_reads_it(files: Path, other: Campaign) -> None:
    consumer("sarif")
    from sarif import loader

    read = loader.load_sarif_file(str(files / "gate.sarif"))
    assert read.get_result_count() == len(other.bugs)
    assert {own["Tool"] for own in read.get_records()} == {"Misstep"}


# The schemas are files of others, so they are not kept here. JUnit: junit-10.xsd of pytest's sources; SARIF:
# sarif-2.1.0.json in the npm package @microsoft/sarif-multitool-linux.
SCHEMAS = {"xml": "MISSTEP_JUNIT_XSD", "sarif": "MISSTEP_SARIF_SCHEMA"}


def schema(kind: str) -> Path:
    path = os.environ.get(SCHEMAS[kind])
    if path is None:
        pytest.skip(f"{SCHEMAS[kind]} does not name the public schema")
    return Path(path)


def test_junit_fits_its_public_schema(files: Path) -> None:
    xsd = schema("xml")
    xmlschema: Any = consumer("xmlschema")
    for path in files.glob("*.xml"):
        xmlschema.XMLSchema(str(xsd)).validate(str(path))


def test_sarif_fits_its_public_schema(files: Path) -> None:
    own = json.loads(schema("sarif").read_text("utf-8-sig"))
    jsonschema: Any = consumer("jsonschema")
    kind = jsonschema.validators.validator_for(own)
    for path in files.glob("*.sarif"):
        assert [e.message for e in kind(own).iter_errors(json.loads(path.read_text()))] == []
