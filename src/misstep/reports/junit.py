"""JUnit XML for the pages of build servers: one suite per task, one test case per group of bugs.

A hundred similar bugs should not be a hundred failed tests. So a test case is a kind of bug with its family; its name
stays the same from run to run, so that a page can show since when it fails. Its text lists bugs with the commands that
show them. Known bugs of a baseline are skipped tests, not failures. Two cases are always there: "the policy answers"
and "all other states". A campaign that is not finished or has tested nothing has an error of its own.
"""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree as Xml

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.records import Record
from misstep.campaigns.summary import Summary
from misstep.campaigns.worst import counted
from misstep.comparison.gates import NO_FUNCTION, GateResult, undecided_text
from misstep.files import write_bytes
from misstep.reports.escaping import visible
from misstep.reports.findings import (
    bugs_of,
    commands,
    fails,
    fine_of,
    gaps_of,
    grouped,
    in_words,
    kind_of,
    known_as,
    with_worst,
)

MOST_BUGS = 20  # that a test case lists


def write(path: str | os.PathLike[str], campaign: Campaign, gate: GateResult | None = None) -> None:
    """Write what was found as JUnit XML."""
    write_bytes(Path(path), text(campaign, gate).encode())


def text(campaign: Campaign, gate: GateResult | None = None) -> str:
    summary = campaign.summary
    by_task: dict[str, list[Record]] = {name: [] for name in summary.by_task}
    for record in bugs_of(campaign, gate):
        by_task[record.task].append(record)
    root = Xml.Element("testsuites", name="misstep")
    if gate is not None:
        _gate(root, gate)
    elif lacking := gaps_of(summary):
        # Else the page of a campaign that tested nothing would be as green as that of one without bugs.
        suite = Xml.SubElement(root, "testsuite", name="misstep campaign")
        case = Xml.SubElement(suite, "testcase", classname="misstep", name="everything was tested")
        Xml.SubElement(case, "error", type="incomplete", message=" ".join(lacking))
        _count(suite)
    for task, bugs in by_task.items():
        _suite(root, campaign, summary, task, bugs, gate)
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, "unicode") + "\n"


def _gate(root: Xml.Element, gate: GateResult) -> None:
    """The gate as a separate test, so that a page says at its top why the build fails."""
    suite = Xml.SubElement(root, "testsuite", name="misstep gate")
    case = Xml.SubElement(suite, "testcase", classname="misstep", name="gate")
    if not gate.passed:
        lines = "\n".join(map(visible, gate.reasons))
        message = visible("; ".join(gate.reasons))
        Xml.SubElement(case, "failure", type="gate", message=message).text = lines
    elif gate.exit_code:
        message = f"the gate passed, but the command ended with exit code {gate.exit_code}"
        Xml.SubElement(case, "error", type="incomplete", message=message)
    out = Xml.SubElement(case, "system-out")
    out.text = "\n".join(map(visible, str(gate).splitlines()))
    _count(suite)


def _suite(
    root: Xml.Element,
    campaign: Campaign,
    summary: Summary,
    task: str,
    bugs: list[Record],
    gate: GateResult | None,
) -> None:
    name = visible(task)
    suite = Xml.SubElement(root, "testsuite", name=name)
    properties = Xml.SubElement(suite, "properties")
    facts = {"policy": summary.policy, "oracle": "; ".join(summary.oracles)}
    for key, value in facts.items():
        Xml.SubElement(properties, "property", name=key, value=visible(value))
    own = summary.by_task[task]
    case = Xml.SubElement(suite, "testcase", classname=name, name="the policy answers")
    wrong = [
        f"{counted(own[key], 'run')} in which the policy {word}"
        for key, word in (("crashes", "crashed"), ("timeouts", "did not answer in time"))
        if own[key]
    ]
    if own["flaky"]:
        wrong.append(f"{counted(own['flaky'], 'state')} where {NO_FUNCTION}")
    if wrong:
        Xml.SubElement(case, "error", type="policy", message="; ".join(wrong))
    for title, members in grouped(bugs).items():
        case = Xml.SubElement(suite, "testcase", classname=name, name=visible(title))
        _group(case, campaign, members, gate)
    case = Xml.SubElement(suite, "testcase", classname=name, name="all other states")
    if own["unknown"] and own["unknown"] == own["tested"]:
        # Else the page would be as green as that of a policy that is proven to be optimal.
        Xml.SubElement(case, "skipped", message=undecided_text(own["tested"]))
    out = Xml.SubElement(case, "system-out")
    flaky = f", {own['flaky']} without a verdict" if own["flaky"] else ""
    told = f"{counted(own['tested'], 'state')} tested, {fine_of(own)} proven to be no bug, {own['unknown']} unknown"
    out.text = told + flaky
    _count(suite)


def _group(
    case: Xml.Element, campaign: Campaign, members: list[Record], gate: GateResult | None
) -> None:
    failing = [record for record in members if fails(record, gate)]
    if not failing:
        Xml.SubElement(case, "skipped", message=f"known or allowed: {visible(with_worst(members))}")
        return
    message = with_worst(failing, "new bug" if _all_new(failing, gate) else "bug")
    node = Xml.SubElement(case, "failure", type=kind_of(failing[0]), message=visible(message))
    lines = []
    for record in failing[:MOST_BUGS]:
        lines.append(in_words(record))
        lines += [f"    {visible(command)}" for command in (commands(campaign, record) or ())[:1]]
    if len(failing) > MOST_BUGS:
        lines.append(f"... and {len(failing) - MOST_BUGS} more")
    if len(failing) < len(members):
        lines.append(f"known or allowed bugs that look the same: {len(members) - len(failing)}")
    checks = commands(campaign, failing[0])
    if checks is not None:
        lines.append(f"to check all runs and witnesses again: {visible(checks[1])}")
    node.text = "\n".join(lines)


def _all_new(records: list[Record], gate: GateResult | None) -> bool:
    return all(known_as(record, gate) == "new" for record in records)


def _count(suite: Xml.Element) -> None:
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for tag, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))


__all__ = ["text", "write"]
