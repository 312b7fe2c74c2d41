"""The result of checking a campaign: a finding for each record, and what was and was not checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

# What the files alone cannot prove, and why.
NOT_CHECKED = {
    "verdicts OPTIMAL": "they rest on lower bounds, of which no proof is kept",
    "lower bounds": "no proof of them is kept; what is OPTIMAL, and how large a gap can be, rests on them",
    "digests": "the records carry none, so that missing rows cannot be noticed",
    "upper bounds": "neither a plan nor a derivation is kept, and nothing rests on them",
    "runs of the policy": "that it decides like this, stops, crashes or is cut takes asking it again, with --rerun",
    "decisions": "that they are the policy's own, on which its risk rests, takes asking it again, with --rerun",
    "permitted sets": "that the policy permits these operators takes asking it again, with --rerun",
    "translations": "that a task is what its PDDL files say takes translating them again",
    "fuzzed runs": "of runs that were not unsafe, or the same as another one, nothing is kept but how many there were",
    "measured families": "how often they occur takes asking the policy again",
    "walks": "the state was brought from elsewhere",
    "risks": "they are probabilities, which --full computes again",
    "better decisions": "that one is safe where a fault was made is not shown by a strategy that is kept",
    "radii": "that fewer deviations do not suffice has no proof, and not all decisions of the policy are kept",
    "verdicts NOT A BUG": "no proof of them is kept",
    "dominance functions": "they are taken as they are stored, and derivations rest on them",
    "losses": "how much a decision loses rests on bounds without proofs",
    "permitted graphs": "not all permitted runs are known, and no verdict rests on them",
    "flaky verdicts": "that the policy answers differently takes asking it again; they claim nothing",
    "verdicts that do not count": "the work ended before they were made FLAKY or not; --resume does it",
    "missing faults": "the work or its budget ended, maybe before all faults on these runs were found",
    "records": "the checker does not support their task",
}


class Finding(NamedTuple):
    """The error in a record, or in something else that is named like one; None if no error was found."""

    record: str  # "TASK:NUMBER", "TASK run NUMBER" or "TASK"
    problem: str | None


class OpenBound(NamedTuple):
    """A lower bound that the checker could not compute again; None is infinite."""

    task: str
    number: int
    state: tuple[int, ...]
    lower: int | None
    optimal: bool


@dataclass
class CampaignReport:
    findings: list[Finding] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)
    not_checked: Counter[str] = field(default_factory=Counter)  # keys of NOT_CHECKED
    remarks: list[str] = field(default_factory=list)  # what could not be checked, and why
    digest: str | None = None  # of all records, to be noted elsewhere
    full: bool = False  # whether what has no proof was computed again
    confirmed: Counter[str] = field(default_factory=Counter)  # by the checker's own code
    confirmed_by_engine: Counter[str] = field(default_factory=Counter)  # which is not independent
    left_open: Counter[str] = field(default_factory=Counter)  # what was too large to be computed
    open_bounds: list[OpenBound] = field(default_factory=list)  # for whoever has an engine

    @property
    def problems(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.problem is not None]

    @property
    def valid(self) -> bool:
        return not self.problems

    def unproven(self, what: str) -> None:
        """Counts a claim without a proof in the files that was too large to be computed again, or not tried."""
        self.not_checked[what] += 1
        if self.full:
            self.left_open[what] += 1

    def as_dict(self) -> dict[str, Any]:
        return {
            "valid": self.valid,
            "problems": [
                {"record": record, "problem": problem} for record, problem in self.problems
            ],
            "checked": dict(self.checked),
            "not_checked": {
                what: {"count": count, "why": NOT_CHECKED[what]}
                for what, count in self.not_checked.items()
            },
            "remarks": self.remarks,
            "digest": self.digest,
            "full": None
            if not self.full
            else {
                "confirmed": dict(self.confirmed),
                "confirmed by the engine": dict(self.confirmed_by_engine),
                "left open": dict(self.left_open),
            },
        }

    def __str__(self) -> str:
        lines = [f"{record}: {problem}" for record, problem in self.problems]
        lines += self.remarks
        lines.append("checked: " + (_listed(self.checked) or "nothing"))
        for what, count in self.not_checked.items():
            lines.append(f"not checked: {count} {what} ({NOT_CHECKED[what]})")
        if self.full:
            lines.append("computed again by the checker: " + (_listed(self.confirmed) or "nothing"))
            engine = _listed(self.confirmed_by_engine) or "nothing"
            lines.append(f"computed again by the engine, which is not independent: {engine}")
            lines.append("too large to compute again: " + (_listed(self.left_open) or "nothing"))
        if self.digest is not None:
            lines.append(f"digest of the records: {self.digest}")
        wrong = len(self.problems)
        lines.append(
            "VALID" if not wrong else f"INVALID: {wrong} of {len(self.findings)} are wrong"
        )
        return "\n".join(map(on_one_line, lines))


def on_one_line(text: str) -> str:
    """A name in a campaign may hold a line break, and the word VALID after it."""
    return text.replace("\n", "\\x0a")


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.items())


def unjudged(oracles: Iterable[object], verdicts: Iterable[object]) -> str | None:
    """The error that, in a finished campaign, an oracle has not judged a state."""
    missing = set(oracles) - set(verdicts)
    if not missing:
        return None
    return f"the campaign is finished, and there is no verdict of oracle {min(map(str, missing))}"


__all__ = ["NOT_CHECKED", "CampaignReport", "Finding", "OpenBound", "on_one_line", "unjudged"]
