"""JANI tasks as transition systems for this package."""

from __future__ import annotations

from misstep import _core
from misstep.policies.labels.policy import LabelPolicy
from misstep.safety.system import System
from misstep.tasks.jani.task import JaniTask, State


def jani_transitions(
    task: JaniTask, engine: _core.JaniEngine | None = None
) -> _core.JaniTransitions:
    """The task as a transition system: states are tuples of values, labels are names.

    Ids are those of the engine, by default the task's own, so that policies loaded for the task fit. An engine
    remembers all states it ever met; a long search may bring one of its own.
    """
    return _core.JaniTransitions(task.engine if engine is None else engine)


def system_of(
    task: JaniTask, policy: LabelPolicy, engine: _core.JaniEngine | None = None
) -> System[State, str]:
    """The model under a policy that was loaded for it."""
    return System(jani_transitions(task, engine), policy.policy, inapplicable=policy.inapplicable)


__all__ = ["jani_transitions", "system_of"]
