"""The policy of a relational network: go to the successor of least value."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from misstep.errors import UsageError
from misstep.policies.gnn import published
from misstep.policies.options import flag, split_options, whole, word
from misstep.policies.policy import (
    FAILED,
    NO_ACTION,
    Answers,
    Candidates,
    Policy,
    States,
    checked_states,
)
from misstep.tasks.task import Task

if TYPE_CHECKING:
    from misstep.policies.gnn.checkpoint import Checkpoint
    from misstep.policies.gnn.evaluator import Evaluator

# Values closer than this are equal, and the operator with the lowest number is taken. Symmetric
# successors mostly differ by less, through rounding and the random half of the embeddings.
TOLERANCE = 1e-3
# The same state evaluated in batches of different shape differs by less than this through rounding.
NOISE = 2.5e-4
UNSOLVABLE = 100_000.0


@dataclass(frozen=True)
class Options:
    """What may stand before the file: `gnn:--seed=1 --device=cuda FILE`."""

    device: str = "cpu"
    ignore_unsolvable: bool = False
    seed: int = 0
    published_server: bool = False  # decide as the published server does: see published.py
    plain: bool = False  # on a GPU through PyTorch's own operations: see evaluator.py

    def __str__(self) -> str:
        """What the digest of a policy is made of; an option that came later is told where it is used."""
        known = f"Options(device={self.device!r}, ignore_unsolvable={self.ignore_unsolvable!r}, seed={self.seed!r})"
        later = [name for name in ("published_server", "plain") if getattr(self, name)]
        return (
            ", ".join((known[:-1], *(f"{name}=True" for name in later))) + ")" if later else known
        )


class GNNPolicy(Policy):
    """Evaluates all successors of a state together and steps to the one of least value."""

    chooses = True
    valued = True

    def __init__(
        self,
        task: Task,
        path: Path,
        options: Options | None = None,
        *,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        """`checkpoint`: the network, if it is read already; `path` then only says where it came from."""
        super().__init__(task)
        from misstep.policies.gnn.checkpoint import read_checkpoint
        from misstep.policies.gnn.encoding import encode
        from misstep.policies.gnn.evaluator import Evaluator

        self.options = options or Options()
        checkpoint = checkpoint or read_checkpoint(path)
        encoding = encode(task, checkpoint.relations, str(path))
        self._evaluator: Evaluator = Evaluator(
            checkpoint,
            encoding,
            self.options.seed,
            self.options.device,
            plain=self.options.plain,
        )
        self.name = f"gnn:{path}"
        self._ranks = published.name_ranks(task) if self.options.published_server else None
        description = f"gnn {checkpoint.digest} {self.options}"
        self.digest = hashlib.sha256(description.encode()).hexdigest()
        self.batch_size = 256 if self._evaluator.kind == "cpu" else 4096

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        states = checked_states(states, self.task)
        offsets, operators = self.all_candidates(states) if candidates is None else candidates
        offsets = np.asarray(offsets, dtype=np.int64)
        parents = np.repeat(np.arange(len(states)), np.diff(offsets))
        successors = self.task.apply_batch(np.ascontiguousarray(states[parents]), operators)
        ranks = None if self._ranks is None else self._ranks[operators]
        scores, uncertain = self._scores(successors, offsets, ranks)
        for row in uncertain if not self._evaluator.steady else ():
            # So close to the tolerance that the company in the batch could decide. Alone the state
            # always gets the same answer.
            start, end = offsets[row], offsets[row + 1]
            alone = np.array([0, end - start])
            own = None if ranks is None else ranks[start:end]
            scores[start:end], _ = self._scores(successors[start:end], alone, own)
        chosen, rows = _choose(scores, offsets, ranks)
        answers = Answers(
            operators=np.full(len(states), NO_ACTION, dtype=np.int32),
            values=np.full(len(states), np.nan),
            evaluations=len(successors),
        )
        assert answers.values is not None
        answers.operators[rows] = operators[chosen]
        answers.values[rows] = scores[chosen]
        for row in np.unique(parents[~np.isfinite(scores)]).tolist():
            answers.operators[row] = FAILED
            answers.values[row] = np.nan
            answers.messages[row] = "the network's value of a successor is not a number"
        return answers

    def values(self, states: States) -> NDArray[np.float64]:
        states = checked_states(states, self.task)
        alone = np.zeros(len(states), dtype=np.int64)
        ranks = None if self._ranks is None else alone
        return self._scores(states, np.arange(len(states) + 1), ranks)[0]

    def _scores(
        self, states: States, offsets: NDArray[np.int64], ranks: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Value plus penalty of each state, and the decisions that rounding might change."""
        values, logits = self._evaluator.evaluate(states, offsets)
        if ranks is not None:
            may_change = published.uncertain(values, logits, offsets, ranks, NOISE)
            return published.penalised(values, logits), may_change
        # In double precision: single precision rounds to 0.008 where the penalty is added.
        near = np.zeros(len(states), dtype=bool)
        if logits is not None and not self.options.ignore_unsolvable:
            values += UNSOLVABLE * (logits <= 0)
            near = np.abs(logits) < NOISE
        filled = np.flatnonzero(np.diff(offsets))
        if len(filled) == 0:
            return values, filled
        starts = offsets[filled]
        bounds = np.minimum.reduceat(values, starts) + TOLERANCE
        with np.errstate(invalid="ignore"):  # infinite values, which fail later
            near |= np.abs(values - np.repeat(bounds, np.diff(offsets)[filled])) < NOISE
        return values, filled[np.logical_or.reduceat(near, starts)]


def _choose(
    scores: NDArray[np.float64], offsets: NDArray[np.int64], ranks: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each row that has any, the first position with the least score up to the tolerance; and
    those rows. With ranks the tolerance is 0, and they tell which of equal ones is the first."""
    sizes = np.diff(offsets)
    rows = np.flatnonzero(sizes)
    if len(rows) == 0:
        return rows, rows
    starts = offsets[rows]
    # What is not a number never compares as least; such rows are reported as failed.
    scores = np.where(np.isfinite(scores), scores, np.inf)
    if ranks is not None:
        return published.choose(scores, offsets, ranks), rows
    bounds = np.minimum.reduceat(scores, starts) + TOLERANCE
    good = np.flatnonzero(scores <= np.repeat(bounds, sizes[rows]))
    return good[np.searchsorted(good, starts)], rows


def parse(argument: str, kind: str) -> tuple[Options, Path]:
    """Options and file of a spec."""
    parsers = {
        "device": word,
        "ignore-unsolvable": flag,
        "seed": whole,
        "published-server": flag,
        "plain": flag,
    }
    options, path = split_options(argument, kind, parsers)
    if options.get("published_server") and options.get("ignore_unsolvable"):
        raise UsageError(
            f"--published-server and --ignore-unsolvable of a {kind} policy", expected="one of them"
        )
    if not path:
        raise UsageError(f"a {kind} policy without a file", expected=f"{kind}:FILE")
    return Options(**options), Path(path)


def load(argument: str, task: Task) -> GNNPolicy:
    """Loads `gnn:[--device=cpu|cuda] [--ignore-unsolvable|--published-server] [--plain] [--seed=N] FILE`."""
    options, path = parse(argument, "gnn")
    policy = GNNPolicy(task, path, options)
    policy.name = f"gnn:{argument}"
    return policy


__all__ = ["GNNPolicy", "Options", "load", "parse"]
