"""A summary in Markdown for a pull request: new, fixed, still there, the worst gap, one example with its command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.records import Record
from misstep.campaigns.summary import Summary
from misstep.campaigns.worst import counted, severity_of
from misstep.comparison.gates import GateResult, worst_text
from misstep.files import write_bytes
from misstep.reports.escaping import block, code
from misstep.reports.findings import (
    bugs_of,
    commands,
    fails,
    fine_of,
    gaps_of,
    grouped,
    in_words,
    open_of,
)

MOST_GROUPS = 10


def write(path: str | os.PathLike[str], campaign: Campaign, gate: GateResult | None = None) -> None:
    """Write the summary."""
    write_bytes(Path(path), text(campaign, gate).encode())


def text(campaign: Campaign, gate: GateResult | None = None) -> str:
    return "\n".join(_lines(campaign, campaign.summary, gate)) + "\n"


def _lines(campaign: Campaign, summary: Summary, gate: GateResult | None) -> Iterator[str]:
    bugs = bugs_of(campaign, gate)
    yield f"## Misstep: {_title(bugs, summary, gate)}"
    yield ""
    states, tasks = counted(summary.tested, "state"), counted(summary.tasks, "task")
    yield f"Policy {code(summary.policy)}, {states} of {tasks} tested."
    yield ""
    if gate is not None and gate.reasons:
        yield "The gate failed:"
        yield ""
        yield from (f"- {code(reason)}" for reason in gate.reasons)
        yield ""
    yield from _counts(bugs, summary, gate)
    for text in gaps_of(summary):
        yield f"{text}  "
    if gate is None and (undecided := open_of(summary)) is not None:
        yield undecided  # a gate has it among its remarks
    if bugs:
        yield ""
        yield "Most frequent:"
        yield ""
        groups = grouped(bugs)
        for title, members in list(groups.items())[:MOST_GROUPS]:
            yield f"- {len(members)} x {code(title)}, worst: {worst_text(members)}"
        if len(groups) > MOST_GROUPS:
            yield f"- and {len(groups) - MOST_GROUPS} other groups"
        yield ""
        yield from _example(campaign, bugs, gate)
    if gate is not None and gate.remarks:
        yield ""
        yield from (f"Note: {code(remark)}  " for remark in gate.remarks)


def _title(bugs: list[Record], summary: Summary, gate: GateResult | None) -> str:
    if gate is not None:
        if not gate.passed:
            return "gate failed"
        return (
            "gate passed" if gate.exit_code == 0 else "gate passed, but not everything was tested"
        )
    if bugs:
        return f"{len(bugs)} bug{'' if len(bugs) == 1 else 's'}"
    return (
        "no bugs found, but see below" if gaps_of(summary) or open_of(summary) else "no bugs found"
    )


def _counts(bugs: list[Record], summary: Summary, gate: GateResult | None) -> Iterator[str]:
    yield "| | states |"
    yield "|---|---:|"
    if gate is not None and gate.compared:
        rows = [
            ("new bugs", len(gate.new)),
            ("fixed", len(gate.fixed)),
            ("still there", len(gate.still)),
            ("of these worse than before", len(gate.worse)),
            ("known families in other states", len(gate.elsewhere)),
            ("there before, proven only now", len(gate.uncovered)),
            ("known bugs that were not tested", gate.untested),
            ("known bugs that are undecided now", gate.undecided),
        ]
        always = 3
    else:
        fine = fine_of({"optimal": summary.optimal, "unsolvable": summary.unsolvable})
        rows, always = [("bugs", len(bugs)), ("proven to be no bugs", fine)], 2
    rows += [
        ("undecided states", summary.unknown),
        ("runs in which the policy crashed", summary.crashes),
        ("runs in which it did not answer in time", summary.timeouts),
        (
            "states where it contradicts itself"
            if summary.contradictions
            else "states without a verdict",
            summary.flaky,
        ),
    ]
    yield from (f"| {name} | {n} |" for k, (name, n) in enumerate(rows) if n or k < always)
    yield ""
    if bugs:
        yield f"Worst: {worst_text(bugs)}."


def _example(campaign: Campaign, bugs: list[Record], gate: GateResult | None) -> Iterator[str]:
    """The worst of the bugs that the build fails for, or of all."""
    wanted = [record for record in bugs if fails(record, gate)] or bugs
    record = min(wanted, key=severity_of)
    yield "One example:"
    yield ""
    yield block(in_words(record), *(commands(campaign, record) or ())[:1])


__all__ = ["text", "write"]
