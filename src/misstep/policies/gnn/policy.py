"""The policy of a relational network: move to the successor with the lowest value."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

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
from misstep.policies.service import wanted
from misstep.tasks.task import Task

if TYPE_CHECKING:
    from misstep.policies.gnn.checkpoint import Checkpoint
    from misstep.policies.gnn.evaluator import Evaluator

Evaluated = tuple[NDArray[np.float64], NDArray[np.float64] | None]  # values, and logits if any

# Values closer than this are equal, and the operator with the lowest number is taken. Symmetric
# successors mostly differ by less, through rounding and the random half of the embeddings.
TOLERANCE = 1e-3
# The same state evaluated in batches of different shape differs by less than this through rounding, or by less than
# this share of the largest number of its decision.
NOISE = 2.5e-4
NOISE_SHARE = 2e-6
UNSOLVABLE = 100_000.0


class Values(Protocol):
    """Evaluates states: a network in this process, or the inference service."""

    kind: str

    @property
    def steady(self) -> bool:
        """Whether a state has the same value, to the bit, in every batch."""
        ...

    def evaluate(self, states: States, offsets: NDArray[np.int64]) -> Evaluated: ...


@dataclass(frozen=True)
class Options:
    """What may stand before the file: `gnn:--seed=1 --device=cuda FILE`."""

    device: str = "cpu"
    ignore_unsolvable: bool = False
    seed: int = 0
    published_server: bool = False  # decide as the published server does: see published.py
    plain: bool = False  # on a GPU through PyTorch's own operations: see evaluator.py
    made_up_head: int | None = None  # seed of a random head, such as the server adds

    @property
    def own_network(self) -> bool:
        """Whether the network differs from the one that the inference service would run."""
        return self.plain or self.made_up_head is not None

    def __str__(self) -> str:
        """The text for the digest of a policy. Options that were added later appear only if they are used."""
        known = f"Options(device={self.device!r}, ignore_unsolvable={self.ignore_unsolvable!r}, seed={self.seed!r})"
        later = [f"{name}=True" for name in ("published_server", "plain") if getattr(self, name)]
        if self.made_up_head is not None:
            later.append(f"made_up_head={self.made_up_head}")
        return ", ".join((known[:-1], *later)) + ")" if later else known


class GNNPolicy(Policy):
    """Evaluates all successors of a state together and moves to the one with the lowest value."""

    chooses = True
    valued = True
    _evaluator: Evaluator
    _end: Callable[[], None] | None = None

    def __init__(
        self,
        task: Task,
        path: Path,
        options: Options | None = None,
        *,
        checkpoint: Checkpoint | None = None,
        kind: str = "gnn",
    ) -> None:
        """`checkpoint`: the network, if it has been read already; `path` then only says where it came from.

        `kind`: the kind of file that the inference service has to read, `gnn` or `rgnn`.
        """
        super().__init__(task)
        self.options = options or Options()
        if checkpoint is None and not self.options.own_network and wanted(self.options.device):
            from misstep.policies.service.networks import open_network

            served = open_network(task, path, kind, self.options.seed, self.options.device)
            self._evaluator = cast("Evaluator", served)  # it has the same interface
            self._end = served.close
            digest = served.digest
        else:
            self._evaluator, digest = _in_this_process(task, path, self.options, checkpoint)
        self.name = f"gnn:{path}"
        self._ranks = published.name_ranks(task) if self.options.published_server else None
        description = f"gnn {digest} {self.options}"
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
        if len(uncertain) and not self._evaluator.steady:
            # These are so close to the tolerance that the rest of the batch could decide. Alone, a state always gets
            # the same answer.
            again = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in uncertain])
            ends = np.cumsum(offsets[uncertain + 1] - offsets[uncertain])
            own = None if ranks is None else ranks[again]
            alone = np.concatenate([[0], ends]).astype(np.int64)
            scores[again], _ = self._scores(successors[again], alone, own, alone=True)
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

    def close(self) -> None:
        if self._end is not None:
            self._end()

    def _scores(
        self,
        states: States,
        offsets: NDArray[np.int64],
        ranks: NDArray[np.int64] | None,
        *,
        alone: bool = False,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The value plus penalty of each state, and the decisions that rounding might change.

        With `alone`, each decision is evaluated by itself.
        """
        evaluate = evaluate_alone if alone else _evaluate
        values, logits = evaluate(self._evaluator, states, offsets)
        if logits is not None and not self.options.ignore_unsolvable:
            # It says nothing about the state, and the decision fails.
            values[np.isnan(logits)] = np.nan
        noise = _noise(values, offsets)
        doubtful = np.zeros(len(states), dtype=bool)  # whether the penalty is added
        if logits is not None and not self.options.ignore_unsolvable:
            doubtful = np.abs(logits) < _noise(logits, offsets)
        if ranks is not None:
            may_change = published.uncertain(values, logits, offsets, ranks, noise, doubtful)
            return published.penalised(values, logits), may_change
        # In double precision: single precision rounds to 0.008 where the penalty is added.
        if logits is not None and not self.options.ignore_unsolvable:
            values += UNSOLVABLE * (logits <= 0)
        filled = np.flatnonzero(np.diff(offsets))
        if len(filled) == 0:
            return values, filled
        starts = offsets[filled]
        bounds = np.minimum.reduceat(values, starts) + TOLERANCE
        with np.errstate(invalid="ignore"):  # infinite values, which fail later
            near = np.abs(values - np.repeat(bounds, np.diff(offsets)[filled])) < noise
        # Where much is rounded, the least value itself is near its bound, and alone decides nothing.
        close = np.add.reduceat(near, starts, dtype=np.int64) > (noise[starts] > TOLERANCE)
        return values, filled[close | np.logical_or.reduceat(doubtful, starts)]


def _in_this_process(
    task: Task, path: Path, options: Options, checkpoint: Checkpoint | None
) -> tuple[Evaluator, str]:
    """A network in this process, and the digest of its file."""
    from misstep.policies.gnn.checkpoint import read_checkpoint
    from misstep.policies.gnn.encoding import encode
    from misstep.policies.gnn.evaluator import Evaluator

    checkpoint = checkpoint or read_checkpoint(path)
    if options.made_up_head is not None:
        checkpoint = published.with_head(checkpoint, options.made_up_head, str(path))
    encoding = encode(task, checkpoint.relations, str(path))
    evaluator = Evaluator(checkpoint, encoding, options.seed, options.device, plain=options.plain)
    return evaluator, checkpoint.digest


def _noise(numbers: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """How far each of the numbers may be off."""
    sizes = np.diff(offsets)
    largest = np.zeros(len(sizes))
    if len(numbers):
        sound = np.where(np.isfinite(numbers), np.abs(numbers), 0.0)
        largest[sizes > 0] = np.maximum.reduceat(sound, offsets[:-1][sizes > 0])
    return np.repeat(np.maximum(NOISE, NOISE_SHARE * largest), sizes)


def _evaluate(evaluator: Values, states: States, offsets: NDArray[np.int64]) -> Evaluated:
    return evaluator.evaluate(states, offsets)


def evaluate_alone(evaluator: Values, states: States, offsets: NDArray[np.int64]) -> Evaluated:
    """Each decision by itself, or faster if the evaluator has a way that gives the same numbers."""
    own = getattr(evaluator, "evaluate_alone", None)
    if own is not None:
        evaluated: Evaluated = own(states, offsets)
        return evaluated
    values, logits = np.empty(len(states)), None
    for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        alone = np.array([0, end - start])
        values[start:end], found = evaluator.evaluate(states[start:end], alone)
        if found is not None:
            logits = np.empty(len(states)) if logits is None else logits
            logits[start:end] = found
    return values, logits


def _choose(
    scores: NDArray[np.float64], offsets: NDArray[np.int64], ranks: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each row with entries: the first position with the lowest score, up to the tolerance; and those
    rows. With ranks the tolerance is 0, and the ranks decide which of equal scores is the first."""
    sizes = np.diff(offsets)
    rows = np.flatnonzero(sizes)
    if len(rows) == 0:
        return rows, rows
    starts = offsets[rows]
    # A value that is not a number never compares as lowest; such rows are reported as failed.
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
        "made-up-head": whole,
    }
    options, path = split_options(argument, kind, parsers)
    if options.get("published_server") and options.get("ignore_unsolvable"):
        raise UsageError(
            f"--published-server and --ignore-unsolvable of a {kind} policy", expected="one of them"
        )
    if "made_up_head" in options and not options.get("published_server"):
        raise UsageError(
            f"--made-up-head of a {kind} policy without --published-server", expected="both"
        )
    if not path:
        raise UsageError(f"a {kind} policy without a file", expected=f"{kind}:FILE")
    return Options(**options), Path(path)


def load(argument: str, task: Task) -> GNNPolicy:
    """Loads `gnn:[OPTIONS] FILE`; the options are those of `parse`."""
    options, path = parse(argument, "gnn")
    policy = GNNPolicy(task, path, options)
    policy.name = f"gnn:{argument}"
    return policy


__all__ = ["GNNPolicy", "Options", "evaluate_alone", "load", "parse"]
