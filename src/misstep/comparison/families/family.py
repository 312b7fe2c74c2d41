"""A family of bugs, as data."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from misstep.binomial import ends
from misstep.campaigns.records import Decision
from misstep.campaigns.rows import Values


@dataclass(frozen=True)
class Measured:
    """The result of asking the policy in new states that fit the description of a family.

    `low` and `high` are the exact 95 % interval over the decided states; `worst_low` and `worst_high` also hold
    whatever the truth about the undecided states is.
    """

    asked: int  # fresh states that fit the description
    same: int  # where the policy is proven to make the same fault
    other: int  # where it is proven not to
    low: float
    high: float
    worst_low: float
    worst_high: float
    seed: int
    limit: str | None = None  # what ended the search for more states, if it was no lack of them

    @property
    def undecided(self) -> int:
        return self.asked - self.same - self.other

    @property
    def share(self) -> float | None:
        """The share among the decided states; None if no state was decided."""
        decided = self.same + self.other
        return self.same / decided if decided else None

    def as_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "undecided": self.undecided, "share": self.share}

    def __str__(self) -> str:
        if not self.asked:
            return "no fresh state fits the description" + self._why()
        open_ = f", {self.undecided} undecided" if self.undecided else ""
        if self.share is None:
            return f"none of {self.asked} fresh states was decided{self._why()}"
        return (
            f"the same fault in {self.same} of {self.same + self.other} fresh states "
            f"({ends(self.low, self.high, between='% to ')}%){open_}{self._why()}"
        )

    def _why(self) -> str:
        return "" if self.limit is None else f"; ended by the limit on {self.limit}"


@dataclass(frozen=True)
class Family:
    """Bugs with the same fault: a lifted signature, and the conditions under which the policy makes it."""

    key: str  # canonical text: domain, signature, conditions
    signature: str  # "move instead of pick"
    sentence: str
    conditions: tuple[str, ...]  # in words
    canonical: tuple[str, ...]  # the same as the key writes them
    remainder: bool  # faults of the signature that no common condition covers
    world: str
    domain: str
    records: tuple[str, ...]  # ids of bugs on whose run a fault of the family lies
    tasks: tuple[str, ...]
    worst_gap: int | None  # the largest that is finite; None: none is
    failing: int  # bugs whose gap is infinite
    faults: int  # distinct decisions
    exceptions: int  # of those: decisions that fit the description all the same
    good: int  # decisions of the same kind that are proven to be good, as many as were compared
    example: str  # id of a record
    example_task: str
    example_state: Values  # where the policy decides wrongly on the run of the example
    example_facts: tuple[str, ...]
    example_decision: Decision | None
    example_better: Decision | None
    measured: Measured | None = field(default=None, compare=False)

    @property
    def count(self) -> int:
        """The number of its bugs."""
        return len(self.records)

    def as_dict(self) -> dict[str, Any]:
        plain = dataclasses.asdict(self)
        plain["count"] = self.count
        plain["measured"] = None if self.measured is None else self.measured.as_dict()
        for name in ("conditions", "canonical", "records", "tasks", "example_facts"):
            plain[name] = list(plain[name])
        plain["example_state"] = list(self.example_state)
        return plain

    def __str__(self) -> str:
        return self.sentence


__all__ = ["Family", "Measured"]
