"""The inputs and results of units on planning tasks, as plain data that can be sent between processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from misstep.campaigns.rows import (
    ContradictionRow,
    Ids,
    RunRow,
    SetRow,
    StateRow,
    Values,
    VerdictRow,
)
from misstep.campaigns.tables import Snapshot


class PoolPayload(NamedTuple):
    known: Sequence[StateRow]  # the pool so far
    wanted: int  # states to find, about
    spent: float  # seconds so far


class Pooled(NamedTuple):
    fresh: tuple[StateRow, ...]
    finished: bool
    left_alone: bool  # the policy does not solve the initial state, and only such tasks are wanted


class ChunkState(NamedTuple):
    number: int
    state: Values
    walk: Ids | None  # from the initial state
    run: RunRow | None  # if the policy was run from here before


class Chunk(NamedTuple):
    oracle: str
    round: int
    part: int
    states: tuple[ChunkState, ...]


class WitnessPayload(NamedTuple):
    """States to judge by the copied proofs of another campaign, without an oracle."""

    oracle: str
    states: tuple[ChunkState, ...]
    # Those that were bugs of the policy before, if no derivation has a claim on them.
    bugs: frozenset[int]
    settle_fixed: bool  # whether an old bug is settled if the policy is as good as the witness


class Judged(NamedTuple):
    runs: tuple[RunRow, ...]
    verdicts: tuple[VerdictRow, ...]
    knowledge: Snapshot | None
    permitted: tuple[SetRow, ...] = ()  # of a set-valued policy: what the verdicts rest on
    contradictions: tuple[ContradictionRow, ...] = ()  # to runs that were made before


class SettlePayload(NamedTuple):
    oracle: str
    round: int
    parts: tuple[Snapshot, ...]  # what the chunks of the round have found
    read: tuple[tuple[StateRow, RunRow, VerdictRow], ...]  # whose verdicts to read again


class BlamePayload(NamedTuple):
    oracle: str
    members: tuple[tuple[StateRow, RunRow, VerdictRow], ...]
    blamed: frozenset[int]  # whose faults are known


__all__ = [
    "BlamePayload",
    "Chunk",
    "ChunkState",
    "Judged",
    "PoolPayload",
    "Pooled",
    "SettlePayload",
    "WitnessPayload",
]
