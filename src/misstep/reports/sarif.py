"""SARIF 2.1.0 for code-scanning pages: one result per bug, one rule for each kind of bug with its family.

A state has no line in a file. The physical location is the file of the problem or model, where it is known; the logical
location is the task and the state. Fingerprints are digests of the state and the same in every run, so that a page
recognises a bug. With a baseline, results say whether they are new; fixed bugs are counted in the properties.
"""

from __future__ import annotations

import hashlib
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.records import Record
from misstep.campaigns.summary import Summary
from misstep.campaigns.worst import counted
from misstep.comparison.baseline import state_digest
from misstep.comparison.gates import GateResult
from misstep.files import write_bytes
from misstep.reports.escaping import slug, visible
from misstep.reports.findings import (
    NO_FAULT,
    bugs_of,
    commands,
    fails,
    gaps_of,
    group_of,
    in_words,
    kind_of,
    known_as,
    open_of,
)
from misstep.tasks.load import AnyTask

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
FINGERPRINT = "misstepState/v1"
# What each kind of bug says, for the page of its rule.
KIND_TEXTS = {
    "fails": "The policy does not reach the goal from a state where a plan does.",
    "costly": "The policy reaches the goal at a higher cost than a plan.",
    "crash": "The policy crashes.",
    "fails-all": "No permitted run of the policy reaches the goal, and a plan does.",
    "fails-some": "A permitted run of the policy does not reach the goal, and a plan does.",
    "costly-best": "A plan is cheaper than every permitted run of the policy.",
    "costly-some": "A plan is cheaper than some permitted run of the policy.",
    "unsafe": "The policy gets into an unsafe state that a safe strategy avoids.",
    "unclassified": "The run of the policy was cut after it had spent more than a plan costs.",
}
_STATES = {"new": "new", "still": "unchanged", "better": "updated", "worse": "updated"}


def write(path: str | os.PathLike[str], campaign: Campaign, gate: GateResult | None = None) -> None:
    """Write what was found as SARIF."""
    write_bytes(Path(path), text(campaign, gate).encode())


def text(campaign: Campaign, gate: GateResult | None = None) -> str:
    made = json.dumps(document(campaign, gate), indent=1)
    return made.replace("\x7f", "\\u007f") + "\n"


def document(campaign: Campaign, gate: GateResult | None = None) -> dict[str, Any]:
    """The file as plain data."""
    bugs = bugs_of(campaign, gate)
    rules: dict[str, int] = {}
    described = []
    for record in bugs:
        if group_of(record) not in rules:
            rules[group_of(record)] = len(rules)
            described.append(_rule(record))
    tasks = {task.name: task for task in campaign.tasks}
    driver = {"name": "Misstep", "version": version("misstep"), "rules": described}
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(campaign.summary, gate)],
        "results": [
            _result(campaign, tasks[record.task], record, rules[group_of(record)], gate)
            for record in bugs
        ],
        "properties": _properties(campaign.summary, gate),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(record: Record) -> dict[str, Any]:
    kind, family = kind_of(record), record.family
    about = KIND_TEXTS.get(kind, kind)
    how = NO_FAULT if family is None else f"the fault is {family}"
    return {
        "id": rule_id(record),
        "name": visible(group_of(record)),
        "shortDescription": {"text": visible(f"{about[:-1]}: {how}.")},
        "fullDescription": {"text": visible(f"{about} All results of this rule: {how}.")},
        "defaultConfiguration": {"level": "error"},
    }


def rule_id(record: Record) -> str:
    """The id of a rule, stable from run to run; names with odd characters get a digest."""
    family = record.family or "no-fault"
    made = slug(family)
    if made.replace("-", " ") != family and record.family is not None:
        made += "-" + hashlib.sha256(family.encode(errors="replace")).hexdigest()[:8]
    return f"{kind_of(record)}/{made}"


def _result(
    campaign: Campaign, task: AnyTask, record: Record, rule: int, gate: GateResult | None
) -> dict[str, Any]:
    digest = state_digest(task.digest, record.state)
    message = in_words(record)
    shown = commands(campaign, record)
    if shown is not None:
        message += f" To see it: {visible(shown[0])}"
    result: dict[str, Any] = {
        "ruleId": rule_id(record),
        "ruleIndex": rule,
        "level": "error" if fails(record, gate) else "note",
        "message": {"text": message},
        "locations": [_location(task, record, digest)],
        "partialFingerprints": {FINGERPRINT: digest},
        "fingerprints": {FINGERPRINT: f"{digest}/{kind_of(record)}"},
        "properties": {
            "id": visible(record.id),
            "kind": kind_of(record),
            "gap": None if record.gap is None else list(record.gap),
            "radius": None if record.radius is None else list(record.radius),
            "state": visible(", ".join(record.facts)),
        },
    }
    word = known_as(record, gate)
    if word is not None:
        result["baselineState"] = _STATES.get(word, "unchanged")
        result["properties"]["change"] = word
    return result


def _location(task: AnyTask, record: Record, digest: str) -> dict[str, Any]:
    name = visible(task.name)
    location: dict[str, Any] = {
        "logicalLocations": [
            {
                "name": visible(record.id),
                "fullyQualifiedName": f"{name}/state {digest}",
                "kind": "resource",
            }
        ]
    }
    uri = problem_uri(task)
    if uri is not None:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": uri},
            "region": {"startLine": 1},
        }
    return location


def problem_uri(task: AnyTask) -> str | None:
    """Where the file of the problem or model lies, as a URI; None: it was made up."""
    source = task.source
    path = source.get("path") or (source.get("paths") or {}).get("problem")
    if not path:
        return None
    # A path from elsewhere may hold anything; as a URI all that is odd is encoded.
    encoded = quote(os.fsencode(os.path.normpath(str(path))))
    return f"file://{encoded}" if encoded.startswith("/") else encoded


def _invocation(summary: Summary, gate: GateResult | None) -> dict[str, Any]:
    texts = []
    if summary.crashes:
        texts.append(
            f"The policy crashed, or answered nonsense, in {counted(summary.crashes, 'run')}."
        )
    if summary.timeouts:
        texts.append(f"The policy did not answer in time in {counted(summary.timeouts, 'run')}.")
    texts += gaps_of(summary)
    made: dict[str, Any] = {"executionSuccessful": not texts}
    if texts:
        made["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": own}} for own in texts
        ]
    elif (undecided := open_of(summary)) is not None:
        made["toolExecutionNotifications"] = [{"level": "warning", "message": {"text": undecided}}]
    if gate is not None:
        made["exitCode"] = gate.exit_code
    return made


def _properties(summary: Summary, gate: GateResult | None) -> dict[str, Any]:
    own: dict[str, Any] = {"policy": visible(summary.policy), "tested": summary.tested}
    if gate is not None:
        own["gate"] = "passed" if gate.passed else "failed"
        own["reasons"] = [visible(reason) for reason in gate.reasons]
        if gate.compared:
            own["fixed"] = len(gate.fixed)
    return own


__all__ = ["document", "problem_uri", "rule_id", "text", "write"]
