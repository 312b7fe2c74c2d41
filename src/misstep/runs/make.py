"""Choose the runner for a policy, by the kind of the policy and the settings."""

from __future__ import annotations

from misstep.errors import UsageError
from misstep.policies.policy import Policy
from misstep.runs.by_start import StartRunner
from misstep.runs.permitted import DEFAULT_LIMIT, WorstCase
from misstep.runs.runner import PolicyRunner
from misstep.runs.single import REVISIT, refuse_avoid


def nature_of(policy: Policy, revisit: str = "stop") -> str:
    """The kind of a policy's runs: function (of the state), set (one of many), plan (open loop), avoid."""
    if revisit not in REVISIT:
        raise UsageError(f"no revisit mode {revisit!r}", expected=", ".join(REVISIT))
    if revisit == "avoid":
        refuse_avoid(policy)
        return "avoid"
    if policy.plans:
        return "plan"
    return "set" if policy.set_valued or policy.stochastic else "function"


def make_runner(
    policy: Policy,
    *,
    batch_size: int | None = None,
    revisit: str = "stop",
    permitted_limit: int = DEFAULT_LIMIT,
    costly_some: bool = False,
    risk: bool = False,
) -> PolicyRunner:
    """A runner for any policy. For a set-valued policy it runs the worst case (`misstep.runs.permitted`)."""
    nature = nature_of(policy, revisit)
    if nature in ("plan", "avoid"):
        return StartRunner(policy, batch_size=batch_size)
    if nature == "set":
        policy = WorstCase(
            policy,
            limit=permitted_limit,
            dearest=costly_some,
            risk=risk,
            batch_size=batch_size,
        )
    return PolicyRunner(policy, batch_size=batch_size)


__all__ = ["make_runner", "nature_of"]
