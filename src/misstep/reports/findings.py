"""Shared parts of the reports for continuous integration: groups of similar bugs, and each bug in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from shlex import quote

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.records import Record, fault_text, headline
from misstep.campaigns.summary import Summary
from misstep.campaigns.worst import counted
from misstep.comparison.changes import FAILING
from misstep.comparison.gates import GateResult, trouble_of, undecided_text, worst_text
from misstep.errors import UndecidedError
from misstep.reports.escaping import visible

NO_FAULT = "no fault is proven"
WORDS = {
    "loop": "runs in a loop",
    "stuck": "stops",
    "inapplicable": "names an operator that does not apply",
    "error": "crashes",
    "cut": "does not reach the goal within the step limit",
    "timeout": "does not answer in time",
}


def bugs_of(campaign: Campaign, gate: GateResult | None) -> list[Record]:
    """All bugs, also those that only the witness of a baseline proves, and crashes."""
    known = set() if gate is None else {record.id for record in gate.bugs}
    return [record for record in campaign.records if record.is_bug or record.id in known]


def fails(record: Record, gate: GateResult | None) -> bool:
    """Whether the record makes the gate fail; without a gate, every bug does."""
    return gate is None or record.id in gate.failing


def kind_of(record: Record) -> str:
    return record.kind or "costly"


def group_of(record: Record) -> str:
    """The group of similar bugs: kind and family. The name is stable from run to run."""
    return f"{kind_of(record)}: {record.family or NO_FAULT}"


def grouped(records: Iterable[Record]) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(group_of(record), []).append(record)
    return dict(sorted(groups.items(), key=lambda own: (-len(own[1]), own[0])))


def commands(campaign: Campaign, record: Record) -> tuple[str, str] | None:
    """The commands that show the bug and check its witness again; None if the campaign is in memory."""
    if campaign.folder is None:
        return None
    folder = quote(str(campaign.folder))
    return f"misstep explain {folder} {quote(record.id)}", f"misstep replay {folder}"


def in_words(record: Record) -> str:
    """The bug in one or two sentences."""
    known = "" if record.is_bug else ", and a bug by the witness that was known before"
    text = f"{record.id}: {headline(record)}{known}."
    cost, enough = record.run.cost, record.bounds[1] if record.bounds else None
    outcome = record.run.outcome
    if record.world == "model":
        text += " The policy's run from this state is unsafe, and a safe strategy exists."
    elif outcome == "goal" and cost is not None and enough is not None:
        text += f" The policy reaches the goal at cost {cost}, and {enough} is enough."
    elif outcome in FAILING and enough is not None:
        text += f" The policy {WORDS[outcome]}, and a plan of cost {enough} reaches the goal."
    elif outcome in WORDS:
        text += f" The policy {WORDS[outcome]}."
    if record.faults:
        # The fault that the family is named after.
        worst = max(record.faults, key=lambda fault: (fault.share or 0, -fault.step))
        text += f" Fault at {fault_text(worst)}."
    return visible(text)


def known_as(record: Record, gate: GateResult | None) -> str | None:
    """How the bug changed: new, still, better, worse, uncovered, elsewhere; None: there is nothing to compare with."""
    return None if gate is None or not gate.compared else gate.words.get(record.id, "new")


def gaps_of(summary: Summary) -> list[str]:
    """Why a campaign without bugs need not be a good sign: what was not tested, and states without a verdict."""
    told = []
    code = trouble_of(summary)
    if not summary.finished:
        told.append("The campaign is not finished: not all states were tested.")
    elif code == UndecidedError.exit_code:
        told.append("Nothing was tested.")
    if summary.contradictions:
        where = f" in {counted(summary.flaky, 'state')}" if summary.flaky else ""
        told.append(f"The policy contradicts itself when it is asked again{where}.")
    elif summary.flaky:  # it was not asked again
        told.append("The policy declares that it is not deterministic, so there are no verdicts.")
    return told


def open_of(summary: Summary) -> str | None:
    """A sentence on a campaign that has decided nothing; the exit code of one that has run to its end is still 0."""
    if not summary.tested or summary.decided or gaps_of(summary):
        return None
    text = undecided_text(summary.tested)
    return f"{text[0].upper()}{text[1:]}."


def fine_of(counts: Mapping[str, int]) -> int:
    """The number of states that are proven to be no bugs, also because no plan exists."""
    return counts["optimal"] + counts["unsolvable"]


def with_worst(records: list[Record], what: str = "bug") -> str:
    return f"{counted(len(records), what)}, worst: {worst_text(records)}"


__all__ = [
    "NO_FAULT",
    "bugs_of",
    "commands",
    "fails",
    "fine_of",
    "gaps_of",
    "group_of",
    "grouped",
    "in_words",
    "kind_of",
    "known_as",
    "open_of",
    "with_worst",
]
