"""The settings of a training: everything but the tasks that determines its result."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from dataclasses import dataclass, field
from typing import Any

from misstep.errors import InputFormatError, UsageError
from misstep.policies.asnet.weights import HIDDEN, INITIAL, LAYERS, check_sizes
from misstep.training.algorithms import N_INIT, N_START, Configuration, configuration
from misstep.training.explore import Exploration
from misstep.training.feedback import Feedback
from misstep.training.stored import check_form, damaged
from misstep.training.teachers import ASTAR_EXPANSIONS, EXHAUSTIVE_STATES
from misstep.training.testing import TestSettings

# Ways to train under a name, as keywords of a training. `p25` is what the trainer of P25 does (specification A.5) where
# it differs from ours: its loss, weights that begin normal, biases too, and shrink at each step, one-hot labels from
# cheapest plans of A*, minibatches of any samples, also of states with one applicable operator.
RECIPES: dict[str, dict[str, Any]] = {
    "own": {},
    "p25": {
        "loss": "binary",
        "initial": "normal",
        "decay": "factor",
        "teacher": "astar",
        "unit_costs": True,
        "single": True,
        "sampling": "uniform",
        "noisy_loss": True,
        "retest": 0,
    },
}
RECIPE_NAMES = tuple(RECIPES)
_CHOICES = {
    "share": ("data", "equal"),
    "loss": ("categorical", "binary"),
    "decay": ("penalty", "factor"),
    "sampling": ("shares", "uniform"),
}


@dataclass(frozen=True)
class LearnerSettings:
    """The settings of an epoch; the defaults are those of the reimplementation that P25 used, where they make sense."""

    steps: int = 700
    batch_size: int = 64
    learning_rate: float = 1e-3
    dropout: float = 0.1
    weight_decay: float = 2e-4  # of Adam's L2 term
    clip: float = 5.0  # norm of the gradient
    share: str = "data"  # places of a minibatch: in proportion to the data of the tasks, or "equal"
    loss: str = "categorical"  # or "binary": a cross-entropy for each operator, summed
    decay: str = (
        "penalty"  # weight_decay is an L2 term, or "factor": all weights shrink by it at each step
    )
    sampling: str = "shares"  # each task has its places, or "uniform": any samples, none twice
    noisy_loss: bool = False  # measure the loss of an epoch with dropout on

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}", expected="a positive number")
        for name in ("learning_rate", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise UsageError(f"{name} is {getattr(self, name)}", expected="more than 0")
        if not 0 <= self.dropout < 1:
            raise UsageError(f"dropout is {self.dropout}", expected="from 0 to below 1")
        if not 0 <= self.weight_decay < math.inf:
            raise UsageError(f"weight_decay is {self.weight_decay}", expected="not negative")
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                expected = " or ".join(known)
                raise UsageError(f"no {name} {getattr(self, name)!r}", expected=expected)


@dataclass(frozen=True)
class TrainingSettings:
    config: str = "original"
    epochs: int = 60  # the budget, over all lines
    n_init: int = N_INIT
    n_start: int = N_START  # epochs of each before the main phase; line has no main phase
    seed: int = 0
    hidden: int = HIDDEN
    layers: int = LAYERS
    teacher: str = "auto"
    exhaustive_states: int = EXHAUSTIVE_STATES
    teacher_expansions: int = ASTAR_EXPANSIONS
    unit_costs: bool = False  # teach shortest plans: a network does not see what operators cost
    all_states: bool = False  # begin with all states of tasks that can be enumerated
    initial: str = "xavier"  # weights of a root: or "normal", biases too
    single: bool = False  # also learn in states with one applicable operator
    criterion: str = "auto"
    learner: LearnerSettings = field(default_factory=LearnerSettings)
    exploration: Exploration = field(default_factory=Exploration)
    feedback: Feedback = field(default_factory=Feedback)  # of a training from bugs
    test: TestSettings = field(default_factory=TestSettings)

    def __post_init__(self) -> None:
        check_sizes(self.hidden, self.layers)
        _ = self.configuration
        if self.initial not in INITIAL:
            raise UsageError(f"no initial {self.initial!r}", expected=" or ".join(INITIAL))
        if not 0 <= self.seed < 2**63:
            raise UsageError(f"the seed is {self.seed}", expected="0 to 2^63 - 1")
        for name in ("exhaustive_states", "teacher_expansions"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}", expected="a positive number")

    @property
    def configuration(self) -> Configuration:
        return configuration(self.config, self.epochs, self.n_init, self.n_start)

    def derived_seed(self, *what: object) -> int:
        """A seed for one purpose, so that it does not depend on how many random numbers other purposes used."""
        text = " ".join(map(str, (self.seed, *what)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1

    def require_same(self, asked: TrainingSettings, where: str) -> None:
        require_same(self.as_dict(), asked.as_dict(), TrainingSettings().as_dict(), where)

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any], where: str) -> TrainingSettings:
        with damaged(where):
            check_form(values, TrainingSettings())
            inner = {
                "learner": LearnerSettings(**values["learner"]),
                "exploration": Exploration(**values["exploration"]),
                "feedback": Feedback(**values.get("feedback", {"every": 0})),
                "test": TestSettings(**values["test"]),
            }
            return TrainingSettings(**{**values, **inner})


def require_same(
    begun: dict[str, Any], asked: dict[str, Any], usual: dict[str, Any], where: str
) -> None:
    """Raises an error if a training would continue with other settings. Default values are taken as not asked for."""
    known, spared = _flat(begun), _flat(usual)
    for name, value in _flat(asked).items():
        if name not in known:
            raise InputFormatError(f"the settings have no {name}", where=where)
        if value not in (known[name], spared.get(name, known[name])):
            raise UsageError(
                f"the training was begun with {name} {known[name]}, not {value}",
                where=where,
                hint="leave the option out, or begin another training",
            )


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            flat |= {f"{name} {inner}": own for inner, own in value.items()}
        else:
            flat[name] = value
    return flat


__all__ = ["RECIPES", "RECIPE_NAMES", "LearnerSettings", "TrainingSettings", "require_same"]
