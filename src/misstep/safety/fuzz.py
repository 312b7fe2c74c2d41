"""Look for runs of a policy into unsafe states: by fuzzing, or by exploring all states that the policy can reach.

The fuzzer chooses outcomes against the policy, guided by an estimated distance to unsafe states. If it finds no run,
that proves nothing. `envelope` finds a shortest unsafe run, or proves that there is none, if the policy reaches few
enough states.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic

from misstep import _core
from misstep.errors import PolicyCrashError, PolicyTimeoutError, UsageError
from misstep.safety.decider import Answer, Budget
from misstep.safety.system import LabelT, StateT, System
from misstep.verdicts import Effort

SELECT = ("greedy", "sample", "uniform", "probable")
STOP, GO_ON = ON_REVISIT = ("stop", "go-on")
NEW, ALL = LAYERS = ("new", "all")
OWN, TO_UNSAFE = DISTANCES = ("model", "unsafe")
ENDS = ("unsafe", "exhausted", "step limit", "revisit")
# A run ends where the policy crashes (error) or does not answer in time (timeout). For safety neither is a bug.
ERROR, TIMEOUT = "error", "timeout"
PATIENCE = 3  # runs without an answer, one after the other; then a program that hangs is not waited for any more
LOOKAHEAD_CAP = 1_000


@dataclass(frozen=True)
class FuzzSettings:
    """How outcomes are chosen. The paper found most bugs with infinite lookahead and greedy selection.

    `probable` draws them by the model's probabilities, without a lookahead.
    """

    select: str = "greedy"
    lookahead: float = math.inf  # layers
    # States of one lookahead. It bites where states hardly ever merge, as real-valued ones: none is ever closest alone.
    lookahead_cap: int = LOOKAHEAD_CAP
    max_steps: int = 1000  # a run that is longer is not continued
    # What happens where a run comes back to a state, the same for every selection. A run that goes on ends there
    # nevertheless if nothing was left to chance since the first visit: it would go round for ever.
    on_revisit: str = GO_ON
    # The states of a layer of the lookahead: those met there for the first time, or all that many steps away, also by
    # a detour, as Algorithm 1 of the paper says.
    layers: str = NEW
    # Which distance guides: the model's own, where it has one, or the distance to its unsafety condition alone.
    distance: str = OWN
    runs: int = 1000
    seconds: float | None = None  # a safety net, looked at between runs

    def __post_init__(self) -> None:
        if self.select not in SELECT:
            raise UsageError(f"no selection {self.select!r}", expected=", ".join(SELECT))
        for name, choices in (
            ("on_revisit", ON_REVISIT),
            ("layers", LAYERS),
            ("distance", DISTANCES),
        ):
            if getattr(self, name) not in choices:
                raise UsageError(
                    f"{name} is {getattr(self, name)!r}", expected=" or ".join(choices)
                )
        if self.select == "probable" and self.lookahead != 1:
            raise UsageError(
                f"the lookahead is {self.lookahead!r}", expected="1 where outcomes are drawn"
            )
        for name in ("lookahead", "lookahead_cap", "max_steps", "runs"):
            value = getattr(self, name)
            whole = value == math.inf if name == "lookahead" else False
            if not whole and (isinstance(value, bool) or not 1 <= value < 2**32 - 1):
                raise UsageError(f"{name} is {value!r}", expected="from 1 to 4294967294")
            if not whole and value != int(value):
                raise UsageError(f"{name} is {value!r}", expected="a whole number")

    def fuzzer(self, system: System[StateT, LabelT]) -> _core.SafetyFuzzer:
        if self.select == "probable" and not system.native.has_probabilities:
            raise UsageError(
                "the model has no probabilities to draw outcomes by",
                expected="a JANI model, or an object with probabilities(state, label)",
            )
        return _core.SafetyFuzzer(
            system.native,
            select=self.select,
            lookahead=None if self.lookahead == math.inf else int(self.lookahead),
            lookahead_cap=self.lookahead_cap,
            max_steps=self.max_steps,
            stop_on_revisit=self.on_revisit == STOP,
            all_layers=self.layers == ALL,
            plain_distance=self.distance == TO_UNSAFE,
        )


# The configurations of the paper.
CONFIGURATIONS = {
    "uniform-1": FuzzSettings("uniform", 1),
    "greedy-1": FuzzSettings("greedy", 1),
    "sample-1": FuzzSettings("sample", 1),
    "greedy-inf": FuzzSettings("greedy"),
    "sample-inf": FuzzSettings("sample"),
}
# All that a campaign may ask for.
FUZZINGS = {**CONFIGURATIONS, "probable": FuzzSettings("probable", 1)}


@dataclass(frozen=True)
class UnsafeRun(Generic[StateT, LabelT]):
    """A run of the policy; its last state is unsafe, none before is."""

    states: tuple[StateT, ...]
    labels: tuple[LabelT, ...]
    number: int | None = None  # of the fuzzer's run

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class FuzzReport(Generic[StateT, LabelT]):
    seed: int
    settings: FuzzSettings
    runs: tuple[
        UnsafeRun[StateT, LabelT], ...
    ]  # distinct ones that ended unsafe, as they were found
    ends: dict[str, int]  # how all runs ended
    unsafe_starts: int  # runs that were unsafe before the first step: no bug of any policy
    steps: int
    looked_at: int  # states met by lookaheads
    cut_lookaheads: int  # that met so many states that they took one of several closest ones
    limit: str | None = None  # "time" if there was none left for all runs
    message: str | None = (
        None  # of the first run that the policy ended by crashing or not answering
    )
    effort: Effort = field(default_factory=Effort, compare=False)


def fuzz(
    system: System[StateT, LabelT],
    settings: FuzzSettings | None = None,
    *,
    seed: int = 0,
    starts: Iterable[StateT] | None = None,
    first: int = 0,
) -> FuzzReport[StateT, LabelT]:
    """Runs number `first` and following. A run is a function of the seed and its number alone."""
    settings = settings or FuzzSettings()
    started = time.perf_counter()
    native = system.native
    before = native.expansions, native.policy_calls
    ids = [] if starts is None else [system.id(state) for state in starts]
    if starts is not None and not ids:
        raise UsageError("there is no state to start from")
    ends: Counter[str] = Counter(dict.fromkeys(ENDS, 0))
    found: dict[tuple[int, ...], UnsafeRun[StateT, LabelT]] = {}
    unsafe_starts = steps = looked_at = cut = 0
    fuzzer = settings.fuzzer(system)
    limit = message = None
    silent = 0  # runs since the policy answered in time
    for number in range(first, first + settings.runs):
        if settings.seconds is not None and time.perf_counter() - started >= settings.seconds:
            limit = "time"
            break
        if silent == PATIENCE:
            ends[TIMEOUT] += first + settings.runs - number
            break
        try:
            (run,) = fuzzer.runs(seed, number, 1, ids)
        except (PolicyCrashError, PolicyTimeoutError) as error:
            timed_out = isinstance(error, PolicyTimeoutError)
            ends[TIMEOUT if timed_out else ERROR] += 1
            silent = silent + 1 if timed_out else 0
            message = message or error.what
            continue
        silent = 0
        ends[run.end] += 1
        steps += len(run)
        looked_at += run.looked_at
        cut += run.cut
        if run.end != "unsafe":
            continue
        path = run.states
        if len(path) == 1:
            unsafe_starts += 1
        elif tuple(path) not in found:
            found[tuple(path)] = UnsafeRun(system.states(path), system.labels(run.labels), number)
    effort = Effort(
        time.perf_counter() - started,
        native.expansions - before[0],
        0,
        native.policy_calls - before[1],
    )
    return FuzzReport(
        seed,
        settings,
        tuple(found.values()),
        dict(ends),
        unsafe_starts,
        steps,
        looked_at,
        cut,
        limit,
        message,
        effort,
    )


@dataclass(frozen=True)
class Envelope(Generic[StateT, LabelT]):
    """The states that the policy can reach. SAFE proves that its runs are never unsafe; NOT_SAFE comes with a shortest
    unsafe run."""

    answer: Answer
    run: UnsafeRun[StateT, LabelT] | None
    reached: int  # states
    dead_ends: int
    stops: int  # states where the policy names no label that applies
    limit: str | None = None


def envelope(
    system: System[StateT, LabelT], starts: Sequence[StateT], budget: Budget | None = None
) -> Envelope[StateT, LabelT]:
    """All runs of the policy from these states. The budget's expansions are states of the envelope."""
    budget = budget or Budget(expansions=1_000_000)
    found = _core.explore_envelope(
        system.native,
        [system.id(state) for state in starts],
        expansions=budget.expansions,
        seconds=budget.seconds,
        bytes=budget.bytes,
    )
    run = None
    if found.states:
        run = UnsafeRun(system.states(found.states), system.labels(found.labels))
    answer = (
        Answer.SAFE if found.is_safe else Answer.NOT_SAFE if run is not None else Answer.UNKNOWN
    )
    limit = None if found.limit == "none" else found.limit
    return Envelope(answer, run, found.reached, found.dead_ends, found.stops, limit)


__all__ = [
    "CONFIGURATIONS",
    "DISTANCES",
    "FUZZINGS",
    "LAYERS",
    "LOOKAHEAD_CAP",
    "ON_REVISIT",
    "Envelope",
    "FuzzReport",
    "FuzzSettings",
    "UnsafeRun",
    "envelope",
    "fuzz",
]
