"""The parameters of the fuzzers, with the values of the papers as presets."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from misstep._core import NoveltyStore
from misstep.errors import UsageError

ALGORITHMS = ("2022", "2024")
# P22 weighs a successor by the length of the policy's whole run, or not at all.
BIASES = {
    "2022": ("none", "policy-length"),
    "2024": ("none", "policy-cost", "loop", "detour", "surface"),
}
ESTIMATES = ("ff", "h*")
DEAD_ENDS = ("none", "hmax", "search", "exact")
HOUR = 3600.0
MAX_WALKS = 1024


def _one_of(what: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageError(f"no {what} {value!r}", expected=", ".join(choices))


def _positive(name: str, value: object) -> None:
    if not isinstance(value, int) or _is_bool(value) or value < 1 or value >= 2**32 - 1:
        _wrong(name, value, "a positive number below 2^32 - 1")


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))


def _wrong(name: str, value: object, expected: str) -> None:
    raise UsageError(f"{name} is {value!r}", expected=expected)


@dataclass(frozen=True)
class Settings:
    """Everything that decides what a fuzzer does, but the seed. In parentheses the name in the papers."""

    algorithm: str = "2024"
    max_states: int = 100  # of the pool (N)
    max_walk_length: int = 5  # (L)
    # Walks under way at once: walk n starts from the pool as of walk n - W. 1 as in the papers; more for slow policies.
    walks: int = 1
    bias: str = "detour"
    # Each walk ignores the bias with this probability. On 74 pairs of policies and tasks a tenth finds 2 % fewer bugs
    # than none but 3 % more distinct faults, and some bug on two pairs more (misstep experiment defaults).
    unbiased_share: float = 0.1
    estimate: str = "ff"  # the h of the bias: hFF, or h*
    state_budget: int | None = 50  # steps of one run (B_state); None: the step limit of all runs
    # Steps of all runs of an expansion (B_expansion); None: no limit.
    expansion_budget: int | None = 200
    infinite_failures: bool = True  # a run that fails weighs infinitely, whatever the bias
    novelty: int = (
        0  # a new state needs a new fact (1), pair (2) or triple of facts (3) (D); 0: off
    )
    dead_ends: str = "hmax"  # which successors are known to be dead ends
    dead_end_expansions: int = 200  # of the search for a dead end
    exact_states: int = 1_000_000  # enumerate at most that many states for h* and exact dead ends
    # Where there are more: evaluations of one A* search for h*. Its lower bound counts if that is not enough.
    estimate_evaluations: int = 1_000
    max_iterations: int | None = 10_000_000  # of the outer loop
    time_limit: float | None = HOUR  # seconds, a safety net (T)
    patience: int = 10_000  # iterations without a new state before something is done about it
    # What is done: from then on the choice is uniform with this probability, so that no successor is left at
    # weight 0. With 0, or if that does not help either, the fuzzer stops.
    min_weight: float = 0.1

    def __post_init__(self) -> None:
        _one_of("algorithm", self.algorithm, ALGORITHMS)
        _one_of(f"bias of the {self.algorithm} fuzzer", self.bias, BIASES[self.algorithm])
        _one_of("estimate", self.estimate, ESTIMATES)
        _one_of("dead-end filter", self.dead_ends, DEAD_ENDS)
        for name in ("max_states", "max_walk_length", "patience"):
            _positive(name, getattr(self, name))
        _positive("walks", self.walks)
        if self.walks > MAX_WALKS:
            _wrong("walks", self.walks, f"1 to {MAX_WALKS}")
        for name in ("dead_end_expansions", "exact_states", "estimate_evaluations"):
            _positive(name, getattr(self, name))
        for name in ("state_budget", "expansion_budget", "max_iterations"):
            if getattr(self, name) is not None:
                _positive(name, getattr(self, name))
        if self.novelty is None:  # in a file of settings, nothing can stand for it
            object.__setattr__(self, "novelty", 0)
        if _is_bool(self.novelty) or self.novelty not in range(NoveltyStore.MAX_ARITY + 1):
            _wrong("novelty", self.novelty, "1, 2 or 3; 0 for off")
        limit = self.time_limit
        if limit is not None and (_is_bool(limit) or not _is_number(limit) or not limit > 0):
            _wrong("time_limit", limit, "seconds, more than 0")
        for name in ("min_weight", "unbiased_share"):
            share = getattr(self, name)
            if _is_bool(share) or not _is_number(share) or not 0 <= share <= 1:
                _wrong(name, share, "0 to 1")

    @property
    def needs_policy(self) -> bool:
        return self.bias != "none"

    @property
    def needs_h_star(self) -> bool:
        return self.bias in ("loop", "detour", "surface") and self.estimate == "h*"

    @property
    def needs_state_space(self) -> bool:
        return self.needs_h_star or self.dead_ends == "exact"


PRESETS: dict[str, Settings] = {
    "p22": Settings(
        algorithm="2022",
        max_states=200,
        bias="policy-length",
        unbiased_share=0.0,
        state_budget=None,
        expansion_budget=None,
        infinite_failures=False,
        novelty=2,
        time_limit=5 * HOUR,
    ),
    # Unbiased; says nothing of a novelty filter.
    "p23": Settings(
        algorithm="2022",
        max_states=200,
        bias="none",
        unbiased_share=0.0,
        state_budget=None,
        expansion_budget=None,
        infinite_failures=False,
        time_limit=8 * HOUR,
    ),
    "p24": Settings(unbiased_share=0.0),
    # P24 with larger batches, for policies that take long to answer one question and not much longer to answer many.
    "slow": Settings(unbiased_share=0.0, walks=16),
}


def preset(name: str, **changes: Any) -> Settings:
    """The settings of a paper, with changes: `preset("p24", bias="loop")`."""
    _one_of("preset", name, tuple(PRESETS))
    known = {field.name for field in dataclasses.fields(Settings)}
    for change in changes:
        _one_of("setting", change, tuple(sorted(known)))
    return dataclasses.replace(PRESETS[name], **changes)


__all__ = ["PRESETS", "Settings", "preset"]
