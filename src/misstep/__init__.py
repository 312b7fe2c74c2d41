"""Misstep tests learned action policies and proves what it finds.

The public names are loaded on first use: `python -m misstep.checking` must run where the native core
does not, and `misstep --help` should not wait for it.
"""

from __future__ import annotations

import sys

# Defined here, because importing `typing` takes longer than everything else that happens before `__main__` runs, and
# until then Ctrl-C prints a traceback.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from misstep.campaigns.campaign import Campaign, open_campaign
    from misstep.campaigns.records import Record
    from misstep.campaigns.testing import test
    from misstep.comparison.compare import compare
    from misstep.errors import MisstepError
    from misstep.faults.census import census
    from misstep.oracles.dominance import dominance
    from misstep.planning import PlanResult, plan
    from misstep.policies.conformance import check_policy
    from misstep.policies.function import policy
    from misstep.policies.load import load_policy
    from misstep.policies.policy import Policy
    from misstep.runs.runner import Trace
    from misstep.runs.single import run
    from misstep.tasks.generate import generate
    from misstep.tasks.jani.task import JaniTask as Model
    from misstep.tasks.load import load_suite, load_task
    from misstep.tasks.state_view import StateView
    from misstep.tasks.task import State, Task
    from misstep.training.api import select, train

# The module that defines each name, and after a colon the name that it has in that module if it differs.
_HOMES = {
    "Campaign": "misstep.campaigns.campaign",
    "MisstepError": "misstep.errors",
    "Model": "misstep.tasks.jani.task:JaniTask",
    "PlanResult": "misstep.planning",
    "Policy": "misstep.policies.policy",
    "Record": "misstep.campaigns.records",
    "State": "misstep.tasks.task",
    "StateView": "misstep.tasks.state_view",
    "Task": "misstep.tasks.task",
    "Trace": "misstep.runs.runner",
    "census": "misstep.faults.census",
    "check_policy": "misstep.policies.conformance",
    "compare": "misstep.comparison.compare",
    "dominance": "misstep.oracles.dominance",
    "generate": "misstep.tasks.generate",
    "load_policy": "misstep.policies.load",
    "load_suite": "misstep.tasks.load",
    "load_task": "misstep.tasks.load",
    "open_campaign": "misstep.campaigns.campaign",
    "plan": "misstep.planning",
    "policy": "misstep.policies.function",
    "run": "misstep.runs.single",
    "select": "misstep.training.api",
    "test": "misstep.campaigns.testing",
    "train": "misstep.training.api",
}

__all__ = [
    "Campaign",
    "MisstepError",
    "Model",
    "PlanResult",
    "Policy",
    "Record",
    "State",
    "StateView",
    "Task",
    "Trace",
    "census",
    "check_policy",
    "compare",
    "dominance",
    "generate",
    "load_policy",
    "load_suite",
    "load_task",
    "open_campaign",
    "plan",
    "policy",
    "run",
    "select",
    "test",
    "train",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib import metadata

        # Kept, as reading it takes a millisecond.
        return globals().setdefault(name, metadata.version("misstep"))
    if name not in _HOMES:
        raise AttributeError(f"module 'misstep' has no attribute {name!r}")
    from importlib import import_module

    module, _, original = _HOMES[name].partition(":")
    return getattr(import_module(module), original or name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


# If Gymnasium is loaded already, register our environments, so that `gymnasium.make` knows their plain ids.
if hasattr(sys.modules.get("gymnasium"), "register"):
    import misstep.gym  # noqa: F401
