"""Several tasks as one graph, so that a minibatch costs one pass through the network however many tasks it mixes.

The modules of an ASNet are shared by all ground operators of a schema and all facts of a predicate, in any task.
So a minibatch of b states of tasks T1, T2, ... is one big task whose operators and facts are those of all its states
side by side: each schema then needs one matrix product instead of one for each task, and the number of calls, which
is what small networks spend their time on, no longer grows with the number of tasks.

A plan fixes how many states of each task a minibatch has. Everything that does not depend on which states these are
(how rows are related) is computed once for the plan, with numpy; a minibatch then is a few gathers.

Rows are ordered by schema (or predicate), then task, then place in the minibatch, then operator (or fact).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from misstep.policies.asnet.shape import Shape
from misstep.policies.asnet.structure import ALWAYS, MISSING, Structure
from misstep.policies.policy import States

Ids = NDArray[np.int64]
Bytes = NDArray[np.int8]


class Encoder:
    """What the first layer reads of the states of a task: small numbers that no weight influences."""

    def __init__(self, structure: Structure, operator_count: int) -> None:
        self.structure = structure
        self.operator_count = operator_count
        always = structure.fact_variable == ALWAYS
        self._always = always
        self._variable = np.where(always, 0, structure.fact_variable)
        # MISSING is the last fact, which is neither true nor false nor a goal but -1.
        self._goal = np.append(structure.fact_goal, -1).astype(np.int8)

    def schema_rows(self, states: States, applicable: NDArray[np.bool_]) -> list[Bytes]:
        """For each schema (states, operators, 2k + 1): truth of each slot, goal flags, applicability."""
        s = self.structure
        holds = (states[:, self._variable] == s.fact_value) | self._always
        truths = np.concatenate(
            [holds.astype(np.int8), np.full((len(states), 1), -1, np.int8)], axis=1
        )
        rows = []
        for a, related in enumerate(s.related):
            own = s.operators[s.schema_begin[a] : s.schema_begin[a + 1]]
            goals = np.broadcast_to(self._goal[related], (len(states), *related.shape))
            applies = applicable[:, own, None].astype(np.int8)
            rows.append(np.concatenate([truths[:, related], goals, applies], axis=2))
        return rows


@dataclass(frozen=True)
class Plan:
    """The graph of minibatches with `copies[t]` states of task t."""

    shape: Shape
    structures: tuple[Structure, ...]
    operator_counts: tuple[int, ...]
    copies: tuple[int, ...]

    @cached_property
    def task_of_place(self) -> Ids:
        return np.repeat(np.arange(len(self.copies)), self.copies)

    @cached_property
    def places(self) -> int:
        return sum(self.copies)

    # -- rows -------------------------------------------------------------------------------------

    @cached_property
    def _first_place(self) -> Ids:
        return np.concatenate([[0], np.cumsum(self.copies)]).astype(np.int64)

    def _counts(self, kind: str) -> Ids:
        """Task x group: operators of each schema, or facts of each predicate."""
        begins = [np.asarray(getattr(s, kind), np.int64) for s in self.structures]
        stacked = np.stack(begins)
        return stacked[:, 1:] - stacked[:, :-1]

    @cached_property
    def operator_groups(self) -> Ids:
        """Rows of each schema."""
        counts = self._counts("schema_begin") * np.array(self.copies)[:, None]
        return np.asarray(counts.sum(axis=0))

    @cached_property
    def fact_groups(self) -> Ids:
        """Rows of each predicate."""
        counts = self._counts("predicate_begin") * np.array(self.copies)[:, None]
        return np.asarray(counts.sum(axis=0))

    def _first_rows(self, kind: str) -> Ids:
        """Task x group: the row of the first item of the first state."""
        counts = self._counts(kind) * np.array(self.copies)[:, None]
        totals = counts.sum(axis=0)
        group_begin = np.concatenate([[0], np.cumsum(totals)[:-1]])
        before = np.concatenate([np.zeros((1, counts.shape[1]), np.int64), counts.cumsum(axis=0)])
        return np.asarray(group_begin[None, :] + before[:-1])

    @cached_property
    def operator_rows(self) -> int:
        return int(self.operator_groups.sum())

    @cached_property
    def fact_rows(self) -> int:
        return int(self.fact_groups.sum())

    @cached_property
    def place_of_row(self) -> list[Ids]:
        """Of each operator row of each schema: its place in the minibatch."""
        counts = self._counts("schema_begin")
        return [
            np.repeat(np.arange(self.places), np.repeat(counts[:, a], self.copies))
            for a in range(len(self.shape.schemas))
        ]

    @cached_property
    def local_of_row(self) -> list[Ids]:
        """Of each operator row: its number among the operators of its schema and state."""
        counts = self._counts("schema_begin")
        return [
            np.concatenate(
                [np.empty(0, np.int64)]
                + [np.tile(np.arange(counts[t, a]), c) for t, c in enumerate(self.copies)]
            )
            for a in range(len(self.shape.schemas))
        ]

    def _operator_row(self, task: int) -> Ids:
        """Copies x operators (in the order of the structure) of one task."""
        s = self.structures[task]
        counts = self._counts("schema_begin")[task]
        first = self._first_rows("schema_begin")[task]
        schema = np.repeat(np.arange(len(counts)), counts)
        local = np.arange(len(s.operators)) - np.asarray(s.schema_begin, np.int64)[schema]
        copy = np.arange(self.copies[task])[:, None]
        return np.asarray(first[schema] + copy * counts[schema] + local)

    def _fact_row(self, task: int) -> Ids:
        """Copies x facts of one task."""
        s = self.structures[task]
        counts = self._counts("predicate_begin")[task]
        first = self._first_rows("predicate_begin")[task]
        predicate = np.repeat(np.arange(len(counts)), counts)
        local = np.arange(len(s.facts)) - np.asarray(s.predicate_begin, np.int64)[predicate]
        copy = np.arange(self.copies[task])[:, None]
        return np.asarray(first[predicate] + copy * counts[predicate] + local)

    # -- relations --------------------------------------------------------------------------------

    @cached_property
    def related(self) -> list[Ids]:
        """Of each schema (rows, slots): the row of the related fact, `fact_rows + operator_rows` if MISSING."""
        missing = self.fact_rows + self.operator_rows
        parts: list[list[Ids]] = [[] for _ in self.shape.schemas]
        for t, s in enumerate(self.structures):
            rows = self._fact_row(t)
            rows = np.concatenate([rows, np.full((len(rows), 1), missing)], axis=1)
            for a, related in enumerate(s.related):
                own = rows[:, np.where(related == MISSING, rows.shape[1] - 1, related)]
                parts[a].append(own.reshape(-1, related.shape[1]))
        return [np.concatenate(own).astype(np.int64) for own in parts]

    @cached_property
    def action_index(self) -> Ids:
        """What the rows of an action layer read in the table of facts, operators and a -1: slots, then itself."""
        parts = []
        begin = self.fact_rows
        for related in self.related:
            own = begin + np.arange(len(related))[:, None]
            parts.append(np.concatenate([related, own], axis=1).ravel())
            begin += len(related)
        return np.concatenate([np.empty(0, np.int64), *parts])

    @cached_property
    def pools(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Members and offsets of the segments that a proposition layer takes the maximum of: operator rows, for each
        predicate, fact and relation."""
        relations = self.shape.relations
        fact_begin = np.concatenate([[0], np.cumsum(self.fact_groups)])
        segment_begin = np.concatenate(
            [
                [0],
                np.cumsum(
                    [int(n) * len(r) for n, r in zip(self.fact_groups, relations, strict=True)]
                ),
            ]
        )
        segments, members = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        operator_begin = np.concatenate([[0], np.cumsum(self.operator_groups)])
        for p, own in enumerate(relations):
            for r, (a, k) in enumerate(own):
                facts = self.related[a][:, k]
                there = np.flatnonzero(facts < self.fact_rows)
                segments.append(segment_begin[p] + (facts[there] - fact_begin[p]) * len(own) + r)
                members.append(operator_begin[a] + there)
        segment, member = np.concatenate(segments), np.concatenate(members)
        order = np.argsort(segment, kind="stable")
        lengths = np.bincount(segment, minlength=int(segment_begin[-1]))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return member[order].astype(np.int32), offsets.astype(np.int32)

    # -- outputs ----------------------------------------------------------------------------------

    @cached_property
    def output_index(self) -> Ids:
        """Places x most operators of a task: the row of each operator id; beyond those, the row after all."""
        width = max(self.operator_counts)
        table = np.full((self.places, width), self.operator_rows, np.int64)
        for t, s in enumerate(self.structures):
            begin = self._first_place[t]
            block = np.full((self.copies[t], width), self.operator_rows, np.int64)
            block[:, s.operators] = self._operator_row(t)
            table[begin : begin + self.copies[t]] = block
        return table


def share_places(weights: Sequence[float], batch_size: int) -> tuple[int, ...]:
    """How many of `batch_size` places each task gets: in proportion, but at least one if the task has data."""
    wanted = np.array(weights, np.float64)
    present = wanted > 0
    if not present.any():
        return tuple(0 for _ in weights)
    exact = wanted / wanted.sum() * batch_size
    copies = np.maximum(np.floor(exact), present).astype(np.int64)
    # What is left goes to the largest remainders, the first of equals.
    rest = np.argsort(-(exact - np.floor(exact)), kind="stable")
    for t in rest:
        if copies.sum() >= batch_size:
            break
        if present[t]:
            copies[t] += 1
    while copies.sum() > batch_size and copies.max() > 1:
        copies[int(np.argmax(copies))] -= 1
    return tuple(int(c) for c in copies)


__all__ = ["Encoder", "Plan", "share_places"]
