"""A strategy that many records share, as stored in the table `strategies`: flat arrays, compressed with zlib.

A strategy gives a label for each state of a set, such that no run from any of them is unsafe. A record rests on
the part of it that is reachable from its own state (`reachable`). The content is:

    MSS1                   four letters
    states, width, steps   three numbers of 32 bits
    columns                one for each variable: a letter, then a value for each state
    labels                 a letter, then the number of the label of each state
    degrees                a letter, then how many states of the strategy each state can lead to at once
    targets                a letter, then these states, `steps` of them, in ascending order for each state

Letters are `?` for truth values and `b`, `h`, `i`, `q` for whole numbers of 8 to 64 bits, `d` for real ones; all
numbers are little-endian. Outcomes that are goals or dead ends are neither states of a strategy nor targets. Nothing in
the file is trusted: `closed` checks whether the labels apply and where they lead.
"""

from __future__ import annotations

import math
import struct
import sys
from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property

from misstep.checking.errors import CheckError
from misstep.checking.jani.operators import Scalar
from misstep.checking.stored import unpacked

MAGIC = b"MSS1"
LARGEST_STRATEGY = 1_000_000  # states; larger ones are checked, but not stored
MAX_BYTES = 2**29  # of one that is decompressed
MAX_WIDTH = 100_000
LETTERS = "?bhiqd"
State = tuple[Scalar, ...]


class SharedStrategy:
    """States are numbered from 0."""

    def __init__(
        self,
        columns: Sequence[Sequence[Scalar]],
        labels: Sequence[int],
        degrees: Sequence[int],
        targets: Sequence[int],
    ) -> None:
        self.columns = columns
        self.labels = labels
        self.targets = targets
        self.offsets = [0]
        for degree in degrees:
            self.offsets.append(self.offsets[-1] + degree)

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def states(self) -> list[State]:
        return list(zip(*self.columns, strict=True))

    @cached_property
    def numbers(self) -> dict[State, int]:
        """The number of each state; an error if a state is listed twice."""
        found = {state: number for number, state in enumerate(self.states)}
        if len(found) != len(self):
            raise CheckError("the strategy has a state twice")
        return found

    def successors(self, number: int) -> Sequence[int]:
        return self.targets[self.offsets[number] : self.offsets[number + 1]]

    def reachable(self, state: State) -> list[int]:
        """The states that are reachable from one of them, in ascending order; empty if it is not one of them."""
        start = self.numbers.get(state)
        if start is None:
            return []
        seen = bytearray(len(self))
        seen[start] = 1
        reached = [start]
        for number in reached:  # grows
            for other in self.successors(number):
                if not seen[other]:
                    seen[other] = 1
                    reached.append(other)
        reached.sort()
        return reached


def read_shared(content: object, states: object) -> SharedStrategy:
    """The content of a row of the table; `states` is the claimed number of states."""
    data = memoryview(unpacked(content, MAX_BYTES))
    if len(data) < 16 or bytes(data[:4]) != MAGIC:
        raise CheckError("the strategy is damaged: it does not begin as one")
    count, width, steps = struct.unpack_from("<III", data, 4)
    if count != states or not 0 < count <= LARGEST_STRATEGY or not 0 < width <= MAX_WIDTH:
        raise CheckError(f"the strategy is damaged: {count} states of {width} values, not {states}")
    at = 16
    columns: list[Sequence[Scalar]] = []
    for _ in range(width):
        column, at = _column(data, at, count, LETTERS)
        columns.append(column)
    parts: list[Sequence[int]] = []
    for length in (count, count, steps):
        part, at = _column(data, at, length, "bhiq")
        parts.append([int(value) for value in part])
    labels, degrees, targets = parts
    if at != len(data):
        raise CheckError("the strategy is damaged: something follows it")
    if min(labels) < 0 or min(degrees) < 0 or sum(degrees) != steps:
        raise CheckError("the strategy is damaged: its labels or degrees are none")
    if targets and not 0 <= min(targets) <= max(targets) < count:
        raise CheckError("the strategy is damaged: it leads to states that it does not have")
    return SharedStrategy(columns, labels, degrees, targets)


def _column(data: memoryview, at: int, length: int, letters: str) -> tuple[Sequence[Scalar], int]:
    letter = chr(data[at]) if at < len(data) else ""
    if letter not in letters or not letter:
        raise CheckError("the strategy is damaged: a column is of no known type, or missing")
    own = array("b" if letter == "?" else letter)
    end = at + 1 + length * own.itemsize
    if end > len(data):
        raise CheckError("the strategy is damaged: it is cut off")
    own.frombytes(data[at + 1 : end])
    if sys.byteorder == "big":
        own.byteswap()
    values: Sequence[Scalar] = own
    if letter == "?":
        if any(value not in (0, 1) for value in own):
            raise CheckError("the strategy is damaged: a truth value is neither true nor false")
        values = [bool(value) for value in own]
    if letter == "d":
        if not all(map(math.isfinite, own)):
            raise CheckError("the strategy is damaged: a number is infinite or undefined")
        values = [value + 0.0 for value in own]  # one zero only
    return values, end


def most_expensive_runs(
    successors: Sequence[Sequence[int]], costs: Sequence[int], starts: Iterable[int]
) -> list[float]:
    """For each state that is reachable from the starts: the largest sum of costs on a path from it.

    It is infinite if a state with a cost lies on a cycle. Strongly connected components are found by Tarjan's
    algorithm, without recursion; a component is complete before those that lead to it, so each is summed once.
    """
    count = len(successors)
    index, low = [0] * count, [0] * count  # 0: not seen
    totals: list[float] = [-1] * count  # below 0: in no component yet
    stack: list[int] = []
    clock = 0
    for start in starts:
        if index[start]:
            continue
        calls = [(start, 0)]
        while calls:
            state, place = calls.pop()
            if place == 0:
                clock += 1
                index[state] = low[state] = clock
                stack.append(state)
            else:
                low[state] = min(low[state], low[successors[state][place - 1]])
            for i in range(place, len(successors[state])):
                other = successors[state][i]
                if not index[other]:
                    calls += [(state, i + 1), (other, 0)]
                    break
                if totals[other] < 0:
                    low[state] = min(low[state], index[other])
            else:
                if low[state] == index[state]:
                    _sum_up(state, stack, successors, costs, totals)
    return totals


def _sum_up(
    root: int,
    stack: list[int],
    successors: Sequence[Sequence[int]],
    costs: Sequence[int],
    totals: list[float],
) -> None:
    """The total of a component, whose states are those on the stack from its root on."""
    place = len(stack) - 1
    while stack[place] != root:
        place -= 1
    members = stack[place:]
    del stack[place:]
    own = set(members)
    cyclic = len(members) > 1 or root in successors[root]
    spent: float = sum(costs[member] for member in members)
    if cyclic and spent:
        spent = math.inf
    after = (totals[o] for member in members for o in successors[member] if o not in own)
    total = spent + max(after, default=0)
    for member in members:
        totals[member] = total


__all__ = ["LARGEST_STRATEGY", "MAGIC", "SharedStrategy", "most_expensive_runs", "read_shared"]
