"""The training algorithms of P25, as a function from the policy tree to the next step.

Algorithm 1 trains one model, epoch after epoch, until it has solved all training tasks in 20 consecutive epochs.
Algorithm 2 starts N_init models, trains each for N_start epochs, and then N_main times selects one of all models so far
(those with fewer than N_exp successors) and trains a copy of it for an epoch. What is selected depends on the tests
stored in the tree. So the tree alone determines the next step, and a training that was stopped can continue from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from misstep._core import CounterRandom
from misstep.errors import UsageError
from misstep.training.score import ranking
from misstep.training.tree import PolicyTree

SOLVED = 0.999  # of the training tasks
PATIENCE = 20  # consecutive epochs that solve them
CRITERIA = ("early-train", "loss-train", "solved-val", "pi-test-val", "solved-test")
N_INIT = 4
N_START = 5
N_EXP = 4


@dataclass(frozen=True)
class Configuration:
    """The parameters of Algorithm 2; with `patience`, Algorithm 1."""

    n_init: int
    n_start: int
    n_main: int = 0
    n_exp: int = 1
    online: str = "score"  # or random: how the main phase selects
    patience: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("n_init", 1), ("n_start", 0), ("n_main", 0), ("n_exp", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"{name} is {getattr(self, name)}", expected=f"at least {least}")
        if self.online not in ("score", "random"):
            raise UsageError(f"no online selection {self.online!r}", expected="score or random")

    @property
    def models(self) -> int:
        """The number of models that the training makes, including the roots, unless it ends early."""
        return self.n_init * (1 + self.n_start) + self.n_main

    @property
    def needs_validation(self) -> bool:
        return self.n_main > 0 and self.online == "score"


NAMES = ("original", "line", "line-pitest", "tree", "tree-pitest", "start")


def configuration(
    name: str, epochs: int, n_init: int = N_INIT, n_start: int = N_START
) -> Configuration:
    """A configuration of P25 with a budget of epochs. `start` uses only its share of it; `original` is Algorithm 1."""
    if name not in NAMES:
        raise UsageError(f"no configuration {name!r}", expected=", ".join(NAMES))
    if epochs < 1:
        raise UsageError(f"the budget is {epochs} epochs", expected="a positive number")
    if name == "original":
        return Configuration(1, epochs, patience=PATIENCE)
    n_init = min(n_init, epochs)
    if name == "line":
        return Configuration(n_init, epochs // n_init)
    n_start = min(n_start, epochs // n_init)
    if name == "start":
        return Configuration(n_init, n_start)
    n_main = epochs - n_init * n_start
    if name == "line-pitest":
        return Configuration(n_init, n_start, n_main, 1)
    return Configuration(n_init, n_start, n_main, N_EXP, "random" if name == "tree" else "score")


class Step(NamedTuple):
    """What to do next: train a copy of model `parent` for an epoch, or, without one, start with random weights."""

    parent: int | None


def next_step(tree: PolicyTree, config: Configuration, seed: int) -> Step | None:
    """Algorithms 1 and 2, a step at a time; None when they are done."""
    made = len(tree)
    line = 1 + config.n_start
    if config.patience is not None and solved_streak(tree, made - 1) >= config.patience:
        return None
    if made < config.n_init * line:  # start-up phase
        return Step(None if made % line == 0 else made - 1)
    if made < config.models:  # main phase
        return Step(select_online(tree, config, seed))
    return None


def select_online(tree: PolicyTree, config: Configuration, seed: int) -> int:
    """The best model, or a random one, of those with fewer than N_exp successors."""
    expansions = tree.expansions()
    free = [i for i, count in enumerate(expansions) if count < config.n_exp]
    if config.online == "random":
        return free[CounterRandom(seed, len(tree)).below(len(free))]
    return next(i for i in ranking(tree.parts(), expansions) if expansions[i] < config.n_exp)


def select_offline(
    tree: PolicyTree, criterion: str, solved_test: dict[int, int] | None = None
) -> int:
    """The model to keep. `solved_test` says how many test tasks each solves, for the criterion of that name.

    The roots are considered if the criterion applies to them: they have a test, but no loss.
    """
    if criterion not in CRITERIA:
        raise UsageError(f"no criterion {criterion!r}", expected=", ".join(CRITERIA))
    last = len(tree) - 1
    if criterion == "early-train":
        return next((i for i in range(len(tree)) if solved_streak(tree, i) >= PATIENCE), last)
    if criterion == "loss-train":
        losses = [(node.loss, -node.id) for node in tree if node.loss is not None]
        return -min(losses)[1] if losses else last
    if criterion == "solved-test":
        if not solved_test:
            raise UsageError("solved-test needs test tasks")
        return max(solved_test, key=lambda i: (solved_test[i], i))
    if not any(node.results for node in tree):
        raise UsageError(
            f"{criterion} needs validation tasks", hint="use --validate, or --select loss-train"
        )
    parts = tree.parts()
    if criterion == "solved-val":
        return max(range(len(tree)), key=lambda i: (parts[i].coverage, i))
    return ranking(parts, [0] * len(tree))[0]


def solved_streak(tree: PolicyTree, id: int) -> int:
    """How many epochs in a row, up to this model, solved all training tasks."""
    count = 0
    at: int | None = id if id >= 0 else None
    while at is not None and tree[at].loss is not None and tree[at].success >= SOLVED:
        count += 1
        at = tree[at].parent
    return count


__all__ = [
    "CRITERIA",
    "NAMES",
    "Configuration",
    "Step",
    "configuration",
    "next_step",
    "select_offline",
    "select_online",
    "solved_streak",
]
