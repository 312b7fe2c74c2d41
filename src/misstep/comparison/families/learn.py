"""Learn short rules that separate faulty decisions from good ones: a decision list with a cost on length.

A rule is a conjunction of conditions, some of them negated. The cost of a list of rules is counted in bits, by the
principle of minimum description length: the conditions of the rules, and the exceptions, which are good decisions that
a rule covers and faulty ones that no rule covers. A rule is added as long as the total gets shorter, so three faults
among a hundred good decisions justify one condition, and a single fault justifies none. In any case, a rule has to
cover more faults than good decisions.

A beam search extends each rule condition by condition. Conditions are rows of packed bits with one bit per decision, so
that one step of the search is a few operations on whole arrays. Of conditions that separate the same decisions, only
the one with the smallest weight is kept. Nothing is random: ties are broken by the order of the conditions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint8]
Truth = NDArray[np.bool_]  # a decision a row, a condition a column

BEAM = 12
LONGEST = 4  # conditions of a rule
MOST_RULES = 6


class Literal(NamedTuple):
    """A condition, or its negation."""

    condition: int
    positive: bool


Rule = tuple[Literal, ...]


class Learned(NamedTuple):
    rules: tuple[Rule, ...]
    exceptions: tuple[int, ...]  # good decisions that each rule covers


def learn(faulty: Truth, good: Truth, weights: Sequence[int]) -> Learned:
    """Learn rules for the faulty decisions; of two conditions, the one with the smaller weight is simpler."""
    search = _Search(faulty, good, weights)
    rules: list[Rule] = []
    while len(rules) < MOST_RULES and (rule := search.next_rule()) is not None:
        rules.append(rule)
    exceptions = tuple(int(covers(rule, good).sum()) for rule in rules)
    return Learned(tuple(rules), exceptions)


def covers(rule: Rule, truth: Truth) -> NDArray[np.bool_]:
    """Which decisions fit a rule."""
    found = np.ones(len(truth), dtype=np.bool_)
    for own in rule:
        found &= truth[:, own.condition] == own.positive
    return found


class _Search:
    def __init__(self, faulty: Truth, good: Truth, weights: Sequence[int]) -> None:
        self.faults, self.goods = len(faulty), len(good)
        self.literals = _distinct(faulty, good, weights)
        conditions = [own.condition for own in self.literals]
        flip = ~np.array([own.positive for own in self.literals], dtype=np.bool_)
        self.faulty = _packed(faulty[:, conditions] ^ flip)
        self.good = _packed(good[:, conditions] ^ flip)
        # Naming one of so many conditions, and a little more for what takes more words.
        base = math.log2(max(2, len(self.literals)))
        self.costs = np.array(
            [base + weights[own.condition] / 2 + (not own.positive) for own in self.literals]
        )
        self.left_faulty = _packed(np.ones((self.faults, 1), dtype=np.bool_))[0]
        self.left_good = _packed(np.ones((self.goods, 1), dtype=np.bool_))[0]
        self.said = 0.0  # bits of the rules so far
        self.shortest = exceptions_bits(self.goods + self.faults, self.faults)

    def next_rule(self) -> Rule | None:
        """The rule that shortens the description most; None if none does."""
        beam: list[tuple[float, tuple[int, ...], Bits, Bits]] = [
            (0.0, (), self.left_faulty, self.left_good)
        ]
        best: tuple[float, tuple[int, ...]] | None = None
        for _ in range(LONGEST):
            beam = self._longer(beam)
            for total, members, faulty, good in beam:
                if total >= (self.shortest if best is None else best[0]) - 1e-9:
                    continue
                if count(faulty[None, :])[0] > count(good[None, :])[0]:
                    best = (total, members)
        if best is None:
            return None
        members = best[1]
        for own in members:
            self.said += float(self.costs[own])
        faulty, good = self.left_faulty.copy(), self.left_good.copy()
        for own in members:
            faulty &= self.faulty[own]
            good &= self.good[own]
        self.left_faulty &= ~faulty
        self.left_good &= ~good
        self.said += 1.0
        self.shortest = best[0]
        return tuple(self.literals[own] for own in sorted(members))

    def _longer(
        self, beam: list[tuple[float, tuple[int, ...], Bits, Bits]]
    ) -> list[tuple[float, tuple[int, ...], Bits, Bits]]:
        """The best rules with one condition more, no two of which cover the same decisions."""
        ranked: list[tuple[float, float, tuple[int, ...], int]] = []
        left = self.faults + self.goods
        missed = count(self.left_faulty[None, :])[0]
        wrong = self.goods - count(self.left_good[None, :])[0]
        for place, (_, members, faulty, good) in enumerate(beam):
            hit = count(faulty & self.faulty)
            also = count(good & self.good)
            said = self.said + 1.0 + sum(float(self.costs[own]) for own in members)
            for own in np.flatnonzero(hit).tolist():
                if own in members:
                    continue
                total_hit = self.faults - missed + int(hit[own])
                total_wrong = wrong + int(also[own])
                bits = exceptions_bits(total_hit + total_wrong, total_wrong)
                bits += exceptions_bits(left - total_hit - total_wrong, self.faults - total_hit)
                whole = bits + said + float(self.costs[own])
                ranked.append((whole, float(self.costs[own]), (*members, own), place))
        ranked.sort(key=lambda entry: (round(entry[0], 6), entry[1], entry[2]))
        kept: list[tuple[float, tuple[int, ...], Bits, Bits]] = []
        seen: set[bytes] = set()
        for whole, _, members, place in ranked:
            faulty = beam[place][2] & self.faulty[members[-1]]
            good = beam[place][3] & self.good[members[-1]]
            key = faulty.tobytes() + good.tobytes()
            if key not in seen:
                seen.add(key)
                kept.append((whole, members, faulty, good))
                if len(kept) == BEAM:
                    break
        return kept


def _distinct(faulty: Truth, good: Truth, weights: Sequence[int]) -> list[Literal]:
    """One condition for each way to separate decisions, the simplest; those true for all or none are left out."""
    both = np.concatenate([faulty, good])
    rows = np.packbits(both.T, axis=1)
    turned = np.packbits(~both.T, axis=1)
    literals = [Literal(k, positive) for k in range(len(rows)) for positive in (True, False)]
    literals.sort(key=lambda own: (weights[own.condition] + (not own.positive), own.condition))
    seen: set[bytes] = set()
    found = []
    for own in literals:
        row = (rows if own.positive else turned)[own.condition]
        if both[:, own.condition].all() or not both[:, own.condition].any():
            continue
        if (key := row.tobytes()) not in seen:
            seen.add(key)
            found.append(own)
    return found


def _packed(truth: Truth) -> Bits:
    return np.packbits(truth.T, axis=1)


_ONES = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint16)


def count(rows: Bits) -> NDArray[np.int64]:
    """The number of bits set in each row."""
    found: NDArray[np.int64] = _ONES[rows].sum(axis=1, dtype=np.int64)
    return found


@lru_cache(maxsize=1 << 16)
def exceptions_bits(total: int, exceptions: int) -> float:
    """How many bits it takes to say how many and which ones are exceptions."""
    ways = (
        math.lgamma(total + 1) - math.lgamma(exceptions + 1) - math.lgamma(total - exceptions + 1)
    )
    return math.log2(total + 1) + ways / math.log(2)


__all__ = ["Learned", "Literal", "Rule", "covers", "exceptions_bits", "learn"]
