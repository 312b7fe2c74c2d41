"""Remarks on the probabilities of a model: which it gives, and which it leaves open.

Whether a state is safe does not depend on probabilities: every outcome with a positive one can happen, however small it
is, and one with probability 0 cannot. Computations with probabilities (`misstep risk`, episodes of a learner) need an
assumption for the choices that the model leaves open: several edges of one label, silent edges that are steps of the
environment, and the values of a non-deterministic assignment are then equally likely. These remarks say where that
matters.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Chances:
    """Filled while the edges of a model are read."""

    impossible: list[str] = field(default_factory=list)  # places of destinations with probability 0
    given: bool = False  # some destination has another probability than 1
    shared: bool = False  # some label has several edges in one automaton
    selects: bool = False  # some assignment is non-deterministic
    silent: bool = False  # silent edges are steps of the environment

    def on_loading(self) -> tuple[str, ...]:
        """Remarks for every user of the model."""
        if not self.impossible:
            return ()
        count = len(self.impossible)
        what = "a destination has" if count == 1 else f"{count} destinations have"
        return (
            f"{what} probability 0 and {'is' if count == 1 else 'are'} left out, "
            f"{'at' if count == 1 else 'the first at'} {self.impossible[0]}; every other outcome counts as possible, "
            "however unlikely it is",
        )

    def on_probabilities(self) -> tuple[str, ...]:
        """Remarks for users who read probabilities of runs."""
        found = []
        if not self.given:
            found.append(
                "the model gives no probabilities, so that those of runs rest on what is taken as equally likely"
            )
        assumed = [
            words
            for words, holds in (
                ("edges of one label", self.shared),
                ("silent edges and those of the chosen label", self.silent),
                ("values of a non-deterministic assignment", self.selects),
            )
            if holds
        ]
        if assumed:
            found.append(f"{', '.join(assumed)}: these are taken as equally likely")
        return tuple(found)


__all__ = ["Chances"]
