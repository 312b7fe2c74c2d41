"""The settings of a campaign: everything that decides its records."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from misstep.errors import InputFormatError, UsageError
from misstep.fuzzing.settings import Settings as FuzzingSettings
from misstep.oracles.grammar import DEFAULT_ORACLE
from misstep.oracles.verdict import Objective
from misstep.runs.runner import DEFAULT_MAX_STEPS


@dataclass(frozen=True)
class CampaignSettings:
    """Which policy is tested, on which pools, by which oracles."""

    policy: str
    oracle: str = DEFAULT_ORACLE
    objective: str = Objective.COST.value
    seed: int = 0
    max_steps: int = DEFAULT_MAX_STEPS  # of a run
    # States tested together, on one bound store: the unit of work, the same whoever does it and in whatever order.
    chunk: int = 25
    require_solved: bool = False  # leave tasks alone whose initial state the policy does not solve
    fuzzing: FuzzingSettings = field(default_factory=FuzzingSettings)

    def __post_init__(self) -> None:
        if self.objective not in {objective.value for objective in Objective}:
            raise UsageError(f"no objective {self.objective!r}", expected="cost or goal")
        for name in ("max_steps", "chunk"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}", expected="a positive number")

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any], where: str) -> CampaignSettings:
        try:
            fuzzing = dict(values["fuzzing"])
            # What is None in the settings is absent in the file.
            for option in dataclasses.fields(FuzzingSettings):
                fuzzing.setdefault(option.name, None)
            return CampaignSettings(**{**values, "fuzzing": FuzzingSettings(**fuzzing)})
        except (KeyError, TypeError) as error:
            raise InputFormatError(
                f"the settings of the campaign are not as expected: {error}", where=where
            ) from None


__all__ = ["CampaignSettings"]
