"""The result of a proof, for planning tasks and models."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from misstep.checking.certificates.report import CertificateReport
from misstep.errors import MisstepError

PROVEN, BUG, NOT_A_BUG, UNKNOWN, FLAKY = "PROVEN", "BUG", "NOT A BUG", "UNKNOWN", "FLAKY"
VERDICTS = (PROVEN, BUG, NOT_A_BUG, UNKNOWN, FLAKY)

# What ended the work before an answer, and the exit code of it.
ENDS = {
    "gave up": 10,
    "crash": 11,
    "timeout": 12,
    "time": 20,
    "memory": 21,
    "states": 22,
    "interrupted": 23,
}


@dataclass(frozen=True)
class Finding:
    """A state from which the policy fails, its run from there, and whether this could be avoided."""

    state: Any
    states: list[Any]
    steps: list[str]  # the labels or operators between them
    outcome: str  # unsafe; of planning tasks: loop, stuck, inapplicable, error
    avoidable: bool | None  # safe, or solvable: somebody could do better; None: not decided
    witness: int = 0  # states of the strategy, or operators of the plan, that prove it
    plan: list[str] = field(default_factory=list)  # of planning tasks

    def as_dict(self) -> dict[str, Any]:
        return {
            "state": _plain(self.state),
            "run": {
                "outcome": self.outcome,
                "states": [_plain(state) for state in self.states],
                "steps": self.steps,
            },
            "avoidable": self.avoidable,
            "witness_size": self.witness,
            "plan": self.plan or None,
        }


@dataclass
class Proof:
    """PROVEN with a certificate, BUG or NOT A BUG with a finding, UNKNOWN with what ended it, or FLAKY."""

    verdict: str
    claim: str
    task: str
    policy: str
    states: int = 0  # explored
    starts: int | None = None
    asked: int = 0  # states that the policy was asked about
    method: str = "all"
    end: str | None = None  # of UNKNOWN, see ENDS
    reason: str = ""
    finding: Finding | None = None
    failing: int = 0  # starts, or solvable states, from which the policy goes wrong; 1 if the rest was not looked at
    hopeless: int = 0  # starts that no strategy keeps safe, or states that are dead ends
    contradictions: int = 0
    asked_again: int = 0
    certificate: bytes | None = field(default=None, repr=False)
    checked: CertificateReport | None = None
    seconds: float = 0.0
    megabytes: float = 0.0

    def left_open(self, end: str, reason: str) -> None:
        self.verdict, self.end, self.reason = UNKNOWN, end, reason

    @property
    def exit_code(self) -> int:
        if self.verdict == UNKNOWN:
            return ENDS.get(self.end or "", 10)
        return {PROVEN: 0, FLAKY: 13}.get(self.verdict, 1)

    def as_dict(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "claim": self.claim,
            "task": self.task,
            "policy": self.policy,
            "states": self.states,
            "starts": self.starts,
            "asked": self.asked,
            "method": self.method,
            "end": self.end,
            "reason": self.reason or None,
            "finding": None if self.finding is None else self.finding.as_dict(),
            "failing": self.failing,
            "hopeless": self.hopeless,
            "asked_again": self.asked_again,
            "contradictions": self.contradictions,
            "certificate_bytes": None if self.certificate is None else len(self.certificate),
            "checked": None if self.checked is None else self.checked.as_dict(),
            "seconds": round(self.seconds, 3),
            "megabytes": round(self.megabytes, 1),
        }


def _plain(state: Any) -> Any:
    return list(getattr(state, "values", state))


class Search(Protocol):
    """The work on a proof."""

    proof: Proof

    def run(self) -> None: ...

    def ended(self, end: str, reason: str) -> None:
        """End without an answer, and record how far the work got."""


def carried_out(
    search: Search, deterministic: bool, endings: Mapping[type[MisstepError], str]
) -> Proof:
    """The proof that a search comes to; `endings` says which errors end it without an answer, and how (ENDS)."""
    proof = search.proof
    if not deterministic:
        proof.verdict, proof.reason = FLAKY, "the policy says that it is not deterministic"
        return proof
    began = time.monotonic()
    try:
        search.run()
    except KeyboardInterrupt:
        search.ended("interrupted", "stopped by the user")
    except tuple(endings) as error:
        end = next(end for kind, end in endings.items() if isinstance(error, kind))
        search.ended(end, str(error))
    proof.seconds = time.monotonic() - began
    return proof


__all__ = [
    "BUG",
    "ENDS",
    "FLAKY",
    "NOT_A_BUG",
    "PROVEN",
    "UNKNOWN",
    "VERDICTS",
    "Finding",
    "Proof",
    "carried_out",
]
