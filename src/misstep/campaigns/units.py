"""Units of work, and the interface between the engine and the two kinds of campaigns.

A campaign is a list of stages for each task, a stage is a list of rounds, a round is a list of units. A unit is a pure
function of the settings, the task, the policy, its key and what earlier stages and rounds have stored. So its result is
the same whichever process computes it and when, even if it is computed twice or the campaign was killed in between.
Units of one round never see each other's results, so they may be computed in any order. They are stored in the order of
the round, so that the store goes through the same sequence of contents in every session.

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
    """A piece of work. It is either completely done or not at all."""

    task: str
    stage: str
    key: str  # unique within the stage of the task
    job: str  # what a worker of this world is to do
    payload: Any = None
    # Larger data that several units need, by name; each is sent once to each worker.
    resources: Mapping[str, Any] = field(default_factory=dict)
    # 0: any process. From 1 on: a separate process with that number, so that a policy that is asked again cannot
    # remember its first answers.
    process: int = 0


@dataclass(frozen=True)
class Result:
    """The result of a unit: plain data for its stage."""

    content: Any
    seconds: float = 0.0
    policy_calls: int = 0
    remarks: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()  # that ended something before it was done
    batches: Mapping[int, int] = field(default_factory=dict)  # states of a policy call -> calls


class Stage(ABC):
    """The coordinator's side of a stage: it knows which units are left and how to store results."""

    name: str
    title: str  # for the user, as in "gripper: judging"

    def __init__(self, findings: Findings) -> None:
        self.findings = findings

    @abstractmethod
    def rounds(self) -> Iterator[Sequence[Unit]]:
        """The remaining rounds. The engine asks for the next one when all units of the last one are stored."""

    @abstractmethod
    def keep(self, unit: Unit, result: Result) -> None:
        """Store a result, within the transaction of its unit."""

    def lost(self, unit: Unit, why: str) -> Result | None:  # noqa: ARG002
        """The result to store for a unit that a limit ended, or None if the work on the task ends here."""
        return None

    def progress(self) -> tuple[int, int | None]:
        """How much of the stage is done, and the total, in items that users know, such as states."""
        return 0, None


class Work(ABC):
    """The worker's side of a stage: one task with its policy, ready to do units."""

    @abstractmethod
    def do(self, unit: Unit, resources: Mapping[str, Any]) -> Result: ...

    @abstractmethod
    def close(self) -> None:
        """End all processes and connections of the policy."""


__all__ = ["Result", "Stage", "Unit", "Work"]
