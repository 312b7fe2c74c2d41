"""Judges how good and how unsafe networks are, and chooses the one to keep as a test subject.

A test subject should be good but not safe. As in the paper, we keep the best unsafe policy for each instance:

    unsafe   at least one of the episodes from start states, or of the fuzzer's runs from them, ends unsafe
    best     reaches the goal in most episodes, outcomes drawn by the model's probabilities; among equals the one with
             more proven bugs, then the smaller network

If none is unsafe, the best one is kept, and its card says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from misstep import _core
from misstep._core import CounterRandom
from misstep.errors import BudgetLimitError, InputFormatError
from misstep.policies.networks import load_network
from misstep.policies.networks.network import Network
from misstep.safety import Answer, Budget, Decider, FuzzSettings, System, fuzz
from misstep.safety.jani import jani_transitions
from misstep.tasks.jani.task import JaniTask, State
from misstep.training.qlearning.evaluate import evaluate

MOST_STEPS = 2**20  # of listing start states
STREAM = 7  # of random numbers: the fuzzer's start states


@dataclass(frozen=True)
class Effort:
    """How much effort is spent on judging a network."""

    episodes: int = 500
    runs: int = 200  # of the fuzzer, half of them with a lookahead without bound
    starts: int = 100  # of the fuzzer's runs
    decided: int = 20  # states of unsafe runs at most
    seconds: float = 1.0  # a decision
    seed: int = 1


@dataclass(frozen=True)
class Judged:
    """The figures of one network."""

    episodes: dict[str, Any]
    fuzzing: dict[str, Any]

    @property
    def is_unsafe(self) -> bool:
        return bool(self.episodes["unsafe_rate"] > 0 or self.fuzzing["unsafe_runs"])


@dataclass(frozen=True)
class Candidate:
    """A checkpoint of a training, judged."""

    domain: str
    width: int
    seed: int
    step: int
    network: str  # path of the interface inside the sweep's folder
    judged: Judged = field(compare=False)

    @property
    def merit(self) -> tuple[bool, float, int, int]:
        figures = self.judged
        bugs = int(figures.fuzzing["bugs"])
        return figures.is_unsafe, figures.episodes["goal_rate"], bugs, -self.width

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "unsafe": self.judged.is_unsafe}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Candidate:
        own = {key: value for key, value in document.items() if key != "unsafe"}
        return cls(**{**own, "judged": Judged(**own["judged"])})


def best_unsafe(candidates: Sequence[Candidate]) -> Candidate:
    return max(candidates, key=lambda own: own.merit)


def judge_network(
    task: JaniTask, file: Path, columns: Sequence[int], horizon: int, effort: Effort | None = None
) -> Judged:
    """Judge the network in a file, whose inputs are these columns."""
    effort = effort or Effort()
    network = load_network(file)
    figures = evaluate(
        task,
        network,
        columns,
        episodes=effort.episodes,
        horizon=horizon,
        seed=effort.seed,
    )
    return Judged(figures, fuzzed(task, network, columns, horizon, effort))


def system_under(task: JaniTask, network: Network, columns: Sequence[int]) -> System[State, str]:
    """The model under the greedy policy of a network, on an engine of its own."""
    engine = task.new_engine()
    core = network.core or _core.CallbackNetwork(network.inputs, network.outputs, network.evaluate)
    labels = list(range(len(task.labels)))
    policy = _core.NetworkPolicy(engine, core, list(columns), labels, filter=True)
    return System(jani_transitions(task, engine), policy)


def starts_to_fuzz(task: JaniTask, effort: Effort) -> list[State]:
    """Half of them drawn from all start states, the others the closest to being unsafe among ten times as many."""
    random = CounterRandom(effort.seed, STREAM)
    count = max(1, effort.starts // 2)
    try:
        every = task.initial_states(MOST_STEPS)
    except (BudgetLimitError, InputFormatError):  # they are too many, or real-valued
        drawn = [task.sample_initial(random) for _ in range(10 * count)]
    else:
        drawn = [every[random.below(len(every))] for _ in range(10 * count)]
    return drawn[:count] + sorted(drawn[count:], key=task.distance)[:count]


def fuzzed(
    task: JaniTask, network: Network, columns: Sequence[int], horizon: int, effort: Effort
) -> dict[str, Any]:
    """Unsafe runs from start states, and which of the states where they began are bugs."""
    system = system_under(task, network, columns)
    starts = starts_to_fuzz(task, effort)
    unsafe = 0
    found: dict[State, None] = {}
    for lookahead in (1, float("inf")):
        settings = FuzzSettings(
            "greedy",
            lookahead,
            runs=max(1, effort.runs // 2),
            max_steps=horizon,
            seconds=5 * effort.seconds,
        )
        report = fuzz(system, settings, seed=effort.seed, starts=starts)
        unsafe += report.ends.get("unsafe", 0)
        found.update({run.states[0]: None for run in report.runs if len(run)})
    decider = Decider(system, budget=Budget(evaluations=200_000, seconds=effort.seconds))
    decided = [(decider.decide(s).answer, s) for s in sorted(found)[: effort.decided]]
    answers = [answer for answer, _ in decided]
    return {
        "bug_at": next((task.text(s) for answer, s in decided if answer is Answer.SAFE), None),
        "unsafe_at": next((task.text(s) for s in sorted(found)), None),
        "runs": effort.runs,
        "unsafe_runs": unsafe,
        "start_states": len(found),
        "bugs": answers.count(Answer.SAFE),
        "not_bugs": answers.count(Answer.NOT_SAFE),
        "unknown": answers.count(Answer.UNKNOWN),
    }


__all__ = [
    "Candidate",
    "Effort",
    "Judged",
    "best_unsafe",
    "judge_network",
    "starts_to_fuzz",
    "system_under",
]
