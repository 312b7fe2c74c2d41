"""A session of work on a campaign: do what is left to do, with the policy with which the campaign began."""

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
from misstep.campaigns.unasked import note_asks
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
    """Do what is left to do, for one oracle or for all that have judged here before.

    `policy` is what the user has given; without it, the policy of the settings is used, which must be trusted. `loaded`
    is that policy for the first task, if it is loaded already. `stop_at_first` ends the work at the first bug, or at
    the first record for which a function returns true. `cluster` is the cluster that does the work, if any.
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
        finally:  # damage may be the cause of any other error
            content.store.check_there()


def _whole_campaign(content: Content, settings: Settings) -> list[str]:
    """The names of its tasks; raises an error if the campaign was interrupted while it was set up."""
    names = content.task_names()
    if not names:
        raise InputFormatError(
            "the campaign was interrupted before its tasks were stored",
            where=content.store.where,
            hint="start it again without --resume",
        )
    if settings.retest is not None and loan_of(content.store) is None:
        raise InputFormatError(
            "the retest was interrupted before its states were copied",
            where=content.store.where,
            hint="'misstep retest DIR --policy SPEC --out DIR2 --resume' continues it",
        )
    return names


def _oracles(
    content: Content, settings: Settings, names: Sequence[str], trust: Trust
) -> dict[str, None]:
    """The oracles that have judged here before, and the one of the settings."""
    oracles: dict[str, None] = {settings.oracle: None}
    for name in names:
        oracles.update(dict.fromkeys(content.findings(name).oracles()))
    for spec in oracles:
        require_oracle_trust(spec, trust, content.store.where)
        try:
            check_oracle(settings.world, spec)
        except UsageError as error:  # the files are wrong, not the command
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
    """Enlarge the settings if the policy is available: growing deletes the faults, which need it to be found again."""
    source = source_of(content, settings, policy, trust)
    check_identity(content, settings, source, content.task_names())
    prepare_growth(content, settings)


def source_of(content: Content, settings: Settings, policy: Any, trust: Trust) -> Any:
    """The source of the policy: what the user has given, or else the stored spec if it is trusted.

    Its files are compared with those at the beginning of the campaign before it is loaded.
    """
    where, of_model = content.store.where, settings.model is not None
    source = settings.policy if policy is None else policy
    known = content.policy
    if known is not None and known.spec != settings.policy:
        raise InputFormatError(
            f"the database is damaged: the settings name the policy {settings.policy!r:.100}, "
            f"but the records {known.spec!r:.100}",
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
    """Store which policy is tested, or refuse another one; returns how to ask it again."""
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
        asking = asking_of(policy, settings)
        note_asks(content.store, asking.asks)
        return asking
    finally:
        if isinstance(source, str):
            policy.close()


def _note_nature(content: Content, nature: Nature) -> None:
    if nature == content.nature:
        return
    content.set_nature(nature)
    if nature.pair is not None:
        content.add_event(REMARK, f"the results depend on the policy together with {nature.pair}")


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
    """Refuse set-valued policies on models: their kinds of bugs are defined by goals, not by safety."""
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
