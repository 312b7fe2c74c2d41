"""What is kept of a campaign, as plain data: names, numbers and tuples.

Records know nothing of tasks, policies and oracles, so that whatever reads them (reports, the checker, a script of a
user) needs none of those. Operators appear by name, because a plan is replayed by name. An infinite number
is `None`: a gap that is infinite, an upper bound that nobody has, a lower bound of an unsolvable state.

`TestedState` is the joined view, one for each state that was tested; `as_dict` is the line of `misstep records --json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from misstep.errors import UsageError

Values = tuple[int, ...]
"""A state: one value for each variable."""
Names = tuple[str, ...]
"""Operators, by name."""
Number = int | float

OUTCOMES = ("goal", "loop", "stuck", "inapplicable", "error", "cut")
FAILING = ("loop", "stuck", "inapplicable", "error")
VERDICTS = ("BUG", "OPTIMAL", "UNKNOWN")
KINDS = ("fails", "costly", "unclassified")

# SQLite keeps integers in 64 bits, and so does the core.
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class PoolRecord:
    """A state of the pool and the walk that led to it."""

    task: str
    index: int
    """Place in the order of generation, from 0."""
    state: Values
    reference: int | None = None
    """The pool state where the walk began; None for the initial state and for states from elsewhere."""
    walk: Names = ()
    iteration: int = 0
    """The round of the fuzzer that made it: resuming goes on after the last one."""
    seconds: float = 0.0
    """Time since the pool state before."""

    def __post_init__(self) -> None:
        _check_state(self.state)
        _check_count(index=self.index, iteration=self.iteration)
        if self.reference is not None and not 0 <= self.reference < self.index:
            raise UsageError(
                f"pool state {self.index} refers to pool state {self.reference}",
                expected="one that came before it",
            )


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What the policy did from a pool state."""

    task: str
    state: Values
    outcome: str
    steps: int
    cost: int
    """Cost of the steps taken, also of a run that failed or was cut."""
    operators: Names = ()
    message: str | None = None

    def __post_init__(self) -> None:
        _check_state(self.state)
        _check_count(steps=self.steps, cost=self.cost)
        _check_choice("outcome", self.outcome, OUTCOMES)


@dataclass(frozen=True, slots=True)
class VerdictRecord:
    """What the oracles say about a pool state."""

    task: str
    state: Values
    verdict: str
    kind: str | None = None
    """How a BUG shows; None for the other verdicts."""
    gap_low: int | None = 0
    gap_high: int | None = None
    upper_bound: int | None = None
    """A cost at which the goal can be reached."""
    lower_bound: int | None = 0
    """A cost below which it cannot."""
    oracle: str | None = None
    witness: Names | None = None
    """The plan that the upper bound stands on, if there is one."""
    seconds: float = 0.0
    expansions: int = 0
    evaluations: int = 0
    derivation: tuple[Mapping[str, Any], ...] | None = None
    """What the upper bound stands on if no plan does: operators, and jumps to dominated states."""

    def __post_init__(self) -> None:
        _check_state(self.state)
        _check_choice("verdict", self.verdict, VERDICTS)
        if (self.kind is None) == (self.verdict == "BUG"):
            raise UsageError(f"verdict {self.verdict} with kind {self.kind}")
        if self.kind is not None:
            _check_choice("kind", self.kind, KINDS)
        _check_count(
            gap_low=self.gap_low,
            gap_high=self.gap_high,
            upper_bound=self.upper_bound,
            lower_bound=self.lower_bound,
            expansions=self.expansions,
            evaluations=self.evaluations,
        )
        for low, high in ((self.gap_low, self.gap_high), (self.lower_bound, self.upper_bound)):
            if high is not None and (low is None or low > high):
                raise UsageError(f"an interval from {low} to {high}")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened while the campaign ran: phases, limits that bit, remarks."""

    time: float
    """Seconds since 1970."""
    kind: str
    text: str = ""
    numbers: Mapping[str, Number] = field(default_factory=dict)
    task: str | None = None


@dataclass(frozen=True, slots=True)
class TestedState:
    """All that is known of one tested state."""

    __test__ = False  # not a test class, whatever pytest makes of the name

    task: str
    index: int
    state: Values
    facts: Names
    walk: Names | None
    """From the initial state of the task, all of it; None for a state that came from elsewhere."""
    outcome: str
    policy_cost: int | None
    """None if the policy does not reach the goal, or was cut before it did."""
    verdict: str
    kind: str | None
    gap: tuple[int | None, int | None]
    upper_bound: int | None
    lower_bound: int | None
    oracle: str | None
    witness: Names | None
    seconds: float
    derivation: tuple[Mapping[str, Any], ...] | None = None
    fuzzing_bug: bool | None = None
    """Whether its gap is larger than that of the state its walk began in (P22); None: the gaps do not tell."""

    @property
    def is_bug(self) -> bool:
        return self.verdict == "BUG"

    def as_dict(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "state": list(self.state),
            "facts": list(self.facts),
            "walk": None if self.walk is None else list(self.walk),
            "outcome": self.outcome,
            "policy_cost": self.policy_cost,
            "verdict": self.verdict,
            "kind": self.kind,
            "gap": list(self.gap),
            "upper_bound": self.upper_bound,
            "lower_bound": self.lower_bound,
            "oracle": self.oracle,
            "witness": None if self.witness is None else list(self.witness),
            "derivation": None if self.derivation is None else list(self.derivation),
            "seconds": self.seconds,
            "fuzzing_bug": self.fuzzing_bug,
        }


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageError(f"{name} {value!r}", expected=", ".join(choices))


def _check_count(**numbers: int | None) -> None:
    for name, value in numbers.items():
        if value is not None and not 0 <= value <= _LARGEST:
            raise UsageError(f"{name} is {value}", expected="0 to 2^63 - 1")


def _check_state(state: Values) -> None:
    if not state or min(state) < 0:
        raise UsageError(f"state {state}", expected="one value for each variable")


__all__ = [
    "FAILING",
    "KINDS",
    "OUTCOMES",
    "VERDICTS",
    "Event",
    "PoolRecord",
    "RunRecord",
    "TestedState",
    "VerdictRecord",
]
