"""How severe bugs are: the least number of deviations from the policy that avoids unsafe states, for many states.

Whether a state is safe at all and how close to the policy a safe strategy can be are two questions of very different
cost. The first one is often answered by a short dive into a cycle. The second one forbids such cycles, since a
deviation on them counts each time round, and asks the policy about every state it looks at. So severity is a question
of its own, with a budget of its own, that no verdict waits for.

The radii are tried from 1 up: a bug lies on an unsafe run of the policy, so that 0 is ruled out. All states
are asked about one radius before any is asked about the next, so that a budget that is too small still tells the mild
bugs from the others. What it leaves open is asked again as long as a round over all states finds out anything. A
question may take an equal share of what is left of the budget, and leaves to the next ones what it does not need.

TarjanSafe answers: with small radii it evaluates a fraction of the nodes that the other deciders do. What it proves for
one state and radius holds for all others, and it begins with the states that the verdicts have shown to be lost, which
are lost within every radius.

What comes out is an interval [low, high] for each state, high None if no radius that was tried is known to be enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Generic, NamedTuple

from misstep.errors import PolicyCrashError, PolicyTimeoutError, UsageError
from misstep.safety.decider import PUBLISHED, Answer, Decider, effort_of
from misstep.safety.system import LabelT, StateT
from misstep.verdicts import Effort

SEVERITY_KIND = "tarjan"
ALLOWANCE = 200  # evaluations for each state, where a budget depends on what the verdicts took
NONE, BUGS, ALL = SEVERITIES = ("none", "bugs", "all")


class Radii(NamedTuple):
    """Between which numbers the least radius lies; no upper one is known if `high` is None."""

    low: int
    high: int | None

    @property
    def is_exact(self) -> bool:
        return self.low == self.high


@dataclass(frozen=True)
class SeverityReport(Generic[StateT]):
    radii: dict[StateT, Radii]
    budget: int  # evaluations that it might have taken
    effort: Effort = field(default_factory=Effort, compare=False)
    failure: str | None = None  # what the policy said where it failed, which ended the work


def automatic_budget(evaluations: int, states: int) -> int:
    """As many evaluations as the verdicts took, and a few for each state: most verdicts take next to none."""
    return evaluations + ALLOWANCE * states


def severities(
    decider: Decider[StateT, LabelT],
    states: Iterable[StateT],
    largest: int = 2,
    *,
    evaluations: int,
    kind: str = SEVERITY_KIND,
) -> SeverityReport[StateT]:
    """The severity of states from which the policy can get into an unsafe one; `decider` has given the verdicts.

    No radius above `largest` is tried, and all states together take at most `evaluations`. The other limits of a
    question are those of `decider`.
    """
    if largest < 1:
        raise UsageError(f"the largest radius is {largest}", expected="1 or more")
    if kind == PUBLISHED:
        raise UsageError(f"{PUBLISHED} is for comparisons only", expected="another decider")
    search: Decider[StateT, LabelT] = Decider(decider.system, kind, budget=decider.budget)
    search.native.adopt_lost(decider.native)
    ids = {state: decider.system.id(state) for state in dict.fromkeys(states)}
    found = {state: Radii(1, None) for state in ids}
    left, effort, failure = evaluations, Effort(), None
    is_news = True
    while is_news and left > 0 and failure is None:
        is_news = False
        asked = [own for own in ids if found[own].high is None and found[own].low <= largest]
        for position, state in enumerate(asked):
            radius = found[state].low
            share = left // (len(asked) - position)
            try:
                search.budget = replace(decider.budget, evaluations=share)
                decision = search.decide_id(ids[state], radius)
            except (PolicyCrashError, PolicyTimeoutError) as error:
                failure = error.what
                break
            spent = effort_of(decision)
            effort += spent
            left = max(0, left - spent.evaluations)
            if decision.answer == Answer.SAFE.value:
                found[state] = Radii(radius, radius)
            elif decision.answer == Answer.NOT_SAFE.value:
                found[state] = Radii(radius + 1, None)
            is_news = is_news or decision.answer != Answer.UNKNOWN.value
    return SeverityReport(found, evaluations, effort, failure)


__all__ = [
    "ALLOWANCE",
    "SEVERITIES",
    "SEVERITY_KIND",
    "Radii",
    "SeverityReport",
    "automatic_budget",
    "severities",
]
