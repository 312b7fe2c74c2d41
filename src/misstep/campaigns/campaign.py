"""Testing a policy, in five lines of Python: the campaign as an object.

    found = misstep.test(task, policy, pool=100)        # in memory; with out=DIR in a folder
    for bug in found.bugs: print(found.explain(bug))
    found.save("found"); misstep.open_campaign("found")

The commands are thin callers of what stands here.
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
from misstep.campaigns.handles import find_record
from misstep.campaigns.records import Record
from misstep.campaigns.settings import MODEL, Settings, check_oracle
from misstep.campaigns.store import Store, open_store
from misstep.campaigns.summary import Summary, blame_of, summarise
from misstep.campaigns.tables import Content, PolicyIdentity
from misstep.campaigns.view import read_records
from misstep.errors import InputFormatError, UsageError
from misstep.tasks.load import AnyTask

# What only some methods need is loaded there: whoever reads records does not wait for oracles and policies.
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
    """What was found about a policy on some tasks or models. Made by `test` and `open_campaign`."""

    def __init__(self, store: Store, policy: Any = None, trust: Trust = False) -> None:
        """`policy` is what the user has given, so that it can be asked again; else the stored one has to be trusted."""
        self._store = store
        self._policy = policy
        self._trust = trust
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
        """Within, the database is read once: for whoever wants the summary and all records, and has the memory."""
        with self._store.keeping_rows():
            yield

    def iter_records(self, task: str | None = None) -> Iterator[Record]:
        """The records one by one, for campaigns that are too large for a list; those of one task if it is named."""
        with noticing_damage(self._store):
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

    @cached_property
    def families(self) -> list[Family]:
        """The bugs by what goes wrong and under which conditions, most bugs first. Asks nobody.

        What `measure_families` has found out about their descriptions is in `Family.measured`.
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
        """Ask the policy in fresh states that fit the descriptions of the families; the shares are kept.

        `states` is how many a family gets at most (100), `time_limit` is in seconds, for all of them (60).
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
        """The record of that id (`TASK:NUMBER`); its number alone will do where there is one task."""
        return find_record(self.records, self._content.task_names(), handle, self._store.where)

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
        """Check every run and witness again with the independent checker, from what is stored alone.

        In full, what has no witness is computed again: lower bounds, dominance functions, risks, losses.

        With a policy, or with `rerun`, which means that of the campaign, it is also run again and compared.
        `progress` is told what is done, how much of it, and of how much.
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
        """Ask for the user's word before any work is done that would be in vain without it."""
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
                    "the database is damaged: it does not say which policy made its runs",
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
        """How likely the policy gets unsafe from the starts of a model, and how likely that is at least."""
        from misstep.campaigns.risks import risk_from_starts

        return risk_from_starts(self._content, task, self._ask_again, settings)

    def to_rows(self) -> list[dict[str, Any]]:
        """One flat dictionary a record: `pandas.DataFrame(campaign.to_rows())` is a data frame."""
        return [record.as_row() for record in self.records]

    def metrics(self, *, regions: bool = False) -> dict[str, Any]:
        """The numbers of the papers, over all tasks and task by task, as plain data.

        `sets` are the sizes of pool, solved and tested states and of each kind of bug; `recall` and `severity` are
        those of P22, `oracles` the recall of each oracle that judged (P23), `coverage` bugs among all states (P24),
        `unique_pairs` how varied the bugs are, `blame` where the faults of unsafe runs lie. `regions` also groups bugs
        that are neighbours, which takes longer.
        """
        from misstep.campaigns.metrics import all_metrics

        pools = {
            name: self._content.findings(name).state_count() for name in self._content.task_names()
        }
        blames = {
            name: blame_of(self._content.findings(name))
            for name in self._content.task_names()
            if self.settings.world == MODEL
        }
        return all_metrics(self.tasks, self.records, pools, regions, blames)

    def export(self, what: str, path: StrPath, **options: Any) -> list[Path]:
        """Write files for other tools, as `misstep export` does; returns those that were written.

        `what` is tests, problem, plan, model (these three of one record, `bug=ID`), csv, json, latex, figure or
        baseline; `misstep.reports.exports.api` has an example and the options of each.
        """
        from misstep.reports.exports.api import export

        return export(
            self, what, as_path("the target", path, "the path of a file or folder"), options
        )

    def report(self, path: StrPath, *, force: bool = False) -> Path:
        """Write what was found as one HTML file that works offline; it may replace an older report only, or all."""
        from misstep.reports.html.write import write_report

        check_truth("force", force)
        return write_report([self], as_path("the report", path, "the path of a file"), force=force)

    def shield(self, path: StrPath, **options: Any) -> DeciderShield:
        """Write an oracle shield for the policy on the one model (`misstep shield`): the policy `shield:FILE`."""
        from misstep.safety.jani_shield import shield_for

        made = shield_for(self.tasks, self.settings.policy, self._store.where, **options)
        made.write(as_path("the shield", path, "the path of a file"))
        return made

    # -- going on ---------------------------------------------------------------------------------

    def save(self, folder: StrPath) -> Campaign:
        """Copy it into a new folder; returns the campaign there."""
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
        """Do what is left to do. A larger `pool`, or more `runs` of models, let a finished campaign grow.

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
        """The smallest task that still shows the fault of a bug, as a campaign of its own in `DIR/shrunk/`.

        `legal` is what its start may be: reachable, mutex or any (docs/shrinking.md). `candidates` and `time_limit`
        end the search early; called again, it goes on. `again` begins anew. `cluster` is the address of one whose
        workers examine smaller tasks.
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
        """Run another policy from every recorded state and say what is fixed, still there, and new.

        The witnesses of this campaign judge first; the oracle, by default that of the campaign, is asked where they do
        not decide, and with `judge_fixed` also where the new policy does as well as the witness of an old bug.
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


def open_campaign(folder: StrPath, policy: Any = None, *, trust_policy: Trust = False) -> Campaign:
    """The campaign in a folder, to be read.

    Reading runs nothing that is stored. Whatever asks the policy again (`resume`, `judge`, `explain(deeper=True)`,
    `replay(rerun=True)`) needs your word where the stored policy would run code or open a connection: give the policy
    itself as `policy`, which a policy that had existed only in memory needs anyway, or `trust_policy=True`. A function
    is asked with the stored spec and answers whether it is to be trusted.
    """
    place = as_path("the folder", folder, "the path of a campaign")
    if not isinstance(trust_policy, bool) and not callable(trust_policy):
        raise UsageError(f"trust_policy is {trust_policy!r:.60}", expected="True or False")
    return Campaign(open_store(place, readonly=True), policy, trust_policy)


__all__ = ["Campaign", "open_campaign"]
