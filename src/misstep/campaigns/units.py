"""Units of work, and what the two worlds supply to the engine.

A campaign is a list of stages for each task, a stage is a list of rounds, a round is a list of units. A unit is a pure
function of the settings, the task, the policy, its key and what earlier stages and rounds have stored. So it does not
matter who computes it, when, whether twice, or whether the campaign was killed in between: the result is the same.
Units of one round never see each other's results, which is why they may be computed in any order; they are stored in
the order of the round, so that the store is the same at every moment, too.

    planning   pool -> dominance -> judge (rounds of chunks, each ended by a settling of what it found) -> confirm
               (the policy is asked again) -> blame
    model      fuzz (batches of runs) -> judge and blame (batches of unsafe runs) -> confirm
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from misstep.campaigns.tables import Findings


@dataclass(frozen=True)
class Unit:
    """A piece of work that is done or not done."""

    task: str
    stage: str
    key: str  # unique within the stage of the task
    job: str  # what a worker of this world is to do
    payload: Any = None
    # Larger things that several units need, by name; each travels once to each worker.
    resources: Mapping[str, Any] = field(default_factory=dict)
    # 0: whoever is free. From 1 on: a process of that number which does nothing else, so that a policy that is asked
    # again knows nothing of the first time.
    process: int = 0


@dataclass(frozen=True)
class Result:
    """What came of a unit: plain data for the stage that asked for it."""

    content: Any
    seconds: float = 0.0
    policy_calls: int = 0
    remarks: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()  # that ended something before it was done
    batches: Mapping[int, int] = field(default_factory=dict)  # states of a policy call -> calls


class Stage(ABC):
    """The coordinator's side of a stage: which units are left to do, and how results are stored."""

    name: str
    title: str  # for the user, as in "gripper: judging"

    def __init__(self, findings: Findings) -> None:
        self.findings = findings

    @abstractmethod
    def rounds(self) -> Iterator[Sequence[Unit]]:
        """The rounds that are left. The next one is asked for when all units of the last are stored."""

    @abstractmethod
    def keep(self, unit: Unit, result: Result) -> None:
        """Store a result, within the transaction of its unit."""

    def lost(self, unit: Unit, why: str) -> Result | None:  # noqa: ARG002
        """What to store for a unit that a limit ended; None: the work on the task ends here."""
        return None

    def progress(self) -> tuple[int, int | None]:
        """How much of the stage is done, of how much, in things that users count."""
        return 0, None


class Work(ABC):
    """A worker's side: one task with its policy, ready to do units."""

    @abstractmethod
    def do(self, unit: Unit, resources: Mapping[str, Any]) -> Result: ...

    @abstractmethod
    def close(self) -> None:
        """End what the policy has started."""


__all__ = ["Result", "Stage", "Unit", "Work"]
