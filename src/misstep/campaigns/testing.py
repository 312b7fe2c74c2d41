"""Start or continue a campaign: `misstep.test`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from misstep.campaigns.arguments import as_path, check_session, check_truth
from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.campaigns.cluster.files import check_policy
from misstep.campaigns.create import clear, remove
from misstep.campaigns.grow import check_lender, lend_pool
from misstep.campaigns.limits import Limits, Progress
from misstep.campaigns.options import make_settings
from misstep.campaigns.session import StopAt, grow, load_again, work
from misstep.campaigns.settings import PLANNING, Settings, check_oracle
from misstep.campaigns.store import Store, begin_store, memory_store, open_store
from misstep.campaigns.tables import Content
from misstep.campaigns.toml import from_toml
from misstep.errors import InputFormatError, MisstepError, UsageError
from misstep.files import decoded, read_bytes
from misstep.oracles.trust import given_oracle, require_oracle_trust
from misstep.policies.service import sharing
from misstep.policies.trust import Trust, require_trust
from misstep.policies.trust import given as given_by_user
from misstep.tasks.load import AnyTask, load_task

StrPath = str | os.PathLike[str]
# Number of processes, largest batch, limits, progress.
How = tuple[int, int | None, Limits | Mapping[str, float] | None, Progress | None]
MAX_CONFIG_BYTES = 16 * 2**20


def test(
    tasks: Any,
    policy: Any,
    *,
    out: StrPath | None = None,
    resume: bool = False,
    config: StrPath | Mapping[str, Any] | None = None,
    pool_from: StrPath | Campaign | None = None,
    jobs: int = 1,
    batch_size: int | None = None,
    limits: Limits | Mapping[str, float] | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
    trust_policy: Trust = False,
    stop_at_first: StopAt = False,
    force: bool = False,
    **options: Any,
) -> Campaign:
    """Test a policy on a task, a model, or several of one kind; returns the campaign.

    `tasks` is anything that `load_task` takes, or a list of these; `policy` is anything that `load_policy` takes. With
    `out` the campaign is stored in that folder and can be resumed; without it, the campaign is in memory until it is
    saved. `force=True` replaces a campaign that is in the folder already. `config` is a settings file such as the
    `config.toml` of a campaign. `pool_from` uses the states of another campaign. `jobs` is the number of processes, and
    `limits` are their time and memory limits. `cluster` is the address of a cluster that does the work, such as
    `tcp://HOST:8786` (docs/cluster.md). `stop_at_first` ends the campaign at the first bug that is proven and
    confirmed, or at the first record for which a function returns true. `trust_policy=True` allows the file `config` to
    name a policy that runs code. All other settings are options with the names of `misstep test`, such as `pool=100,
    oracle="p24"`, or `runs=1000, radius=2` for models.
    """
    lender = None if pool_from is None else _campaign(pool_from)
    given = lender.tasks if tasks is None and lender is not None else _tasks(tasks)
    world = given[0].world
    base = None if config is None else read_settings(config, world, trust_policy)
    if lender is not None:
        check_lender(given, lender._content)
    check_session(jobs, batch_size, limits, progress, cluster)
    check_truth("resume", resume)
    check_truth("force", force)
    if not callable(stop_at_first):
        check_truth("stop_at_first", stop_at_first)
    folder = None if out is None else as_path("out", out, "the path of a folder")
    if force:
        _check_force(folder, resume, lender)
    if policy is None:
        if base is None or not base.policy:
            raise UsageError("the policy to test is missing", expected="a policy")
        if not isinstance(config, Mapping):
            require_trust(base.policy, trust_policy, str(config), of_model=base.model is not None)
        policy = base.policy
    given_by_user(policy)
    given_oracle(options.get("oracle"))
    # Check settings and policy first, so that an error leaves no files behind.
    settings = replace(make_settings(world, "", options, base), retest=None)
    given_oracle(settings.oracle)  # from an argument, or from a file that is trusted

    def prepare(content: Content, settings: Settings) -> None:
        if lender is not None:
            lend_pool(content, settings, lender._content)

    how = (jobs, batch_size, limits, progress)
    return conduct(
        given,
        policy,
        settings,
        folder,
        resume,
        prepare,
        how,
        trust_policy,
        stop_at_first=stop_at_first,
        cluster=cluster,
        force=force,
    )


def conduct(
    given: Sequence[AnyTask],
    policy: Any,
    settings: Settings,
    folder: Path | None,
    resume: bool,
    prepare: Callable[[Content, Settings], None],
    how: How,
    trust: Trust,
    *,
    stop_at_first: StopAt = False,
    cluster: str | None = None,
    force: bool = False,
) -> Campaign:
    """Run a whole campaign. If the policy cannot be loaded, no files are left behind.

    `prepare` adds data that does not come from the work itself, such as the states of another campaign. `force`
    replaces a campaign that is in the folder.
    """
    if cluster is not None:
        check_policy(policy)
    with ExitStack() as ends:
        ends.enter_context(sharing(how[0] > 1))
        loaded = load_again(policy, given[0], settings)
        settings = replace(settings, policy=policy if isinstance(policy, str) else loaded.name)
        if isinstance(policy, str):
            ends.callback(loaded.close)
        if force and folder is not None:
            clear(folder)
        is_new = folder is not None and not folder.exists()
        store = (
            memory_store(settings.as_dict())
            if folder is None
            else _begin(folder, settings, resume, policy, given)
        )
        try:
            content = Content(store)
            settings = Settings.from_dict(store.config, store.path)
            _know(content, given)
            prepare(content, settings)
            first = loaded if content.task_names()[0] == given[0].name else None
            work(
                content,
                settings,
                policy,
                *how,
                trust=trust,
                loaded=first,
                stop_at_first=stop_at_first,
                cluster=cluster,
            )
        except BaseException as error:
            is_empty = (
                is_new and isinstance(error, MisstepError) and not store.rows("SELECT 1 FROM units")
            )
            store.close()
            if is_empty and store.folder is not None:
                remove(store.folder)
            raise
    if folder is None:
        return Campaign(store, policy)
    store.close()
    return Campaign(open_store(folder, readonly=True), policy)


def _check_force(folder: Path | None, resume: bool, lender: Campaign | None) -> None:
    """Refuse to replace what is still needed."""
    if resume:
        raise UsageError("both resume and force", expected="one of them")
    lent = None if lender is None else lender.folder
    if folder is not None and lent is not None and folder.resolve() == lent.resolve():
        raise UsageError(
            "the campaign that lends its states would be replaced",
            where=str(folder),
            expected="another folder",
        )


def read_settings(
    config: StrPath | Mapping[str, Any], world: str | None = None, trust: Trust = False
) -> Settings:
    """Read settings from a file or a tree; `world` is the default if they do not name one."""
    if isinstance(config, Mapping):
        return _checked(Settings.from_dict(config, "the settings", world), "the settings")
    path = as_path("config", config, "the path of a file of settings, or a dictionary of them")
    where = str(path)
    text = decoded(read_bytes(path, MAX_CONFIG_BYTES, "a file of settings"), where)
    settings = Settings.from_dict(from_toml(text, where), where, world)
    require_oracle_trust(settings.oracle, trust, where, hint="if you trust it, give --trust-policy")
    return _checked(settings, where)


def _checked(settings: Settings, where: str) -> Settings:
    try:
        check_oracle(settings.world, settings.oracle)
    except UsageError as error:
        raise InputFormatError(error.what, where=where, expected=error.expected) from None
    return settings


def _begin(
    folder: Path, settings: Settings, resume: bool, policy: Any, given: Sequence[AnyTask]
) -> Store:
    """Create a campaign, or open an existing one with the same settings; it may have grown since."""
    if not resume:
        return begin_store(folder, settings.as_dict())
    try:
        known = open_store(folder, readonly=True)
    except Exception:
        return begin_store(folder, settings.as_dict(), resume=True)
    with known:
        before = Settings.from_dict(known.config, known.path)
    smaller = _with_size_of(settings, before)
    store = begin_store(folder, smaller.as_dict(), resume=True)
    if smaller != settings:
        try:
            content = Content(store)
            _know(content, given)  # before it grows: a refused command changes nothing
            grow(content, settings, policy)
        except BaseException:
            store.close()
            raise
    return store


def _with_size_of(settings: Settings, other: Settings) -> Settings:
    if settings.world != other.world:
        return settings
    if settings.world == PLANNING:
        own, size = settings.of_planning, other.of_planning.fuzzing.max_states
        return replace(
            settings, planning=replace(own, fuzzing=replace(own.fuzzing, max_states=size))
        )
    return replace(settings, model=replace(settings.of_model, runs=other.of_model.runs))


def _campaign(given: StrPath | Campaign) -> Campaign:
    return given if isinstance(given, Campaign) else open_campaign(given)


def _tasks(tasks: Any) -> list[AnyTask]:
    several = list(tasks) if isinstance(tasks, (list, tuple)) else [tasks]
    if not several:
        raise UsageError("there is no task to test on", expected="at least one")
    loaded = [load_task(task) for task in several]
    worlds = {task.world for task in loaded}
    if len(worlds) > 1:
        raise UsageError(
            "planning tasks and models are mixed", expected="only planning tasks, or only models"
        )
    names: set[str] = set()
    for task in loaded:
        if task.name in names:
            raise UsageError(
                f"two tasks have the name {task.name}", hint="set the name of one of them"
            )
        names.add(task.name)
    return loaded


def _know(content: Content, tasks: Sequence[AnyTask]) -> None:
    known = content.task_names()
    if known and set(known) != {task.name for task in tasks}:
        raise UsageError(
            "the campaign has other tasks",
            where=content.store.where,
            expected=", ".join(known[:10]),
        )
    with content.store.unit():  # all or none
        for task in tasks:
            content.add_task(task)


__all__ = ["conduct", "read_settings", "test"]
