"""A session of work on a campaign: what is left to do is done, by the policy that it began with."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from misstep.campaigns.arguments import as_limits
from misstep.campaigns.cluster.address import read_address
from misstep.campaigns.cluster.files import check_policy
from misstep.campaigns.confirm import Asking, asking_of
from misstep.campaigns.engine import Engine
from misstep.campaigns.grow import prepare_growth
from misstep.campaigns.lent import loan_of
from misstep.campaigns.limits import Limits, Progress, note_of
from misstep.campaigns.nature import Nature
from misstep.campaigns.records import Record
from misstep.campaigns.settings import Settings, check_oracle
from misstep.campaigns.tables import REMARK, Content
from misstep.campaigns.workers import Worker
from misstep.errors import InputFormatError, UnsupportedError, UsageError
from misstep.oracles.trust import require_oracle_trust
from misstep.policies.identity import IN_MEMORY
from misstep.policies.labels.policy import LabelPolicy
from misstep.policies.load import load_policy
from misstep.policies.policy import Policy
from misstep.policies.service import sharing
from misstep.policies.trust import Trust, changed_file, fingerprints, require_trust, runs_file
from misstep.runs.make import nature_of
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask

StopAt = bool | Callable[[Record], bool]


def work(
    content: Content,
    settings: Settings,
    policy: Any,
    jobs: int,
    batch_size: int | None,
    limits: Limits | Mapping[str, float] | None,
    progress: Progress | None,
    oracle: str | None = None,
    trust: Trust = False,
    loaded: Policy | LabelPolicy | None = None,
    stop_at_first: StopAt = False,
    cluster: str | None = None,
) -> None:
    """Do what is left to do; for one oracle, or for all that have judged here before.

    `policy` is what the user has given. Without it, the policy of the settings is taken, which is to be trusted.
    `loaded` is that policy for the first task, where it was loaded already. `stop_at_first` ends the work at a bug, or
    at a record of which a function says that it is enough. `cluster` is where the work is done, if not here.
    """
    address = None if cluster is None else read_address(cluster)
    names = _whole_campaign(content, settings)
    oracles = _oracles(content, settings, names, trust)
    if oracle is not None:
        oracles[oracle] = None
    source = source_of(content, settings, policy, trust)
    if address is not None:
        check_policy(source)
    with sharing(jobs > 1):
        asking = check_identity(content, settings, source, names, loaded)
        content.store.set_meta("finished", "0")
        worker, spending = Worker(settings, source, batch_size), as_limits(limits)
        elsewhere = None
        if address is not None:
            from misstep.campaigns.cluster.coordinator import on_cluster

            files, memory = content.policy_files, spending.megabytes(1)
            elsewhere = partial(on_cluster, address, worker, files, memory, note_of(progress))
        engine = Engine(
            content,
            settings,
            worker,
            oracles=list(oracles),
            jobs=jobs,
            limits=spending,
            progress=progress,
            asking=asking,
            until=_until(stop_at_first),
            elsewhere=elsewhere,
        )
        try:
            engine.run(names)
            content.store.set_meta("finished", engine.limit or ("bug" if engine.ended else "1"))
        finally:  # whatever else went wrong may have been because of that
            content.store.check_there()


def _whole_campaign(content: Content, settings: Settings) -> list[str]:
    """The names of its tasks; an error if it ended before it had all that work needs."""
    names = content.task_names()
    if not names:
        raise InputFormatError(
            "the campaign ended before it knew its tasks",
            where=content.store.where,
            hint="start it again without --resume",
        )
    if settings.retest is not None and loan_of(content.store) is None:
        raise InputFormatError(
            "the retest ended before it had its states",
            where=content.store.where,
            hint="'misstep retest DIR --policy SPEC --out DIR2 --resume' goes on",
        )
    return names


def _oracles(
    content: Content, settings: Settings, names: Sequence[str], trust: Trust
) -> dict[str, None]:
    """Those that have judged here before, and that of the settings."""
    oracles: dict[str, None] = {settings.oracle: None}
    for name in names:
        oracles.update(dict.fromkeys(content.findings(name).oracles()))
    for spec in oracles:
        require_oracle_trust(spec, trust, content.store.where)
        try:
            check_oracle(settings.world, spec)
        except UsageError as error:  # of the files, not of the command
            raise InputFormatError(
                f"the campaign names an oracle that does not exist: {error.what}",
                where=content.store.path,
            ) from error
    return oracles


def _until(stop_at_first: StopAt) -> Callable[[Record], bool] | None:
    if callable(stop_at_first):
        return stop_at_first
    return (lambda record: record.is_bug) if stop_at_first else None


def grow(content: Content, settings: Settings, policy: Any, trust: Trust = False) -> None:
    """Larger settings, unless the policy is not there to work with them: growing forgets who was to blame."""
    source = source_of(content, settings, policy, trust)
    check_identity(content, settings, source, content.task_names())
    prepare_growth(content, settings)


def source_of(content: Content, settings: Settings, policy: Any, trust: Trust) -> Any:
    """What the policy is loaded from: what the user has given, or else what is stored and may be trusted.

    Whatever can be known of it from its files alone is compared with what the campaign began with before it is loaded.
    """
    where, of_model = content.store.where, settings.model is not None
    source = settings.policy if policy is None else policy
    known = content.policy
    if known is not None and known.spec != settings.policy:
        raise InputFormatError(
            f"the database is damaged: the settings name the policy {settings.policy!r:.100}, "
            f"and the records {known.spec!r:.100}",
            where=content.store.path,
        )
    if policy is None:
        if not settings.policy:
            raise UsageError("no policy to test", where=where)
        require_trust(settings.policy, trust, where, of_model=of_model)
    files = content.policy_files
    changed = None if known is None else changed_file(files)
    if changed is None and known is not None and not files and runs_file(settings.policy):
        changed = "its file"  # every campaign on such a policy has noted its files
    if changed is not None:
        raise InputFormatError(
            f"the policy {settings.policy} has changed since the campaign began: {changed} is not what it was",
            where=where,
            hint="it was not loaded; 'misstep retest DIR --policy SPEC' tests the new version on the same states",
        )
    return source


def check_identity(
    content: Content,
    settings: Settings,
    source: Any,
    names: Sequence[str],
    loaded: Policy | LabelPolicy | None = None,
) -> Asking:
    """Note which policy is tested, or refuse another one; how it is to be asked again."""
    if not names:
        return Asking()
    policy = loaded or load_again(source, content.task(names[0]), settings)
    try:
        content.set_policy(settings.policy, policy.digest)
        if not content.policy_files:
            content.set_policy_files(fingerprints(policy.files))
        if isinstance(policy, Policy):
            kind = nature_of(policy, settings.of_planning.revisit)
            _note_nature(content, Nature(kind, policy.chooser))
        if policy.environment:  # what its code read while it was loaded
            content.store.set_meta("environment", json.dumps(dict(policy.environment)))
        return asking_of(policy, settings)
    finally:
        if isinstance(source, str):
            policy.close()


def _note_nature(content: Content, nature: Nature) -> None:
    if nature == content.nature:
        return
    content.set_nature(nature)
    if nature.pair is not None:
        content.add_event(REMARK, f"the results belong to the pair of the policy and {nature.pair}")


def load_again(policy: Any, task: AnyTask, settings: Settings) -> Policy | LabelPolicy:
    if isinstance(policy, str) and policy.startswith(f"{IN_MEMORY} "):
        raise UsageError(
            f"the policy, {policy}, existed only in memory",
            hint="give it to open_campaign(DIR, policy), or test a policy python:FILE.py:NAME",
        )
    if isinstance(task, JaniTask):
        loaded = load_policy(policy, task, inapplicable=settings.of_model.inapplicable)
        _refuse_sets(loaded)
        return loaded
    return load_policy(policy, task)


def _refuse_sets(policy: LabelPolicy) -> None:
    """What fails-all and the like mean is defined by reaching the goal, which is not what models are tested for."""
    if not (policy.set_valued or policy.stochastic or policy.plans):
        return
    policy.close()
    what = "answers with plans" if policy.plans else "permits several labels"
    raise UnsupportedError(
        f"the policy {policy.spec} {what}, which is for planning tasks only",
        where=policy.task.name,
        expected="a policy that names one label in each state",
        hint="choose among the labels it permits, for example the first, and test that",
    )


__all__ = ["StopAt", "check_identity", "grow", "load_again", "source_of", "work"]
