"""The checker's result on a certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from misstep.checking.report import on_one_line


@dataclass(frozen=True)
class CertificateReport:
    """`valid`: the claim is proven. Otherwise `reason` says why not; `undecided` if the file is not to blame."""

    valid: bool
    claim: str = ""
    reason: str = ""
    undecided: bool = False
    states: int = 0
    starts: int = 0
    about: Mapping[str, Any] = field(
        default_factory=dict
    )  # the task and the policy, as the file names them
    reading: str = ""  # how the certificate reads the model, if the caller did not say it

    def as_dict(self) -> dict[str, Any]:
        return {
            "valid": self.valid,
            "undecided": self.undecided,
            "claim": self.claim,
            "reason": self.reason or None,
            "states": self.states,
            "starts": self.starts,
            **({"reading": self.reading} if self.reading else {}),
            **self.about,
        }

    def __str__(self) -> str:
        if self.valid:
            claim = f"VALID {self.claim} ({self.states:,} states, {self.starts:,} starts)"
            told = f"as the certificate reads the model: {self.reading}" if self.reading else ""
            return "\n".join(map(on_one_line, filter(None, (claim, told))))
        return on_one_line(f"{'UNDECIDED' if self.undecided else 'INVALID'} {self.reason}")


class RefusedError(Exception):
    """The certificate does not prove its claim; the text says why."""


__all__ = ["CertificateReport", "RefusedError"]
