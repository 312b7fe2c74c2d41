"""What the check of a campaign has found: a finding for each record, and what was and what was not checked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

# What the files alone cannot prove, and why.
NOT_CHECKED = {
    "lower bounds": "no proof of them is kept; what is OPTIMAL rests on one",
    "upper bounds": "neither a plan nor a derivation is kept, and nothing rests on them",
    "ends of runs": "that the policy stopped, crashed or was cut takes asking it again",
    "walks": "the state was brought from elsewhere",
    "strategies": "they were too large to be kept",
    "radii": "that fewer deviations do not suffice has no proof, and not all decisions of the policy are kept",
    "verdicts NOT A BUG": "no proof of them is kept",
    "losses": "how much a decision loses rests on bounds without proofs",
    "permitted graphs": "not all permitted runs are known, and the verdict is UNKNOWN",
    "flaky verdicts": "that the policy answers differently takes asking it again; they claim nothing",
    "records": "the checker does not support their task",
}


class Finding(NamedTuple):
    """What is wrong with a record, or with something else that is named like one; None: nothing was found."""

    record: str  # "TASK:NUMBER", "TASK run NUMBER" or "TASK"
    problem: str | None


@dataclass
class CampaignReport:
    findings: list[Finding] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)
    not_checked: Counter[str] = field(default_factory=Counter)  # keys of NOT_CHECKED
    remarks: list[str] = field(default_factory=list)  # tasks that could not be checked, and why

    @property
    def problems(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.problem is not None]

    @property
    def valid(self) -> bool:
        return not self.problems

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
        }

    def __str__(self) -> str:
        lines = [f"{record}: {problem}" for record, problem in self.problems]
        lines += self.remarks
        lines.append("checked: " + (_listed(self.checked) or "nothing"))
        for what, count in self.not_checked.items():
            lines.append(f"not checked: {count} {what} ({NOT_CHECKED[what]})")
        wrong = len(self.problems)
        lines.append(
            "VALID" if not wrong else f"INVALID: {wrong} of {len(self.findings)} are wrong"
        )
        return "\n".join(lines)


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.items())


__all__ = ["NOT_CHECKED", "CampaignReport", "Finding"]
