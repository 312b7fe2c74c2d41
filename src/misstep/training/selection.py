"""Choose among policies: test all on the same pools, rank them, and say how sure the ranking is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from misstep.comparison.statistics import (
    Interval,
    PairedComparison,
    bootstrap,
    compare_with_best,
    interval,
    resamples,
)
from misstep.errors import UsageError
from misstep.policies.load import load_policy
from misstep.runs.again import require_declared
from misstep.tasks.task import Task
from misstep.training.kept import folders, test_kept
from misstep.training.score import Parts, ranking, scores
from misstep.training.testing import TaskResult, TestedTask, TestSettings

# The policy, the task, done, of how many
Progress = Callable[[str, str, int, int], None]


@dataclass(frozen=True)
class Candidate:
    """A policy with its numbers: shares are of processed pool states, the gap is per solved state."""

    policy: str
    results: tuple[TaskResult, ...]
    coverage: Interval
    solved: Interval
    bugs: Interval
    mean_gap: Interval
    score: Interval
    campaign: str | None = None  # the folder of its records, where they are kept

    def as_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy,
            "campaign": self.campaign,
            "coverage": self.coverage.as_list(),
            "solved": self.solved.as_list(),
            "bugs": self.bugs.as_list(),
            "mean_gap": self.mean_gap.as_list(),
            "score": self.score.as_list(),
            "tasks": [result.as_dict() for result in self.results],
        }


@dataclass(frozen=True)
class Selection:
    """The candidates from best to worst, and the best against each other one."""

    candidates: tuple[Candidate, ...]
    comparisons: tuple[PairedComparison, ...]  # in the order of the ranking, numbers are ranks

    def as_dict(self) -> dict[str, Any]:
        return {
            "best": self.candidates[0].policy,
            "ranking": [candidate.as_dict() for candidate in self.candidates],
            "comparisons": [
                {
                    "better": self.candidates[c.better].policy,
                    "worse": self.candidates[c.worse].policy,
                    "difference": c.difference.as_list(),
                    "p": round(c.p_value, 6),
                    "p_corrected": round(c.corrected, 6),
                    "significant": c.significant,
                    "contrary": c.contrary,
                }
                for c in self.comparisons
            ],
        }


def select_policies(
    tasks: Sequence[Task],
    policies: Sequence[Any],
    settings: TestSettings,
    progress: Progress | None = None,
    out: Path | None = None,
) -> Selection:
    """Test all policies, which are what `load_policy` takes, on the same pools and rank them by the score of P25.

    With `out` the records of each policy are kept in a campaign of its own, in a folder below.
    """
    if not tasks:
        raise UsageError("no tasks to test on", expected="at least one")
    if len(policies) < 2:
        raise UsageError(
            f"{'one policy' if policies else 'no policies'} to choose from",
            expected="at least two",
            hint="--policies SPEC SPEC ...",
        )
    names = _names(policies, tasks[0])
    report = progress or (lambda *_: None)
    if out is None:
        return rank(names, _test(tasks, policies, names, settings, report), settings.seed)
    kept = folders(out, names)
    results: list[list[TaskResult]] = []
    total = len(tasks) * len(policies)
    for name, given, folder in zip(names, policies, kept, strict=True):
        before = len(results) * len(tasks)

        def told(task: str, done: int, name: str = name, before: int = before) -> None:
            report(name, task, before + done, total)

        results.append(test_kept(tasks, given, settings, folder, told))
    return rank(names, results, settings.seed, [str(folder) for folder in kept])


def _test(
    tasks: Sequence[Task],
    policies: Sequence[Any],
    names: Sequence[str],
    settings: TestSettings,
    report: Progress,
) -> list[list[TaskResult]]:
    """A row for each policy, a column for each task."""
    results: list[list[TaskResult]] = [[] for _ in policies]
    done = 0
    for task in tasks:
        tested = TestedTask(task, settings)
        for own, name, given in zip(results, names, policies, strict=True):
            report(name, task.name, done, len(tasks) * len(policies))
            policy = load_policy(given, task)
            try:
                require_declared(
                    name, policy.deterministic or policy.set_valued or policy.stochastic
                )
                own.append(tested.test(policy, abstain=False, check=True))
            finally:
                if policy is not given:
                    policy.close()
            done += 1
    return results


def _names(policies: Sequence[Any], task: Task) -> list[str]:
    """Specs, and names of policies that exist in memory only; two of these may have one name, two specs may not."""
    names: list[str] = []
    for given in policies:
        if isinstance(given, str):
            name = given
        else:
            policy = load_policy(given, task)
            name = policy.name
            if policy is not given:
                policy.close()
        if name in names:
            if isinstance(given, str) or given in policies[: len(names)]:
                raise UsageError("a policy is given twice", where=name)
            name = f"{name} ({len(names) + 1})"
        names.append(name)
    return names


def rank(
    specs: Sequence[str],
    results: Sequence[Sequence[TaskResult]],
    seed: int,
    campaigns: Sequence[str] | None = None,
) -> Selection:
    """The ranking that follows from results: a row for each policy, a column for each task."""
    tasks = len(results[0])
    draws = resamples(tasks, seed)
    order = ranking([Parts.of(own) for own in results], [0] * len(results))
    ordered = [results[i] for i in order]
    # The score depends on the other policies, so a draw gives the scores of all policies at once.
    drawn = [scores([Parts.of([own[t] for t in draw]) for own in ordered]) for draw in draws]
    exact = scores([Parts.of(own) for own in ordered])
    candidates = [
        Candidate(
            specs[order[place]],
            tuple(own),
            _measured(own, draws, lambda r: (int(r.initial_solved), 1)),
            _measured(own, draws, lambda r: (r.solved, r.processed)),
            _measured(own, draws, lambda r: (r.bugs, r.processed)),
            _measured(own, draws, lambda r: (r.lost, r.solved)),
            interval(float(exact[place]), [float(draw[place]) for draw in drawn]),
            None if campaigns is None else campaigns[order[place]],
        )
        for place, own in enumerate(ordered)
    ]
    quality = np.array([[result.quality for result in own] for own in ordered])
    comparisons = compare_with_best(quality, 0, seed, draws)
    return Selection(tuple(candidates), tuple(comparisons))


def _measured(
    results: Sequence[TaskResult],
    draws: Sequence[Sequence[int]],
    ratio: Callable[[TaskResult], tuple[int, int]],
) -> Interval:
    pairs = np.array([ratio(result) for result in results])

    def measure(chosen: Sequence[int]) -> float | None:
        part, whole = pairs[list(chosen)].sum(axis=0)
        return float(part / whole) if whole else None

    return bootstrap(measure, len(results), draws)


__all__ = ["Candidate", "Selection", "rank", "select_policies"]
