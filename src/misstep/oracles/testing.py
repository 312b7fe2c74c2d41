"""The loop that tests states.

The policy is run from all states together, so that it is asked in batches. Then an oracle is asked about one state
after the other, on one workbench, so that results for one state help the others. Therefore a state may be decided while
another one is tested; the loop notices that. `settle` computes the verdicts again at the end.

Campaigns, selection, training and benchmarks all test with this loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from misstep.oracles.oracle import Oracle, Tester, Walk
from misstep.oracles.together import Foresight
from misstep.oracles.verdict import Verdict
from misstep.oracles.workbench import Workbench
from misstep.tasks.task import State


@dataclass(frozen=True)
class TestState:
    """A state to test, and how it was found, if somebody knows."""

    __test__ = False

    state: State
    walk: Walk | None = None


@dataclass
class Tested:
    """A tested state: the verdict, and when it was known, in seconds since the loop began."""

    verdict: Verdict
    at: float


class TestLoop:
    """Tests states on a workbench: iterate over `run`, then `settle`."""

    __test__ = False

    def __init__(self, bench: Workbench, oracle: Oracle) -> None:
        self.bench = bench
        self.tester: Tester = oracle.on(bench)
        self.tested: list[Tested] = []
        self._began = perf_counter()

    def run(self, states: Sequence[TestState]) -> Iterator[Tested]:
        """Test the states one after the other; the caller may stop at any time."""
        self.bench.verdicts_of(item.state for item in states)
        foresight = Foresight(self.bench.runner)
        for place, item in enumerate(states):
            needs = (self.tester.foresee(later.state) for later in states[place:])
            foresight.prepare(place, needs)
            verdict = self.tester.test(item.state, walk=item.walk)
            self._notice()
            self.tested.append(Tested(verdict, self._now()))
            yield self.tested[-1]

    def settle(self) -> list[Tested]:
        """The current verdicts: results for later states may have decided earlier ones."""
        if self.bench.pool is not None:
            self.bench.pool.settle()
        self._notice(all_of_them=True)
        return self.tested

    def _notice(self, *, all_of_them: bool = False) -> None:
        for tested in self.tested:
            before = tested.verdict
            if before.is_decided and not all_of_them:
                continue
            now = self.bench.verdict_of(before.state)
            if (now.status, now.gap) == (before.status, before.gap):
                continue
            if not before.is_decided:
                tested.at = self._now()
            tested.verdict = improved(before, now)

    def _now(self) -> float:
        return perf_counter() - self._began


def improved(before: Verdict, now: Verdict) -> Verdict:
    """A verdict that came of what was found for other states; what was spent on its own stays noted."""
    return replace(
        now,
        oracle=before.oracle if before.is_decided else None,
        effort=before.effort,
        limits=before.limits,
        problems=before.problems,
    )


__all__ = ["TestLoop", "TestState", "Tested", "improved"]
