"""A session of work on a campaign: what is left to do is done, by the policy that it began with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from misstep.campaigns.arguments import as_limits
from misstep.campaigns.confirm import Nature, nature_of
from misstep.campaigns.engine import Engine
from misstep.campaigns.grow import prepare_growth
from misstep.campaigns.limits import Limits, Progress
from misstep.campaigns.settings import Settings
from misstep.campaigns.tables import Content
from misstep.campaigns.workers import Worker
from misstep.errors import InputFormatError, UsageError
from misstep.policies.identity import IN_MEMORY
from misstep.policies.labels.policy import LabelPolicy
from misstep.policies.load import load_policy
from misstep.policies.policy import Policy
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask


def work(
    content: Content,
    settings: Settings,
    policy: Any,
    jobs: int,
    batch_size: int | None,
    limits: Limits | Mapping[str, float] | None,
    progress: Progress | None,
    oracle: str | None = None,
) -> None:
    """Do what is left to do; for one oracle, or for all that have judged here before."""
    names = content.task_names()
    if not names:
        raise InputFormatError(
            "the campaign ended before it knew its tasks",
            where=content.store.where,
            hint="start it again without --resume",
        )
    oracles: dict[str, None] = {settings.oracle: None}
    for name in names:
        oracles.update(dict.fromkeys(content.findings(name).oracles()))
    if oracle is not None:
        oracles[oracle] = None
    source = settings.policy if policy is None else policy
    if policy is None and not isinstance(source, str):
        raise UsageError("no policy to test", where=content.store.where)
    nature = check_identity(content, settings, source, names)
    content.store.set_meta("finished", "0")
    engine = Engine(
        content,
        settings,
        Worker(settings, source, batch_size),
        oracles=list(oracles),
        jobs=jobs,
        limits=as_limits(limits),
        progress=progress,
        nature=nature,
    )
    engine.run(names)
    content.store.set_meta("finished", engine.limit or "1")


def grow(content: Content, settings: Settings, policy: Any) -> None:
    """Larger settings, unless the policy is not there to work with them: growing forgets who was to blame."""
    source = settings.policy if policy is None else policy
    check_identity(content, settings, source, content.task_names())
    prepare_growth(content, settings)


def check_identity(
    content: Content, settings: Settings, source: Any, names: Sequence[str]
) -> Nature:
    """Note which policy is tested, or refuse another one; what kind of policy it is."""
    if not names:
        return Nature()
    policy = load_again(source, content.task(names[0]), settings)
    try:
        content.set_policy(settings.policy, policy.digest)
        return nature_of(policy, settings)
    finally:
        if isinstance(source, str):
            policy.close()


def load_again(policy: Any, task: AnyTask, settings: Settings) -> Policy | LabelPolicy:
    if isinstance(policy, str) and policy.startswith(f"{IN_MEMORY} "):
        raise UsageError(
            f"the policy, {policy}, existed only in memory",
            hint="give it to open_campaign(DIR, policy), or test a policy python:FILE.py:NAME",
        )
    if isinstance(task, JaniTask):
        return load_policy(policy, task, inapplicable=settings.of_model.inapplicable)
    return load_policy(policy, task)


__all__ = ["check_identity", "grow", "load_again", "work"]
