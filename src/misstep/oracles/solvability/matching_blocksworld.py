"""Matching Blocksworld: is there a plan?

A block breaks when a hand of the other polarity lets go of it, and a broken block can carry nothing new. So a broken
block that has to carry another one can only be right if it carries it already; then neither of the two may ever be
moved, nor anything below them, because the upper one could not be put back. Call these blocks fixed. A block in a hand
of the other polarity is as good as broken: it breaks when the hand lets go, and it carries nothing now.

If a fixed block is where the goal wants it, and nothing else has to be on what carries it, there is a plan: put down
what is in the hands, put every block that is not fixed on the table with the hand that matches it, which breaks
nothing, and build the goal from the bottom up, again with the hands that match.
"""

from __future__ import annotations

from misstep.oracles.solvability.situation import Situation, Step, require


class Towers:
    """Which block is on which, now and in the goal; None is the table."""

    def __init__(self, situation: Situation) -> None:
        require(
            situation.goal_is_about("on", "ontable", "clear", "handempty", "empty"),
            "matching blocksworld",
            "the goal is about more than towers",
        )
        self.below: dict[str, str | None] = {block: None for (block,) in situation.facts("ontable")}
        self.below.update(situation.pairs("on"))
        self.upon = {lower: upper for upper, lower in situation.facts("on")}
        self.held = {block: hand for hand, block in situation.facts("holding")}
        self.wanted: dict[str, str | None] = {b: None for (b,) in situation.goal("ontable")}
        self.wanted.update(situation.goal_pairs("on"))
        self.carried = {lower: upper for upper, lower in situation.goal("on")}
        self.bare = {block for (block,) in situation.goal("clear")}
        self.hands_of = _matching_hands(situation)
        solid = {block for (block,) in situation.facts("solid")}
        self.broken = {block for block in self.hands_of if block not in solid}
        self.broken |= {
            block for block, hand in self.held.items() if hand not in self.hands_of[block]
        }

    def fixed(self) -> set[str] | None:
        """Blocks that may never be moved; None if one of them is in a wrong place."""
        fixed: set[str] = set()
        waiting = []
        for carrier, upper in self.carried.items():
            if carrier in self.broken:
                if self.upon.get(carrier) != upper:
                    return None
                waiting.append(upper)
        while waiting:
            block = waiting.pop()
            if block in fixed:
                continue
            fixed.add(block)
            lower = self.below[
                block
            ]  # a block that something is on, or that is on something, is not held
            if block in self.wanted and self.wanted[block] != lower:
                return None
            if lower is not None:
                if self.carried.get(lower, block) != block or lower in self.bare:
                    return None
                waiting.append(lower)
        return fixed


def decide(situation: Situation) -> list[Step] | None:
    """The steps of a plan; None: there is none."""
    towers = Towers(situation)
    fixed = towers.fixed()
    if fixed is None:
        return None
    steps: list[Step] = [(("ontable", block),) for block in sorted(towers.held)]
    below, upon = dict(towers.below), dict(towers.upon)
    below.update(dict.fromkeys(towers.held))

    def lift(block: str) -> None:
        steps.append((("holding", towers.hands_of[block][0], block),))

    for top in [block for block in sorted(below) if block not in upon]:
        block: str | None = top
        while block is not None and block not in fixed and below[block] is not None:
            lower = below[block]
            assert lower is not None
            lift(block)
            steps.append((("ontable", block),))
            below[block] = None
            upon.pop(lower)
            block = lower
    for block in _from_the_bottom(towers.wanted):
        target = towers.wanted[block]
        if target is not None and below[block] != target:
            lift(block)
            steps.append((("on", block, target),))
            below[block] = target
    return steps


def _matching_hands(situation: Situation) -> dict[str, list[str]]:
    """The hands of each block's polarity."""
    hands: dict[str, list[str]] = {}
    for polarity in ("positive", "negative"):
        own = sorted(hand for (hand,) in situation.facts(f"hand-{polarity}"))
        blocks = [block for (block,) in situation.facts(f"block-{polarity}")]
        require(
            bool(own) or not blocks, "matching blocksworld", f"there is no {polarity} hand for them"
        )
        hands.update(dict.fromkeys(blocks, own))
    return hands


def _from_the_bottom(wanted: dict[str, str | None]) -> list[str]:
    order: list[str] = []

    def place(block: str) -> None:
        lower = wanted.get(block)
        if lower is not None and lower in wanted and lower not in order:
            place(lower)
        if block not in order:
            order.append(block)

    for block in sorted(wanted):
        place(block)
    return order
