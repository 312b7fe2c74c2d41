"""Misstep tests learned action policies and proves what it finds.

The public names are loaded on first use: `python -m misstep.checking` must run where the native core
does not, and `misstep --help` should not wait for it.
"""

from __future__ import annotations

# Not that of `typing`, which takes longer to load than the rest of a start: until `__main__` runs, Ctrl-C is noisy.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from misstep.errors import MisstepError
    from misstep.planning import PlanResult, make_heuristic, plan
    from misstep.policies.conformance import check_policy
    from misstep.policies.function import StateView, policy
    from misstep.policies.load import load_policy
    from misstep.policies.policy import Policy
    from misstep.runs.runner import PolicyRunner, Trace
    from misstep.tasks.census import Census, census
    from misstep.tasks.generate import generate
    from misstep.tasks.load import load_task
    from misstep.tasks.task import State, Task

_HOMES = {
    "Census": "misstep.tasks.census",
    "MisstepError": "misstep.errors",
    "PlanResult": "misstep.planning",
    "Policy": "misstep.policies.policy",
    "PolicyRunner": "misstep.runs.runner",
    "State": "misstep.tasks.task",
    "StateView": "misstep.policies.function",
    "Task": "misstep.tasks.task",
    "Trace": "misstep.runs.runner",
    "census": "misstep.tasks.census",
    "check_policy": "misstep.policies.conformance",
    "generate": "misstep.tasks.generate",
    "load_policy": "misstep.policies.load",
    "load_task": "misstep.tasks.load",
    "make_heuristic": "misstep.planning",
    "plan": "misstep.planning",
    "policy": "misstep.policies.function",
}

__all__ = [
    "Census",
    "MisstepError",
    "PlanResult",
    "Policy",
    "PolicyRunner",
    "State",
    "StateView",
    "Task",
    "Trace",
    "census",
    "check_policy",
    "generate",
    "load_policy",
    "load_task",
    "make_heuristic",
    "plan",
    "policy",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib import metadata

        return metadata.version("misstep")
    if name not in _HOMES:
        raise AttributeError(f"module 'misstep' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
