"""Testing a policy, in five lines of Python: the campaign as an object.

    found = misstep.test(task, policy, pool=100)        # in memory; with out=DIR in a folder
    for bug in found.bugs: print(found.explain(bug))
    found.save("found"); misstep.open_campaign("found")

The commands are thin callers of what stands here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from misstep.campaigns.arguments import (
    as_limits,
    as_path,
    check_seconds,
    check_session,
    check_truth,
)
from misstep.campaigns.create import remove
from misstep.campaigns.engine import Engine, Limits, Progress
from misstep.campaigns.grow import check_lender, grown_settings, lend_pool, prepare_growth
from misstep.campaigns.options import make_settings
from misstep.campaigns.records import Record
from misstep.campaigns.settings import PLANNING, Settings, check_oracle
from misstep.campaigns.store import Store, begin_store, memory_store, open_store
from misstep.campaigns.summary import Summary, summarise
from misstep.campaigns.tables import Content, PolicyIdentity
from misstep.campaigns.toml import from_toml
from misstep.campaigns.view import read_records
from misstep.campaigns.workers import Worker
from misstep.errors import InputFormatError, MisstepError, UsageError
from misstep.files import read_bytes
from misstep.policies.identity import IN_MEMORY
from misstep.policies.labels.policy import LabelPolicy
from misstep.policies.load import load_policy
from misstep.policies.policy import Policy
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask, load_task

if TYPE_CHECKING:
    from misstep.campaigns.explain import BlamedDecision, Explanation
    from misstep.campaigns.replay import Replay

StrPath = str | os.PathLike[str]
MAX_CONFIG_BYTES = 16 * 2**20


class Campaign:
    """What was found about a policy on some tasks or models. Made by `test` and `open_campaign`."""

    def __init__(self, store: Store, policy: Any = None) -> None:
        """`policy` is the policy itself where it exists only in memory, so that it can be asked again."""
        self._store = store
        self._policy = policy
        self._content = Content(store)

    # -- what it is about -------------------------------------------------------------------------

    @property
    def folder(self) -> Path | None:
        """Where it lies; None: in memory."""
        return self._store.folder

    @property
    def settings(self) -> Settings:
        return Settings.from_dict(self._store.config, self._store.path)

    @property
    def policy(self) -> PolicyIdentity | None:
        """Spec and digest of the policy; None: none was asked yet."""
        return self._content.policy

    @property
    def tasks(self) -> list[AnyTask]:
        return [self._content.task(name) for name in self._content.task_names()]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is odd about the files."""
        return self._store.remarks

    # -- what was found ---------------------------------------------------------------------------

    @property
    def summary(self) -> Summary:
        return summarise(self._content, self.settings)

    def iter_records(self, task: str | None = None) -> Iterator[Record]:
        """The records one by one, for campaigns that are too large for a list; those of one task if it is named."""
        for name in self._content.task_names() if task is None else [task]:
            yield from read_records(self._content, name)

    @cached_property
    def records(self) -> list[Record]:
        """All tested states, task by task."""
        return list(self.iter_records())

    @property
    def bugs(self) -> list[Record]:
        return [record for record in self.records if record.is_bug]

    @property
    def faults(self) -> list[BlamedDecision]:
        """The decisions behind all bugs, those that cause most of them first."""
        from misstep.campaigns.explain import blamed_decisions

        return blamed_decisions(self.records)

    def record(self, handle: Record | str | int) -> Record:
        """The record of that id (`TASK:NUMBER`); its number alone will do where there is one task."""
        if isinstance(handle, Record):
            handle = handle.id
        if isinstance(handle, bool) or not isinstance(handle, (str, int)):
            raise UsageError(f"{handle!r:.80} is no record", expected="an id such as TASK:NUMBER")
        names = self._content.task_names()
        text = str(handle)
        task, _, number = text.rpartition(":")
        if not task and len(names) == 1:
            task = names[0]
        for record in self.records:
            if record.task == task and str(record.number) == number:
                return record
        example = f"{names[0]}:1" if names else "TASK:1"
        raise UsageError(
            f"no record {text!r}",
            where=self._store.where,
            expected=f"the id of a record, such as {example}",
            hint="'misstep records DIR' lists them",
        )

    def explain(
        self, bug: Record | str | int, *, deeper: bool = False, time_limit: float | None = None
    ) -> Explanation:
        """Why a state is a bug, from what is stored; `deeper` looks further, within a time limit in seconds."""
        from misstep.campaigns.explain import explain_record

        check_truth("deeper", deeper)
        check_seconds("time_limit", time_limit)
        record = self.record(bug)
        verdicts = {
            other.state: other.verdict for other in self.records if other.task == record.task
        }
        task = self._content.task(record.task)
        explanation = explain_record(task, record, self.settings, verdicts)
        if deeper:
            from misstep.campaigns.deeper import look_deeper

            return look_deeper(explanation, self._ask_again, time_limit)
        return explanation

    def replay(
        self,
        policy: Any = None,
        *,
        rerun: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Replay:
        """Check every run and witness again with the independent checker, from what is stored alone.

        With a policy, or with `rerun`, which means that of the campaign, it is also run again and compared.
        `progress` is told what is done, how much of it, and of how much.
        """
        from misstep.campaigns.replay import replay

        check_truth("rerun", rerun)
        again = self._ask_again if policy is None else (lambda task: load_policy(policy, task))
        asked = again if rerun or policy is not None else None
        return replay(self._content, self.settings, asked, progress)

    def _ask_again(self, task: AnyTask) -> Policy | LabelPolicy:
        """The policy of the campaign, unless it has changed."""
        identity = self.policy
        if identity is None:
            raise UsageError("the campaign has asked no policy yet", where=self._store.where)
        policy = load_again(self._policy or identity.spec, task, self.settings)
        if policy.digest != identity.digest:
            policy.close()
            raise InputFormatError(
                f"the policy {identity.spec} has changed since the campaign",
                where=self._store.where,
                hint="a replay can be given the policy to compare with",
            )
        return policy

    def to_rows(self) -> list[dict[str, Any]]:
        """One flat dictionary a record: `pandas.DataFrame(campaign.to_rows())` is a data frame."""
        return [record.as_row() for record in self.records]

    def metrics(self, *, regions: bool = False) -> dict[str, Any]:
        """The numbers of the papers, over all tasks and task by task, as plain data.

        `sets` are the sizes of pool, solved and tested states and of each kind of bug; `recall` and `severity` are
        those of P22, `oracles` the recall of each oracle that judged (P23), `coverage` bugs among all states (P24),
        `unique_pairs` how varied the bugs are. `regions` also groups bugs that are neighbours, which takes longer.
        """
        from misstep.campaigns.metrics import all_metrics

        tasks = self.tasks
        pools = {task.name: self._content.findings(task.name).state_count() for task in tasks}
        return all_metrics(tasks, self.records, pools, regions)

    # -- going on ---------------------------------------------------------------------------------

    def save(self, folder: StrPath) -> Campaign:
        """Copy it into a new folder; returns the campaign there."""
        self._store.save(as_path("the folder", folder, "the path of a new folder"))
        return open_campaign(folder)

    def resume(
        self,
        *,
        pool: int | None = None,
        runs: int | None = None,
        jobs: int = 1,
        batch_size: int | None = None,
        limits: Limits | Mapping[str, float] | None = None,
        progress: Progress | None = None,
    ) -> Campaign:
        """Do what is left to do. A larger `pool`, or more `runs` of models, let a finished campaign grow."""
        check_session(jobs, batch_size, limits, progress)
        before = self.settings
        settings = grown_settings(before, pool=pool, runs=runs)
        with self._writing() as content:
            if settings != before:
                _grow(content, settings, self._policy)
            _work(content, settings, self._policy, jobs, batch_size, limits, progress)
        return self

    def judge(
        self,
        oracle: str,
        *,
        jobs: int = 1,
        batch_size: int | None = None,
        limits: Limits | Mapping[str, float] | None = None,
        progress: Progress | None = None,
    ) -> Campaign:
        """Add the verdicts of another oracle on the same states and runs."""
        check_session(jobs, batch_size, limits, progress)
        settings = self.settings
        check_oracle(settings.world, oracle)
        with self._writing() as content:
            _work(content, settings, self._policy, jobs, batch_size, limits, progress, oracle)
        return self

    @contextmanager
    def _writing(self) -> Iterator[Content]:
        folder = self.folder
        self.__dict__.pop("records", None)
        if folder is None:
            yield self._content
            return
        self._store.close()
        try:
            with open_store(folder) as store:
                yield Content(store)
        finally:
            self._store = open_store(folder, readonly=True)
            self._content = Content(self._store)

    def close(self) -> None:
        """Close the files. What was read stays; a campaign in memory is gone."""
        self._store.close()

    def __enter__(self) -> Campaign:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        summary = self.summary
        return (
            f"<Campaign {self._store.where}: {summary.policy}, {summary.tested} states tested, "
            f"{summary.bugs['total']} bugs>"
        )

    def __str__(self) -> str:
        return str(self.summary)

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()


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
    progress: Progress | None = None,
    **options: Any,
) -> Campaign:
    """Test a policy on a task, a model, or several of one kind; returns what was found.

    `tasks` is what `load_task` takes, or a list of that; `policy` is what `load_policy` takes. With `out` the campaign
    is kept in that folder and can be resumed there; else it lives in memory until it is saved. `config` is a file
    of settings as campaigns write them. `pool_from` takes the states of another campaign. `jobs` is the number of
    processes, `limits` what they may spend. All other settings are options by the names of `misstep test`, such as
    `pool=100, oracle="p24"`, or `runs=1000, radius=2` for models.
    """
    lender = None if pool_from is None else _campaign(pool_from)
    given = lender.tasks if tasks is None and lender is not None else _tasks(tasks)
    world = given[0].world
    base = None if config is None else read_settings(config, world)
    if lender is not None:
        check_lender(given, lender._content)
    check_session(jobs, batch_size, limits, progress)
    check_truth("resume", resume)
    folder = None if out is None else as_path("out", out, "the path of a folder")
    if policy is None:
        if base is None or not base.policy:
            raise UsageError("no policy to test", expected="a policy")
        policy = base.policy
    # First of all: a setting or policy that is wrong leaves nothing behind.
    settings = make_settings(world, "", options, base)
    settings = replace(settings, policy=_name_of(policy, given[0], settings))
    is_new = folder is not None and not folder.exists()
    store = (
        memory_store(settings.as_dict())
        if folder is None
        else _begin(folder, settings, resume, policy)
    )
    try:
        content = Content(store)
        settings = Settings.from_dict(store.config, store.path)
        _know(content, given)
        if lender is not None:
            lend_pool(content, settings, lender._content)
        _work(content, settings, policy, jobs, batch_size, limits, progress)
    except BaseException as error:
        is_empty = (
            is_new and isinstance(error, MisstepError) and not store.rows("SELECT 1 FROM units")
        )
        store.close()
        if is_empty and store.folder is not None:
            remove(store.folder)
        raise
    memory = None if isinstance(policy, str) else policy
    if folder is None:
        return Campaign(store, memory)
    store.close()
    return Campaign(open_store(folder, readonly=True), memory)


def open_campaign(folder: StrPath, policy: Any = None) -> Campaign:
    """The campaign in a folder, to be read; `policy` is the policy itself if it had existed only in memory."""
    place = as_path("the folder", folder, "the path of a campaign")
    return Campaign(open_store(place, readonly=True), policy)


def read_settings(config: StrPath | Mapping[str, Any], world: str | None = None) -> Settings:
    """From a file, or a tree of settings; `world` is meant where it does not say."""
    if isinstance(config, Mapping):
        return Settings.from_dict(config, "the settings", world)
    path = as_path("config", config, "the path of a file of settings, or a dictionary of them")
    where = str(path)
    try:
        text = read_bytes(path, MAX_CONFIG_BYTES, "a file of settings").decode()
    except UnicodeDecodeError as error:
        raise InputFormatError("not UTF-8 text", where=where) from error
    return Settings.from_dict(from_toml(text, where), where, world)


def load_again(policy: Any, task: AnyTask, settings: Settings) -> Policy | LabelPolicy:
    if isinstance(policy, str) and policy.startswith(f"{IN_MEMORY} "):
        raise UsageError(
            f"the policy, {policy}, existed only in memory",
            hint="give it to open_campaign(DIR, policy), or test a policy python:FILE.py:NAME",
        )
    if isinstance(task, JaniTask):
        return load_policy(policy, task, inapplicable=settings.of_model.inapplicable)
    return load_policy(policy, task)


def _begin(folder: Path, settings: Settings, resume: bool, policy: Any) -> Store:
    """A new campaign, or the same one again; one that has grown may be asked for with its larger size."""
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
            _grow(Content(store), settings, policy)
        except BaseException:
            store.close()
            raise
    return store


def _grow(content: Content, settings: Settings, policy: Any) -> None:
    """Larger settings, unless the policy is not there to work with them: growing forgets who was to blame."""
    source = settings.policy if policy is None else policy
    _check_identity(content, settings, source, content.task_names())
    prepare_growth(content, settings)


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
        raise UsageError("no task to test on", expected="at least one")
    loaded = [load_task(task) for task in several]
    worlds = {task.world for task in loaded}
    if len(worlds) > 1:
        raise UsageError("tasks and models together", expected="planning tasks, or models")
    names: set[str] = set()
    for task in loaded:
        if task.name in names:
            raise UsageError(
                f"two tasks have the name {task.name}", hint="set the name of one of them"
            )
        names.add(task.name)
    return loaded


def _name_of(policy: Any, task: AnyTask, settings: Settings) -> str:
    """What stands for the policy in the settings; an error if it cannot be loaded."""
    loaded = load_again(policy, task, settings)
    if isinstance(policy, str):
        loaded.close()
        return policy
    return loaded.name


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


def _work(
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
    _check_identity(content, settings, source, names)
    content.store.set_meta("finished", "0")
    engine = Engine(
        content,
        settings,
        Worker(settings, source, batch_size),
        oracles=list(oracles),
        jobs=jobs,
        limits=as_limits(limits),
        progress=progress,
    )
    engine.run(names)
    content.store.set_meta("finished", engine.limit or "1")


def _check_identity(
    content: Content, settings: Settings, source: Any, names: Sequence[str]
) -> None:
    """Note which policy is tested, or refuse another one."""
    if not names:
        return
    policy = load_again(source, content.task(names[0]), settings)
    try:
        content.set_policy(settings.policy, policy.digest)
    finally:
        if isinstance(source, str):
            policy.close()


__all__ = ["Campaign", "Limits", "open_campaign", "read_settings", "test"]
