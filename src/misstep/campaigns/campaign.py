"""A campaign as an object: test a policy in a few lines of Python.

    found = misstep.test(task, policy, pool=100)        # in memory; with out=DIR in a folder
    for bug in found.bugs: print(found.explain(bug))
    found.save("found"); misstep.open_campaign("found")

The commands are thin layers over these methods.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from misstep.campaigns.arguments import (
    as_path,
    check_seconds,
    check_session,
    check_truth,
)
from misstep.campaigns.damage import noticing_damage
from misstep.campaigns.handles import find_record, place_of
from misstep.campaigns.records import Record
from misstep.campaigns.rows import Values
from misstep.campaigns.settings import MODEL, Settings, check_oracle
from misstep.campaigns.store import Store, open_store
from misstep.campaigns.summary import Summary, blame_of, summarise
from misstep.campaigns.tables import Content, PolicyIdentity
from misstep.campaigns.view import read_record, read_records
from misstep.errors import InputFormatError, UsageError
from misstep.tasks.load import AnyTask

# Modules that only some methods need are imported there, so that reading records does not load oracles and policies.
if TYPE_CHECKING:
    from misstep.campaigns.explain import BlamedDecision, Explanation
    from misstep.campaigns.limits import Limits, Progress
    from misstep.campaigns.replay import Replay
    from misstep.campaigns.session import StopAt
    from misstep.comparison.families.family import Family
    from misstep.comparison.retest import Retest
    from misstep.comparison.shrink import Shrunk
    from misstep.comparison.shrink.elsewhere import OnCluster
    from misstep.policies.labels.policy import LabelPolicy
    from misstep.policies.policy import Policy
    from misstep.policies.trust import Trust
    from misstep.safety.risk import RiskReport, RiskSettings
    from misstep.safety.shield import DeciderShield

StrPath = str | os.PathLike[str]


class Campaign:
    """The results of testing a policy on tasks or models. `test` and `open_campaign` return one."""

    def __init__(self, store: Store, policy: Any = None, trust: Trust = False) -> None:
        """`policy` is the policy that the user has given, if any. Otherwise the stored policy must be trusted."""
        self._store = store
        self._policy = policy
        self._trust = trust
        self._content = Content(store)

    # -- what it is about -------------------------------------------------------------------------

    @property
    def folder(self) -> Path | None:
        """The folder of the campaign, or None if it is in memory."""
        return self._store.folder

    @property
    def settings(self) -> Settings:
        return Settings.from_dict(self._store.config, self._store.path)

    @property
    def policy(self) -> PolicyIdentity | None:
        """Spec and digest of the policy, or None if no policy was asked yet."""
        return self._content.policy

    @property
    def tasks(self) -> list[AnyTask]:
        return [self._content.task(name) for name in self._content.task_names()]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes about oddities in the files."""
        return self._store.remarks

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self._store.rows("SELECT 1 FROM meta WHERE key = 'finished' AND value = '1'") != []

    # -- what was found ---------------------------------------------------------------------------

    @property
    def summary(self) -> Summary:
        with noticing_damage(self._store):
            return summarise(self._content, self.settings)

    @contextmanager
    def reading_once(self) -> Iterator[None]:
        """Inside the `with` block, the database is read only once and kept in memory."""
        with self._store.keeping_rows():
            yield

    def iter_records(self, task: str | None = None, *, brief: bool = False) -> Iterator[Record]:
        """Iterate over the records, of one task if it is named, without holding all of them in memory.

        With `brief`, facts, walks and the names of operators are left out, which is faster.
        """
        with noticing_damage(self._store):
            for name in self._content.task_names() if task is None else [task]:
                yield from read_records(self._content, name, brief=brief)

    @cached_property
    def records(self) -> list[Record]:
        """The records of all tested states, task by task."""
        return list(self.iter_records())

    @property
    def bugs(self) -> list[Record]:
        return [record for record in self.records if record.is_bug]

    @property
    def faults(self) -> list[BlamedDecision]:
        """The decisions that cause the bugs, those that cause most bugs first."""
        from misstep.campaigns.explain import blamed_decisions

        return blamed_decisions(self.records)

    @cached_property
    def families(self) -> list[Family]:
        """Groups of bugs with the same fault under the same conditions, largest first. The policy is not asked.

        The results of `measure_families` are in `Family.measured`.
        """
        from misstep.comparison.families.facade import families_of

        with noticing_damage(self._store):
            return families_of(self, self._store)

    def measure_families(
        self,
        *,
        states: int | None = None,
        time_limit: float | None = None,
        seed: int | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> list[Family]:
        """Measure how often the policy makes the fault of a family in new states that fit its description.

        At most `states` (100) are asked for each family, and at most `time_limit` (60) seconds are spent on all of
        them. The shares are stored in the campaign.
        """
        from misstep.comparison.families.facade import measure_families

        check_seconds("time_limit", time_limit)
        self._require_trust()
        with noticing_damage(self._store):
            keep = measure_families(self, self._ask_again, states, time_limit, seed, progress)
        with self._writing() as content:
            keep(content.store)
        return self.families

    def record(self, handle: Record | str | int) -> Record:
        """The record with an id (`TASK:NUMBER`); the number is enough if there is only one task."""
        names = self._content.task_names()
        if "records" not in self.__dict__:
            found = self._record_alone(handle, names)
            if found is not None:
                return found
        return find_record(self.records, names, handle, self._store.where)

    def _record_alone(self, handle: Record | str | int, names: list[str]) -> Record | None:
        """A record that is read without the others; None if there is no such record, or to be looked for in all."""
        place = place_of(handle, names)
        if place is None or place[0] not in names:
            return None
        with noticing_damage(self._store):
            return read_record(self._content, *place)

    def _verdicts(self, task: str) -> dict[Values, str]:
        """The verdict on each state of a task."""
        if "records" in self.__dict__:
            return {own.state: own.verdict for own in self.records if own.task == task}
        return {own.state: own.verdict for own in self.iter_records(task, brief=True)}

    def explain(
        self, bug: Record | str | int, *, deeper: bool = False, time_limit: float | None = None
    ) -> Explanation:
        """Explain why a state is a bug, from the stored data; `deeper` also searches, for `time_limit` seconds."""
        from misstep.campaigns.explain import explain_record

        check_truth("deeper", deeper)
        check_seconds("time_limit", time_limit)
        record = self.record(bug)
        task = self._content.task(record.task)
        verdicts = self._verdicts(record.task) if task.world == MODEL else {}
        with noticing_damage(self._store):
            explanation = explain_record(task, record, self.settings, verdicts)
        if deeper:
            from misstep.campaigns.deeper import look_deeper

            self._require_trust()
            with noticing_damage(self._store):
                return look_deeper(explanation, self._ask_again, time_limit)
        return explanation

    def replay(
        self,
        policy: Any = None,
        *,
        rerun: bool = False,
        full: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Replay:
        """Check every run and witness again with the independent checker, from the stored data alone.

        `full` also recomputes what has no witness: lower bounds, dominance functions, risks, losses.

        If `policy` is given, it is also run again and compared with the recorded runs; `rerun` does so with the policy
        of the campaign. `progress` is called with what is being done, how much of it is done, and the total.
        """
        from misstep.campaigns.replay import replay
        from misstep.policies.load import load_policy

        check_truth("rerun", rerun)
        check_truth("full", full)
        if rerun and policy is None:
            self._require_trust()
        again = self._ask_again if policy is None else (lambda task: load_policy(policy, task))
        asked = again if rerun or policy is not None else None
        with noticing_damage(self._store):
            return replay(self._content, self.settings, asked, progress, full=full)

    def _require_trust(self) -> None:
        """Make sure that the stored policy may run, before work is done that needs it."""
        from misstep.campaigns.session import source_of

        if self.policy is not None:
            source_of(self._content, self.settings, self._policy, self._trust)

    def _ask_again(self, task: AnyTask) -> Policy | LabelPolicy:
        """The policy of the campaign, unless it has changed."""
        from misstep.campaigns.session import load_again, source_of

        identity = self.policy
        if identity is None:
            if self._store.rows("SELECT 1 FROM runs LIMIT 1"):
                raise InputFormatError(
                    "the database is damaged: it does not say which policy was tested",
                    where=self._store.path,
                )
            raise UsageError("the campaign has asked no policy yet", where=self._store.where)
        source = source_of(self._content, self.settings, self._policy, self._trust)
        policy = load_again(source, task, self.settings)
        if policy.digest != identity.digest:
            policy.close()
            raise InputFormatError(
                f"the policy {identity.spec} has changed since the campaign",
                where=self._store.where,
                hint="a replay can be given the policy to compare with",
            )
        return policy

    def risk(self, task: str | None = None, settings: RiskSettings | None = None) -> RiskReport:
        """How likely a policy gets into an unsafe state from each start of a model, and the least possible risk."""
        from misstep.campaigns.risks import risk_from_starts

        return risk_from_starts(self._content, task, self._ask_again, settings)

    def to_rows(self) -> list[dict[str, Any]]:
        """One flat dictionary per record; `pandas.DataFrame(campaign.to_rows())` makes a data frame."""
        return [record.as_row() for record in self.records]

    def metrics(self, *, regions: bool = False) -> dict[str, Any]:
        """The metrics of the papers, over all tasks and task by task, as plain data.

        `sets` has the number of pool, solved and tested states and of each kind of bug. `recall` and `severity` are
        defined as in P22, `oracles` is the recall of each oracle (P23), `coverage` the share of bugs among all states
        (P24). `unique_pairs` measures how varied the bugs are, and `blame` says where the faults of unsafe runs lie.
        With `regions`, neighbouring bugs are also grouped, which takes longer.
        """
        from misstep.campaigns.metrics import all_metrics

        names = self._content.task_names()
        with noticing_damage(self._store):
            pools = {name: self._content.findings(name).state_count() for name in names}
            blames = {
                name: blame_of(self._content.findings(name))
                for name in names
                if self.settings.world == MODEL
            }
            return all_metrics(self.tasks, self.records, pools, regions, blames)

    def export(self, what: str, path: StrPath, **options: Any) -> list[Path]:
        """Write files for other tools, as `misstep export` does; returns their paths.

        `what` is tests, csv, json, latex, figure or baseline, or, for one record (`bug=ID`), problem, plan or model.
        `misstep.reports.exports.api` has an example and the options of each.
        """
        from misstep.reports.exports.api import export

        return export(
            self, what, as_path("the target", path, "the path of a file or folder"), options
        )

    def report(self, path: StrPath, *, force: bool = False) -> Path:
        """Write an HTML report that works offline. It replaces an older report, and other files only with `force`."""
        from misstep.reports.html.write import write_report

        check_truth("force", force)
        return write_report([self], as_path("the report", path, "the path of a file"), force=force)

    def shield(self, path: StrPath, **options: Any) -> DeciderShield:
        """Write a shield for the policy on the only model (see `misstep shield`); use it as policy `shield:FILE`."""
        from misstep.safety.jani_shield import shield_for

        made = shield_for(self.tasks, self.settings.policy, self._store.where, **options)
        made.write(as_path("the shield", path, "the path of a file"))
        return made

    # -- continuing -------------------------------------------------------------------------------

    def save(self, folder: StrPath) -> Campaign:
        """Copy the campaign into a new folder; returns the campaign there."""
        self._store.save(as_path("the folder", folder, "the path of a new folder"))
        return Campaign(open_store(Path(folder), readonly=True), self._policy, self._trust)

    def resume(
        self,
        *,
        pool: int | None = None,
        runs: int | None = None,
        jobs: int = 1,
        batch_size: int | None = None,
        limits: Limits | Mapping[str, float] | None = None,
        cluster: str | None = None,
        progress: Progress | None = None,
        stop_at_first: StopAt = False,
    ) -> Campaign:
        """Continue the campaign. A larger `pool`, or more `runs` on models, extend a finished campaign.

        `stop_at_first` ends the work at the first bug, as for `misstep.test`.
        """
        from misstep.campaigns.grow import grown_settings
        from misstep.campaigns.session import grow, work

        check_session(jobs, batch_size, limits, progress, cluster)
        before = self.settings
        settings = grown_settings(before, pool=pool, runs=runs)
        with self._writing() as content:
            if settings != before:
                grow(content, settings, self._policy, self._trust)
            how = (jobs, batch_size, limits, progress, None, self._trust)
            work(
                content,
                settings,
                self._policy,
                *how,
                stop_at_first=stop_at_first,
                cluster=cluster,
            )
        return self

    def judge(
        self,
        oracle: str,
        *,
        jobs: int = 1,
        batch_size: int | None = None,
        limits: Limits | Mapping[str, float] | None = None,
        cluster: str | None = None,
        progress: Progress | None = None,
    ) -> Campaign:
        """Add the verdicts of another oracle on the same states and runs."""
        from misstep.campaigns.session import work
        from misstep.oracles.trust import given_oracle

        check_session(jobs, batch_size, limits, progress, cluster)
        settings = self.settings
        given_oracle(oracle)
        check_oracle(settings.world, oracle)
        if settings.retest and settings.model is not None:
            raise UsageError(
                "a retest of a model is judged while its runs are made",
                hint="test the old campaign again, with --oracle",
            )
        with self._writing() as content:
            how = (jobs, batch_size, limits, progress, oracle, self._trust)
            work(content, settings, self._policy, *how, cluster=cluster)
        return self

    def shrink(
        self,
        bug: Record | str | int,
        *,
        legal: str = "mutex",
        jobs: int = 1,
        candidates: int | None = None,
        time_limit: float | None = None,
        again: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
        cluster: str | OnCluster | None = None,
    ) -> Shrunk:
        """Find a small task that still shows the fault of a bug; it is stored as a campaign in `DIR/shrunk/`.

        `legal` says which initial states the small task may have: reachable, mutex or any (docs/shrinking.md).
        `candidates` and `time_limit` end the search early; a second call continues it, and `again` starts anew.
        `cluster` is the address of a cluster whose workers examine smaller tasks.
        """
        from misstep.comparison.shrink import DEFAULT_CANDIDATES, shrink_bug

        most = DEFAULT_CANDIDATES if candidates is None else candidates
        with noticing_damage(self._store):
            return shrink_bug(
                self,
                bug,
                legal=legal,
                jobs=jobs,
                candidates=most,
                time_limit=time_limit,
                again=again,
                progress=progress,
                cluster=cluster,
            )

    def retest(
        self,
        policy: Any,
        *,
        out: StrPath | None = None,
        resume: bool = False,
        oracle: str | None = None,
        judge_fixed: bool = False,
        jobs: int = 1,
        batch_size: int | None = None,
        limits: Limits | Mapping[str, float] | None = None,
        cluster: str | None = None,
        progress: Progress | None = None,
    ) -> Retest:
        """Run another policy from every recorded state and find out which bugs are fixed, still there, or new.

        The witnesses of this campaign judge first. The oracle (default: the oracle of the campaign) judges the states
        that they do not decide; with `judge_fixed`, also those where the new policy is as good as an old witness.
        """
        from misstep.comparison.retest import retest

        return retest(
            self,
            policy,
            out=out,
            resume=resume,
            oracle=oracle,
            judge_fixed=judge_fixed,
            jobs=jobs,
            batch_size=batch_size,
            limits=limits,
            cluster=cluster,
            progress=progress,
            trust_policy=self._trust,
        )

    @contextmanager
    def _writing(self) -> Iterator[Content]:
        folder = self.folder
        for name in ("records", "families"):
            self.__dict__.pop(name, None)
        if folder is None:
            yield self._content
            return
        self._store.close()
        try:
            with open_store(folder) as store, noticing_damage(store):
                yield Content(store)
        finally:
            self._store = open_store(folder, readonly=True)
            self._content = Content(self._store)

    def close(self) -> None:
        """Close the files. Records that were read stay valid; a campaign in memory is lost."""
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


def open_campaign(folder: StrPath, policy: Any = None, *, trust_policy: Trust = False) -> Campaign:
    """Open the campaign in a folder for reading.

    Reading runs no stored code. Methods that ask the policy again (`resume`, `judge`, `explain(deeper=True)`,
    `replay(rerun=True)`) need your permission if the stored policy would run code or open a connection: pass the policy
    itself as `policy` (always needed if it existed only in memory), or `trust_policy=True`. `trust_policy` may also be
    a function, which gets the stored spec and returns whether to trust it.
    """
    place = as_path("the folder", folder, "the path of a campaign")
    if not isinstance(trust_policy, bool) and not callable(trust_policy):
        raise UsageError(f"trust_policy is {trust_policy!r:.60}", expected="True or False")
    return Campaign(open_store(place, readonly=True), policy, trust_policy)


__all__ = ["Campaign", "open_campaign"]
