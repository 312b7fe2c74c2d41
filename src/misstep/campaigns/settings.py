"""The settings of a campaign: one tree with everything that determines its records.

The tree is stored in `config.toml`, and `misstep test --config FILE` reads the same format. Limits of a session
(`Limits`) and the number of processes are not part of it, because records do not depend on them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from misstep.decoding import whole_number
from misstep.errors import InputFormatError, UsageError
from misstep.fuzzing.settings import Settings as FuzzingSettings
from misstep.oracles.presets import DEFAULT_ORACLE
from misstep.runs.outcomes import DEFAULT_LIMIT, DEFAULT_MAX_STEPS, MOST_STEPS, REVISIT
from misstep.verdicts import Objective

# Oracles and deciders are imported where a setting needs them, so that reading a campaign does not load them.
if TYPE_CHECKING:
    from misstep.safety.decider import Budget
    from misstep.safety.fuzz import FuzzSettings

PLANNING, MODEL = "planning", "model"
WORLDS = (PLANNING, MODEL)
DEFAULT_DECIDER = "localfix"
DEFAULT_FAULT_BUDGET = 200
WITNESSES, ALL = RETESTS = ("witnesses", "all")


@dataclass(frozen=True)
class PlanningSettings:
    """Settings for planning tasks: the pools, and how they are judged."""

    objective: str = Objective.COST.value
    # A chunk is the unit of judging. Chunks of one round do not see what the others find; later rounds do.
    chunk: int = 25  # states
    round: int = 4  # chunks
    isolate: bool = False  # test each state on a bound store of its own
    require_solved: bool = False  # leave tasks alone whose initial state the policy does not solve
    # Whether a run may come back to a state: stop there, or avoid it (for policies that rank operators).
    revisit: str = "stop"
    permitted_limit: int = (
        DEFAULT_LIMIT  # states that are explored from a state, of a set-valued policy
    )
    costly_some: bool = False  # of a set-valued policy: whether its dearest permitted run counts
    risk: bool = False  # of a stochastic policy: compute the probability not to reach the goal
    fuzzing: FuzzingSettings = field(default_factory=FuzzingSettings)

    def __post_init__(self) -> None:
        if self.objective not in [objective.value for objective in Objective]:
            raise UsageError(f"no objective {self.objective!r}", expected="cost or goal")
        if self.revisit not in REVISIT:
            raise UsageError(f"no revisit mode {self.revisit!r}", expected=" or ".join(REVISIT))
        for name in ("chunk", "round", "permitted_limit"):
            _check_positive(name, getattr(self, name))
        if self.permitted_limit >= 2**31:
            raise UsageError(f"permitted_limit is {self.permitted_limit}", expected="below 2^31")
        for name in ("isolate", "require_solved", "costly_some", "risk"):
            _check_truth(name, getattr(self, name))


@dataclass(frozen=True)
class ModelSettings:
    """Settings for models: the runs, and when an unsafe run counts as a bug."""

    fuzz: str = "greedy-inf"
    runs: int = 1000
    radius: str = "inf"  # deviations from the policy that may avoid unsafe states: a number, or inf
    evaluations: int = 1_000_000  # of a question to the decider
    # Evaluations for all open questions that are judged together; otherwise some models would take for ever.
    open_evaluations: int = 8_000_000
    lookahead_cap: int = 1_000  # states of one lookahead of the fuzzer
    on_revisit: str = "go-on"  # where a run comes back to a state: stop, or go-on
    layers: str = "new"  # of a lookahead: states met there for the first time (new), or all
    distance: str = "model"  # what guides the fuzzer: the model's own distance, or that to unsafe
    severity: str = "bugs"  # of which states the smallest radius is looked for: none, bugs, all
    # Evaluations for the severity of one state; auto: about as many as the verdicts took.
    severity_budget: str = "auto"
    # What to do with labels that do not apply; none: as the policy's interface says.
    inapplicable: str | None = None
    batch: int = 50  # runs that are fuzzed together; five batches are judged together
    risk: bool = False  # compute the probability of an unsafe state, and the least possible one

    def __post_init__(self) -> None:
        from misstep.policies.labels.policy import INAPPLICABLE
        from misstep.safety.fuzz import FUZZINGS
        from misstep.safety.severity import SEVERITIES

        if self.fuzz not in list(FUZZINGS):
            raise UsageError(f"no fuzzing {self.fuzz!r}", expected=", ".join(FUZZINGS))
        if self.severity not in SEVERITIES:
            raise UsageError(f"severity is {self.severity!r}", expected=", ".join(SEVERITIES))
        parse_severity_budget(self.severity_budget)
        parse_radius(self.radius)
        if self.inapplicable not in (None, *INAPPLICABLE):
            raise UsageError(
                f"inapplicable is {self.inapplicable!r}", expected=", ".join(INAPPLICABLE)
            )
        for name in ("runs", "evaluations", "open_evaluations", "lookahead_cap", "batch"):
            _check_positive(name, getattr(self, name))
        _check_truth("risk", self.risk)

    @property
    def within(self) -> float:
        """The radius as a number."""
        return parse_radius(self.radius)

    @property
    def largest(self) -> int:
        """The largest radius up to which severity is computed: at least the radius that defines a bug."""
        return 2 if self.within == math.inf else max(2, int(self.within))

    @property
    def budget(self) -> Budget:
        from misstep.safety.decider import Budget

        return Budget(evaluations=self.evaluations)

    def severity_evaluations(self, spent: int, states: int) -> int:
        """The budget for the severity of `states`, whose verdicts took `spent` evaluations."""
        from misstep.safety.severity import automatic_budget

        each = parse_severity_budget(self.severity_budget)
        return automatic_budget(spent, states) if each is None else each * states

    def fuzzing(self, runs: int, max_steps: int) -> FuzzSettings:
        from misstep.safety.fuzz import FUZZINGS

        return dataclasses.replace(
            FUZZINGS[self.fuzz],
            runs=runs,
            max_steps=max_steps,
            lookahead_cap=self.lookahead_cap,
            on_revisit=self.on_revisit,
            layers=self.layers,
            distance=self.distance,
        )


@dataclass(frozen=True)
class Settings:
    """The policy, the kind of task, the oracle, and all other settings."""

    policy: str = ""  # a settings file need not name one
    world: str = PLANNING
    oracle: str = ""  # empty: the default for this kind of task
    seed: int = 0
    max_steps: int = DEFAULT_MAX_STEPS  # of a run
    # Evaluations of heuristics for finding the faults behind one bug; None: faults are not looked for. Faults of models
    # come with the verdicts and need no budget.
    fault_budget: int | None = DEFAULT_FAULT_BUDGET
    # The number of bugs of a planning task for which faults are looked for, new bugs first; None: all.
    blame_most: int | None = None
    # For a campaign with states and witnesses of another one: which undecided states the oracle judges. All but old
    # bugs where the policy is now as good as the witness (witnesses), or all (all).
    retest: str | None = None
    planning: PlanningSettings | None = None
    model: ModelSettings | None = None

    def __post_init__(self) -> None:
        if self.retest not in (None, *RETESTS):
            raise UsageError(f"retest is {self.retest!r}", expected="none, " + ", ".join(RETESTS))
        if self.world not in WORLDS:
            raise UsageError(f"no world {self.world!r}", expected=" or ".join(WORLDS))
        is_planning = self.world == PLANNING
        if not isinstance(self.policy, str):
            raise UsageError(f"the policy is {self.policy!r}", expected="the spec of a policy")
        if not isinstance(self.oracle, str):
            raise UsageError(f"the oracle is {self.oracle!r}", expected="the spec of an oracle")
        default = DEFAULT_ORACLE if is_planning else DEFAULT_DECIDER
        object.__setattr__(self, "oracle", self.oracle or default)
        if is_planning:
            object.__setattr__(self, "planning", self.planning or PlanningSettings())
            object.__setattr__(self, "model", None)
        else:
            object.__setattr__(self, "model", self.model or ModelSettings())
            object.__setattr__(self, "planning", None)
        _check_positive("max_steps", self.max_steps)
        if self.max_steps > MOST_STEPS:
            raise UsageError(f"max_steps is {self.max_steps}", expected=f"at most {MOST_STEPS}")
        if self.fault_budget is not None:
            _check_positive("fault_budget", self.fault_budget)
        if self.blame_most is not None:
            _check_positive("blame_most", self.blame_most)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise UsageError(f"the seed is {self.seed!r}", expected="a whole number")
        if not 0 <= self.seed < 2**64:
            raise UsageError(f"the seed is {self.seed}", expected=f"from 0 to {2**64 - 1}")
        if self.model is not None:
            self.model.fuzzing(1, self.max_steps)  # refuses what is too large

    @property
    def of_planning(self) -> PlanningSettings:
        assert self.planning is not None
        return self.planning

    @property
    def of_model(self) -> ModelSettings:
        assert self.model is not None
        return self.model

    def as_dict(self) -> dict[str, Any]:
        """The settings as a tree for `config.toml`, with all defaults."""
        return _written(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any], where: str, world: str | None = None) -> Settings:
        """The settings of a file; absent settings, also the world, have their defaults."""
        if "world" not in values:
            only_model = MODEL in values and PLANNING not in values
            values = {**values, "world": world or (MODEL if only_model else PLANNING)}
        settings: Settings = _read(Settings, values, where)
        for other in WORLDS:
            if other in values and other != settings.world:
                raise InputFormatError(
                    f"a table [{other}] among the settings of a {settings.world} campaign",
                    where=where,
                    expected=f"a table [{settings.world}]",
                )
        return settings


def check_oracle(world: str, spec: object) -> None:
    """Raise an error if the spec is not an oracle for this kind of task."""
    if not isinstance(spec, str) or not spec:
        raise UsageError(f"the oracle is {spec!r:.80}", expected="the spec of an oracle")
    if world == PLANNING:
        from misstep.oracles.grammar import read_oracle

        read_oracle(spec)
        return
    from misstep.safety.decider import KINDS, PUBLISHED, refusal_of_published

    if spec == PUBLISHED:
        raise refusal_of_published()
    if spec not in KINDS:
        raise UsageError(f"no safety oracle {spec!r}", expected=", ".join(KINDS))


def parse_radius(text: object) -> float:
    if text in ("inf", "infinity"):
        return math.inf
    radius = whole_number(text) if isinstance(text, str) else None
    if radius is None:
        raise UsageError(f"the radius is {text!r:.60}", expected="0, 1, 2, ... or inf")
    return radius


def parse_severity_budget(text: object) -> int | None:
    """Evaluations for each state, or None if they depend on the effort of the verdicts."""
    if text == "auto":
        return None
    budget = whole_number(text, 2**63) if isinstance(text, str) else None
    if not budget:
        raise UsageError(f"severity_budget is {text!r:.60}", expected="a positive number, or auto")
    return budget


_TREE: dict[str, type] = {
    "planning": PlanningSettings,
    "model": ModelSettings,
    "fuzzing": FuzzingSettings,
}


NONE = "none"  # TOML has no null
LEFT_OUT: tuple[tuple[str, object], ...] = (("retest", None), ("blame_most", None), ("walks", 1))


def _written(settings: Any) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for option in dataclasses.fields(settings):
        value = getattr(settings, option.name)
        if (option.name, value) in LEFT_OUT:
            continue  # so that the settings of all other campaigns stay unchanged
        if option.name in _TREE:
            if value is not None:
                tree[option.name] = _written(value)
        else:
            tree[option.name] = NONE if value is None else value
    return tree


def _read(kind: type, values: Mapping[str, Any], where: str) -> Any:
    known = {option.name: option for option in dataclasses.fields(kind)}
    given: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise InputFormatError(
                f"no setting {name!r}", where=where, expected="one of " + ", ".join(known)
            )
        if name in _TREE:
            if not isinstance(value, Mapping):
                raise InputFormatError(
                    f"{name} is {value!r}", where=where, expected=f"a table [{name}]"
                )
            value = _read(_TREE[name], value, where)
        elif value == NONE and "None" in str(known[name].type):
            value = None
        given[name] = value
    try:
        return kind(**given)
    except UsageError as error:
        raise InputFormatError(error.what, where=where, expected=error.expected) from None
    except TypeError as error:
        raise InputFormatError(f"the settings are not as expected: {error}", where=where) from None


def _check_positive(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**63:
        raise UsageError(f"{name} is {value!r}", expected="a positive number below 2^63")


def _check_truth(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise UsageError(f"{name} is {value!r}", expected="true or false")


__all__ = [
    "ALL",
    "DEFAULT_DECIDER",
    "MODEL",
    "NONE",
    "PLANNING",
    "RETESTS",
    "WITNESSES",
    "ModelSettings",
    "PlanningSettings",
    "Settings",
    "check_oracle",
    "parse_radius",
]
