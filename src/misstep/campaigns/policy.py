"""The policy of a campaign, asked again later."""

from __future__ import annotations

from misstep.campaigns.store import CampaignStore
from misstep.errors import MisstepError
from misstep.policies.load import load_policy
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import Task


def policy_of(store: CampaignStore, task: Task) -> tuple[PolicyRunner | None, str | None]:
    """The policy of the campaign, if it can still be asked; and why not."""
    known = store.policy
    if known is None:
        return None, "the campaign has asked no policy yet"
    spec, digest = known
    try:
        policy = load_policy(spec, task)
    except MisstepError as error:
        return None, f"the policy {spec} cannot be loaded: {error}"
    if policy.digest != digest:
        policy.close()
        return None, f"the policy {spec} has changed since the campaign"
    return PolicyRunner(policy), None


__all__ = ["policy_of"]
