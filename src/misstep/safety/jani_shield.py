"""Oracle shields for JANI models: make one, estimate how much it helps, and store it as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from misstep._core import CounterRandom
from misstep.errors import BudgetLimitError, UsageError
from misstep.policies.load import load_policy
from misstep.ranges import check_seed, check_whole
from misstep.safety.decider import Budget, Decider
from misstep.safety.jani import jani_transitions, system_of
from misstep.safety.shield import DeciderShield, OracleShield, ShieldTable
from misstep.safety.system import System
from misstep.tasks.jani.task import JaniTask, State


def shield_for(
    tasks: Sequence[object],
    policy: str,
    where: str | None,
    *,
    decider: str = "localfix",
    evaluations: int = 1_000_000,
) -> DeciderShield:
    """A shield for a policy on the one model of a campaign."""
    models = [task for task in tasks if isinstance(task, JaniTask)]
    if len(models) != 1:
        raise UsageError(
            f"the campaign has {len(models)} models",
            where=where,
            expected="a campaign on one model, or a model itself",
        )
    return DeciderShield(models[0].digest, models[0].name, policy, decider, evaluations)


def decided_starts(
    task: JaniTask,
    shield: DeciderShield,
    count: int,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, int]:
    """The decider's answers for random start states; this does not need the policy."""
    random = CounterRandom(check_seed(seed), 0)
    system: System[State, str] = System(jani_transitions(task, task.new_engine()), "first")
    decider = Decider(system, shield.decider, budget=_budget(shield))
    answers: Counter[str] = Counter()
    for done in range(check_whole("starts", count, 0)):
        if progress is not None:
            progress(done, count)
        answers[decider.decide(task.sample_initial(random)).answer.value] += 1
    return {name: answers[name] for name in ("safe", "not safe", "unknown")}


def table_of(task: JaniTask, shield: DeciderShield, states: int) -> ShieldTable[State, str]:
    """The allowed labels of all states that shielded runs can reach; raises an error if there are too many."""
    engine = task.new_engine()
    policy = load_policy(shield.policy, task, engine=engine)
    decider = Decider(system_of(task, policy, engine), shield.decider, budget=_budget(shield))
    found = OracleShield(decider).table(task.initial_states(), states)
    policy.close()
    if not found.is_complete:
        raise BudgetLimitError(
            f"shielded runs reach more than {states:,} states",
            where=task.name,
            hint="leave out --table, or give more --states",
        )
    return replace(found, task=task.digest, policy=shield.policy)


def _budget(shield: DeciderShield) -> Budget:
    return Budget(evaluations=shield.evaluations, seconds=None)


__all__ = ["decided_starts", "shield_for", "table_of"]
