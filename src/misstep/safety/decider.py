"""Decide whether a state is safe: whether a strategy, or one close to the policy, avoids unsafe states for ever.

    localfix  bounds raised by propagation around the state; linear in what it looks at (the default)
    tarjan    TarjanSafe: depth-first search for a strategy, strongly connected components confirm cycles
    lrtdp     labelled real-time dynamic programming for the worst case
    lao       LAO* for the worst case
    ipi       policy iteration in passes
    vi        value iteration on everything that can be reached: the reference

All give the same answers. `tarjan-published` is TarjanSafe exactly as in the paper, which calls some states safe that
are not: it is only for comparisons, gives no strategies, and is never used for verdicts.

A decider keeps what it has proven, for all states, radii and paths to come; a limit makes a
question UNKNOWN and leaves nothing unproven behind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic

from misstep import _core
from misstep.errors import UsageError
from misstep.safety.system import LabelT, Radius, StateT, System, native_radius
from misstep.verdicts import Effort

KINDS = ("localfix", "tarjan", "lrtdp", "lao", "vi", "ipi")
PUBLISHED = "tarjan-published"  # wrong at times, see core/safety/published_tarjan.h


class Answer(Enum):
    SAFE = "safe"
    NOT_SAFE = "not safe"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Budget:
    """The budget of one question. Evaluations are nodes pushed or backed up; seconds are a safety net."""

    evaluations: int | None = 1_000_000
    expansions: int | None = None  # states expanded for the first time
    seconds: float | None = 60.0
    bytes: int | None = None

    def as_arguments(self) -> dict[str, Any]:
        return {
            "evaluations": self.evaluations,
            "expansions": self.expansions,
            "seconds": self.seconds,
            "bytes": self.bytes,
        }


PART = 8  # of a stock: what one question may take
LEAST = 200  # evaluations that every question may take, however little is left


@dataclass
class Stock:
    """Evaluations that the questions which stay open may take together; answered ones take nothing from it.

    On some models no budget is enough for most questions. Every question would then use its whole budget, and a
    campaign would never end. So a question may take an eighth of what is left: the first ones get most, and hopeless
    ones cost little in the end.
    """

    left: int

    def share(self, most: int | None) -> int:
        own = max(LEAST, self.left // PART)
        return own if most is None else min(most, own)

    def take(self, evaluations: int) -> None:
        self.left = max(0, self.left - evaluations)


@dataclass(frozen=True)
class Safety(Generic[StateT]):
    """The answer about one state and radius; `limit` names what ended the work, if UNKNOWN."""

    state: StateT
    radius: Radius
    answer: Answer
    limit: str | None = None
    effort: Effort = field(default_factory=Effort, compare=False)

    @property
    def is_safe(self) -> bool:
        return self.answer is Answer.SAFE


@dataclass(frozen=True)
class Strategy(Generic[StateT, LabelT]):
    """A strategy that avoids unsafe states from a state on: a label for each state that it can reach."""

    start: StateT
    radius: Radius
    labels: dict[StateT, LabelT]

    def __len__(self) -> int:
        return len(self.labels)


class Decider(Generic[StateT, LabelT]):
    """Answers questions about the states of one system, and remembers."""

    def __init__(
        self,
        system: System[StateT, LabelT],
        kind: str = "localfix",
        *,
        budget: Budget | None = None,
        stock: Stock | None = None,
        seed: int = 0,
        comparison: bool = False,
    ) -> None:
        if kind == PUBLISHED and not comparison:
            raise refusal_of_published()
        if kind not in KINDS and kind != PUBLISHED:
            raise UsageError(f"no decider {kind!r}", expected=", ".join(KINDS))
        self.system = system
        self.kind = kind
        self.budget = Budget() if budget is None else budget
        self.stock = stock
        self.native = _core.make_safety_decider(system.native, kind, seed)

    def decide(self, state: StateT, radius: Radius = math.inf) -> Safety[StateT]:
        decision = self.decide_id(self.system.id(state), radius)
        return Safety(state, radius, Answer(decision.answer), _limit(decision), effort_of(decision))

    def decide_id(self, id: int, radius: Radius = math.inf) -> _core.SafetyDecision:
        if self.stock is None:
            return self.native.decide(id, native_radius(radius), **self.budget.as_arguments())
        own = self.budget
        decision = self.native.decide(
            id,
            native_radius(radius),
            evaluations=self.stock.share(own.evaluations),
            expansions=own.expansions,
            seconds=own.seconds,
            bytes=own.bytes,
        )
        if decision.answer == Answer.UNKNOWN.value:
            self.stock.take(decision.evaluations)
        return decision

    def known(self, state: StateT, radius: Radius = math.inf) -> Answer:
        """What is known already, without any search."""
        return Answer(self.native.known(self.system.id(state), native_radius(radius)))

    def smallest_radius(
        self, state: StateT, largest: int = 2
    ) -> tuple[Radius | None, Safety[StateT]]:
        """The least radius up to `largest` within which the state is safe; infinity if it takes more.

        None if it is not safe, or not known, which the answer tells apart. The larger the radius, the more a policy
        has to change.
        """
        radius, decision = self.native.smallest_radius(
            self.system.id(state), native_radius(largest), **self.budget.as_arguments()
        )
        answer = Safety(
            state,
            math.inf if radius is None else radius,
            Answer(decision.answer),
            _limit(decision),
            effort_of(decision),
        )
        return radius, answer

    def strategy(self, state: StateT, radius: Radius = math.inf) -> Strategy[StateT, LabelT]:
        """A safe strategy from a state that was decided to be safe within the radius."""
        if self.kind == PUBLISHED:
            raise UsageError(
                f"{PUBLISHED} has no strategies: some of its answers are wrong",
                expected="one of " + ", ".join(KINDS),
            )
        try:
            ids, labels = self.native.strategy(self.system.id(state), native_radius(radius))
        except ValueError as error:
            raise UsageError(
                f"{state!r} is not known to be safe within radius {radius}",
                hint="decide it first",
            ) from error
        steps = zip(self.system.states(ids), self.system.labels(labels), strict=True)
        return Strategy(state, radius, dict(steps))


def refusal_of_published() -> UsageError:
    return UsageError(
        f"{PUBLISHED} is for comparisons only: it calls some states safe that are not",
        expected="one of " + ", ".join(KINDS),
        hint="'tarjan' is TarjanSafe without these errors; in Python, Decider(..., comparison=True) has the other",
    )


_NO_EFFORT = Effort()


def effort_of(decision: _core.SafetyDecision) -> Effort:
    if not (decision.evaluations or decision.expansions or decision.policy_calls):  # it was known
        return _NO_EFFORT
    return Effort(
        decision.seconds, decision.expansions, decision.evaluations, decision.policy_calls
    )


def _limit(decision: _core.SafetyDecision) -> str | None:
    return None if decision.limit == "none" else decision.limit


__all__ = [
    "KINDS",
    "PUBLISHED",
    "Answer",
    "Budget",
    "Decider",
    "Safety",
    "Stock",
    "Strategy",
    "effort_of",
    "refusal_of_published",
]
