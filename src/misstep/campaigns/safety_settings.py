"""The settings of a safety campaign: everything that decides its records."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from misstep.errors import InputFormatError, UsageError
from misstep.policies.labels.policy import INAPPLICABLE
from misstep.safety.decider import KINDS, Budget
from misstep.safety.fuzz import CONFIGURATIONS, LOOKAHEAD_CAP, FuzzSettings

SAFETY = "safety"  # what `campaign` says in the settings of such a campaign


@dataclass(frozen=True)
class SafetySettings:
    """Which policy is tested, by which runs, and who decides whether states are safe."""

    policy: str
    fuzz: str = "greedy-inf"
    runs: int = 1000
    max_steps: int = 1000
    seed: int = 0
    oracle: str = "localfix"
    radius: float = math.inf
    evaluations: int = 1_000_000  # of a question to the oracle
    lookahead_cap: int = LOOKAHEAD_CAP  # states of one lookahead of the fuzzer
    inapplicable: str | None = (
        None  # what to do with labels that do not apply; none: as the policy's interface says
    )
    campaign: str = SAFETY

    def __post_init__(self) -> None:
        if self.fuzz not in CONFIGURATIONS:
            raise UsageError(f"no fuzzing {self.fuzz!r}", expected=", ".join(CONFIGURATIONS))
        if self.oracle not in KINDS:
            raise UsageError(f"no safety oracle {self.oracle!r}", expected=", ".join(KINDS))
        if self.radius != math.inf and (self.radius < 0 or self.radius != int(self.radius)):
            raise UsageError(f"the radius is {self.radius}", expected="0, 1, 2, ... or inf")
        if self.inapplicable not in (None, *INAPPLICABLE):
            raise UsageError(
                f"inapplicable is {self.inapplicable!r}", expected=", ".join(INAPPLICABLE)
            )
        for name in ("runs", "max_steps", "evaluations", "lookahead_cap"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}", expected="a positive number")
        if not 0 <= self.seed < 2**64:
            raise UsageError(f"the seed is {self.seed}", expected=f"from 0 to {2**64 - 1}")
        self.fuzzing(1)  # refuses what is too large

    def fuzzing(self, runs: int) -> FuzzSettings:
        return dataclasses.replace(
            CONFIGURATIONS[self.fuzz],
            runs=runs,
            max_steps=self.max_steps,
            lookahead_cap=self.lookahead_cap,
        )

    @property
    def largest(self) -> int:
        """Up to which radius it is asked how severe a bug is: at least up to the one that decides what is a bug."""
        return 2 if self.radius == math.inf else max(2, int(self.radius))

    @property
    def budget(self) -> Budget:
        return Budget(evaluations=self.evaluations)

    def as_dict(self) -> dict[str, Any]:
        radius = "inf" if self.radius == math.inf else int(self.radius)
        return {**dataclasses.asdict(self), "radius": str(radius)}

    @staticmethod
    def from_dict(values: dict[str, Any], where: str) -> SafetySettings:
        try:
            return SafetySettings(**{**values, "radius": parse_radius(values["radius"])})
        except (KeyError, TypeError) as error:
            raise InputFormatError(
                f"the settings of the campaign are not as expected: {error}", where=where
            ) from None


def parse_radius(text: str) -> float:
    if text in ("inf", "infinity"):
        return math.inf
    if not text.isdecimal():
        raise UsageError(f"the radius is {text!r}", expected="0, 1, 2, ... or inf")
    return int(text)


__all__ = ["SAFETY", "SafetySettings", "parse_radius"]
