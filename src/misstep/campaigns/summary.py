"""The summary of a campaign, computed from the stored data; the same for planning tasks and models."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from misstep.campaigns import left_open
from misstep.campaigns.batches import distribution, text_of
from misstep.campaigns.confirmed import reported_faults, reported_verdicts
from misstep.campaigns.metrics.blame import Blame, blame, together
from misstep.campaigns.metrics.blame import text_of as blame_text
from misstep.campaigns.records import KINDS, contradiction_text, interval_text
from misstep.campaigns.risks import read_risks
from misstep.campaigns.rows import RunRow, VerdictRow
from misstep.campaigns.settings import PLANNING, Settings
from misstep.campaigns.tables import LIMIT, REMARK, Content, Findings
from misstep.campaigns.view import make_view, radius_of, rank
from misstep.campaigns.worst import counted, sentence, severity

COUNTS = (
    *("states", "tested", "solved", "bugs", "optimal", "unsolvable", "unknown", "flaky"),
    *("crashes", "timeouts", "faults", "asked_again", "contradictions"),
)
JUDGED = ("tested", "bugs", "optimal", "unsolvable", "unknown", "flaky")
OF_VERDICT = {
    "BUG": "bugs",
    "OPTIMAL": "optimal",
    "NOT A BUG": "optimal",
    "UNKNOWN": "unknown",
    "FLAKY": "flaky",
}


@dataclass(frozen=True)
class Summary:
    """Counts over all tasks, and for each task."""

    campaign: str | None  # the folder
    world: str
    policy: str
    oracles: list[str]
    finished: bool  # nothing is left to do
    limit: str | None = None  # time, memory or crash, where that ended the last session
    tasks: int = 0
    states: int = 0  # in the pool; of a model: on unsafe runs
    tested: int = 0
    solved: int = 0  # states from which the policy reaches the goal
    runs: int = 0  # of the policy
    outcomes: dict[str, int] = field(default_factory=dict)  # how they ended
    bugs: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("total", *KINDS), 0))
    optimal: int = 0  # proven to be no bug
    unsolvable: int = 0  # states proven to have no plan
    unknown: int = 0
    left_open: dict[str, int] = field(default_factory=dict)  # why they are unknown; planning
    flaky: int = 0  # states without a verdict, because the policy contradicts itself
    crashes: int = 0  # runs in which the policy crashed or answered nonsense
    timeouts: int = 0  # runs in which it did not answer in time
    asked_again: int = 0  # decisions, each counted once
    contradictions: int = 0  # those of them where it answered differently
    flaky_example: str | None = None  # both answers, and the record
    faults: int = 0  # distinct decisions
    blame: dict[str, Any] = field(default_factory=dict)  # of models: where the faults lie
    radii: dict[str, int] = field(default_factory=dict)  # bugs by their radius
    policy_calls: int = 0
    batches: dict[str, Any] = field(default_factory=dict)  # how many states a call; {} if native
    seconds: dict[str, float] = field(default_factory=dict)  # of work, by stage
    remarks: list[str] = field(default_factory=list)
    by_task: dict[str, dict[str, int]] = field(default_factory=dict)
    # What each oracle has proven by itself; a state counts for all that have judged it.
    by_oracle: dict[str, dict[str, int]] = field(default_factory=dict)
    worst: dict[str, str] | None = None  # the worst bug: its id, and a sentence about it
    # Of models with --risk: states with avoidable risk, and the record with the most of it.
    risk: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def all_safe(self) -> bool:
        """Whether the fuzzer ran on models and no run was unsafe: then there is no state to judge."""
        answered = self.runs > self.crashes + self.timeouts
        unsafe = self.outcomes.get("unsafe", 0)
        return self.world == "model" and answered and not self.tested and not unsafe

    @property
    def decided(self) -> int:
        """The number of states with a verdict that says something."""
        return self.bugs["total"] + self.optimal + self.unsolvable

    def lines(self) -> list[tuple[str, str]]:
        """Names and texts for people."""
        bugs = ", ".join(f"{self.bugs[kind]} {kind}" for kind in KINDS if self.bugs[kind])
        shown = [
            ("tested", f"{self.tested} of {self.states} states on {counted(self.tasks, 'task')}")
        ]
        if self.world == PLANNING:
            shown.append(("solved", str(self.solved)))
        else:
            unsafe = self.outcomes.get("unsafe", 0)
            shown.append(("unsafe", f"{unsafe} of {self.runs} runs"))
        shown.append(("bugs", str(self.bugs["total"]) + (f" ({bugs})" if bugs else "")))
        if self.radii:
            radii = ", ".join(
                f"{radius} of {counted(count, 'bug')}" for radius, count in self.radii.items()
            )
            others = self.bugs["total"] - sum(self.radii.values())
            rest = f"; not computed for {others}" if others else ""
            shown.append(("radius", f"{radii}{rest}"))
        shown.append(("optimal" if self.world == PLANNING else "not bugs", str(self.optimal)))
        if self.unsolvable:
            shown.append(("unsolvable", f"{self.unsolvable} (states without a plan)"))
        why = f" ({left_open.text_of(self.left_open, self.campaign)})" if self.left_open else ""
        shown.append(("unknown", f"{self.unknown}{why}"))
        if self.flaky:
            shown.append(("flaky", f"{self.flaky} ({self._why_flaky()})"))
        if self.risk is not None:
            shown.append(("risk", _risk_text(self.risk)))
        if self.faults:
            where = f"; {blame_text(Blame(**self.blame))}" if self.blame else ""
            shown.append(("faults", f"{counted(self.faults, 'distinct decision')}{where}"))
        if self.crashes:
            text = "runs in which the policy crashed, or answered nonsense"
            shown.append(("crashes", f"{self.crashes} ({text})"))
        if self.timeouts:
            text = "runs in which the policy did not answer in time"
            shown.append(("time-outs", f"{self.timeouts} ({text})"))
        if self.batches:
            shown.append(("batches", text_of(self.batches)))
        return shown

    def _why_flaky(self) -> str:
        if self.flaky_example is None:
            return "the policy declares that it is not deterministic"
        return f"the policy answers differently when asked again: {self.flaky_example}"

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.lines())
        return "\n".join(f"{name:<{width}}  {text}" for name, text in self.lines())

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>"
            for name, text in self.lines()
        )
        return f"<table>{cells}</table>"


def summarise(content: Content, settings: Settings) -> Summary:
    store = content.store
    counter = _Counter(settings.world)
    oracles: dict[str, None] = {settings.oracle: None}
    with store.snapshot():
        for name in content.task_names():
            findings = content.findings(name)
            oracles.update(dict.fromkeys(findings.oracles()))
            counter.add(findings)
            counter.keep_worst(content, findings)
            if counter.example is None and counter.by_task[name]["contradictions"]:
                counter.example = _example(content, findings)
        seconds = content.spent()
        sizes = content.batches()
        events = content.events()
        identity = content.policy
        ended = dict(store.rows("SELECT key, value FROM meta WHERE key = 'finished'"))
    stages: dict[str, float] = {}
    for stage, spent, _ in seconds:
        name = stage.split(" ")[0]
        stages[name] = stages.get(name, 0.0) + spent
    said = Counter(
        (f"{event.task}: " if event.task else "") + event.text
        for event in events
        if event.kind in (REMARK, LIMIT)
    )
    remarks = [text if times == 1 else f"{text} ({times} times)" for text, times in said.items()]
    if ended.get("finished") == "bug":
        remarks.append("the work stopped at the first bug, as requested; --resume continues")
    totals = counter.totals()
    if settings.world != PLANNING and _cannot_tell(totals):
        remarks.append(CANNOT_TELL)
    return Summary(
        campaign=None if store.folder is None else str(store.folder),
        world=settings.world,
        policy=settings.policy if identity is None else identity.spec,
        oracles=list(oracles),
        finished=ended.get("finished") == "1",
        limit=ended["finished"] if ended.get("finished") in LIMITS else None,
        policy_calls=sum(calls for _, _, calls in seconds),
        batches=distribution(sizes),
        seconds={stage: round(spent, 3) for stage, spent in stages.items() if spent},
        remarks=[*counter.remarks, *remarks],
        **totals,
    )


LIMITS = ("time", "memory", "crash")
CANNOT_TELL = (
    "every run was unsafe, and no decided state has a strategy that avoids this for certain: the worst case does "
    "not distinguish policies here; `misstep risk MODEL --policy SPEC` compares probabilities"
)


def _cannot_tell(totals: dict[str, Any]) -> bool:
    """Whether the worst case is the same for every policy, as far as it was tested."""
    unsafe = totals["outcomes"].get("unsafe", 0)
    return (
        bool(unsafe)
        and totals["tested"] > 0  # a limit may have come before anything was decided
        and unsafe == totals["runs"]
        and not totals["bugs"]["total"]
        and not totals["unknown"]
        and not totals["flaky"]
    )


def _risk_text(risk: dict[str, Any]) -> str:
    if not risk["avoidable"]:
        return f"avoidable in none of {counted(risk['states'], 'state')} for certain"
    states = counted(risk["states"], "state")
    return (
        f"avoidable in {risk['avoidable']} of {states}, at least {risk['most']:.4g} in {risk['id']} "
        f"(policy {risk['policy'][0]:.4g}, least possible {risk['least'][1]:.4g})"
    )


def _example(content: Content, findings: Findings) -> str | None:
    """Two different answers to one state, and a record that is FLAKY because of them."""
    for record in make_view(content.task(findings.name), findings).records():
        for own in record.contradictions:
            return f"{contradiction_text(own)}, in record {record.id}"
    return None


def _described(content: Content, findings: Findings, number: int) -> dict[str, str]:
    record = make_view(content.task(findings.name), findings).alone(number)
    return {"id": record.id, "sentence": sentence(record)}


class _Counter:
    """Adds up the rows in the tables of each task."""

    def __init__(self, world: str) -> None:
        self.world = world
        self.by_task: dict[str, dict[str, int]] = {}
        self.by_oracle: dict[str, dict[str, int]] = {}
        self.kinds = dict.fromkeys(("total", *KINDS), 0)
        self.outcomes: Counter[str] = Counter()
        self.radii: Counter[str] = Counter()
        self.left_open: Counter[str] = Counter()
        self.blames: list[Blame] = []
        self.runs = 0
        self.example: str | None = None
        self.worst: tuple[tuple[float, ...], dict[str, str]] | None = None
        self.candidate: tuple[tuple[float, ...], int] | None = None  # of the last task
        self.remarks: list[str] = []
        self.risk: dict[str, Any] | None = None

    def add(self, findings: Findings) -> None:
        self.candidate = None
        best: dict[int, VerdictRow] = {}
        for verdict in reported_verdicts(findings, findings.states()):
            own_counts = self.by_oracle.setdefault(verdict.oracle, dict.fromkeys(JUDGED, 0))
            own_counts["tested"] += 1
            own_counts[_counted_as(verdict)] += 1
            known = best.get(verdict.number)
            if known is None or rank(verdict) > rank(known):
                best[verdict.number] = verdict
        runs = findings.runs()
        own = dict.fromkeys(COUNTS, 0)
        own["states"] = findings.state_count()
        own["tested"] = len(best)
        own["faults"] = len({(f.state, f.decision) for f in reported_faults(findings)})
        own["asked_again"] = findings.asked_again()
        own["contradictions"] = len(findings.contradictions())
        for verdict in best.values():
            own[_counted_as(verdict)] += 1
            if verdict.is_bug:
                self._consider(verdict)
                self.kinds["total"] += 1
                self.kinds[verdict.kind or "unclassified"] += 1
                if verdict.kind == "unsafe" and (radius := radius_of(verdict)) is not None:
                    self.radii[interval_text(radius)] += 1
        if self.world == PLANNING:
            self._count_runs(findings.name, runs, own)
            self.left_open += left_open.reasons(best.values(), {run.number: run for run in runs})
        else:
            self._count_fuzzed(findings, own)
            self.left_open += left_open.not_confirmed(best.values())
            self.blames.append(_blame(findings, runs, best))
            self._count_risks(findings)
        self.by_task[findings.name] = own

    def keep_worst(self, content: Content, findings: Findings) -> None:
        """Read the worst bug of the last task, unless an earlier task has a worse one."""
        if self.candidate is None or (
            self.worst is not None and self.worst[0] <= self.candidate[0]
        ):
            return
        how_bad, number = self.candidate
        self.worst = how_bad, _described(content, findings, number)

    def _consider(self, verdict: VerdictRow) -> None:
        low, high = verdict.low, verdict.high
        if self.world != PLANNING:  # as `severity_of` a record
            low, high = radius_of(verdict) or (None, None)
        how_bad = severity(verdict.kind, low, high, verdict.upper)
        if self.candidate is None or (how_bad, verdict.number) < self.candidate:
            self.candidate = how_bad, verdict.number

    def _count_runs(self, name: str, runs: list[RunRow], own: dict[str, int]) -> None:
        self.runs += len(runs)
        self.outcomes.update(run.outcome for run in runs)
        own["solved"] = sum(run.outcome == "goal" for run in runs)
        failed = [run for run in runs if run.outcome == "error"]
        own["crashes"] = len(failed)
        own["timeouts"] = sum(run.outcome == "timeout" for run in runs)
        if failed:
            text = failed[0].message or "no message"
            self.remarks.append(
                f"{name}: the policy failed in {counted(len(failed), 'run')}: {text}"
            )

    def _count_fuzzed(self, findings: Findings, own: dict[str, int]) -> None:
        starts = cut = 0
        for _, runs, ends in findings.fuzzed():
            starts += ends.pop("unsafe starts", 0)
            cut += ends.pop("cut lookaheads", 0)
            self.runs += runs
            own["crashes"] += ends.get("error", 0)
            own["timeouts"] += ends.get("timeout", 0)
            self.outcomes.update(ends)
        if starts:
            self.remarks.append(f"{findings.name}: {starts} runs were unsafe before the first step")
        if cut:
            self.remarks.append(
                f"{findings.name}: {cut} lookaheads reached their limit of states without a unique closest one and "
                "continued from one of the closest; --lookahead-cap N lets them look further"
            )

    def _count_risks(self, findings: Findings) -> None:
        """Find the record with the most avoidable risk, the first if several are equal."""
        for row in read_risks(findings).values():
            if self.risk is None:
                self.risk = {"states": 0, "avoidable": 0, "most": 0.0, "id": None}
                self.risk |= {"policy": None, "least": None}
            self.risk["states"] += 1
            self.risk["avoidable"] += row.avoidable > 0
            if row.avoidable > self.risk["most"]:
                self.risk |= {
                    "most": row.avoidable,
                    "id": f"{findings.name}:{row.number}",
                    "policy": list(row.policy),
                    "least": list(row.least),
                }

    def totals(self) -> dict[str, Any]:
        blamed = together(self.blames)
        summed = {name: sum(own[name] for own in self.by_task.values()) for name in COUNTS}
        return {
            **{name: summed[name] for name in COUNTS if name != "bugs"},
            "tasks": len(self.by_task),
            "runs": self.runs,
            "outcomes": {name: number for name, number in self.outcomes.items() if number},
            "bugs": self.kinds,
            "flaky_example": self.example,
            "left_open": dict(self.left_open.most_common()),
            "blame": {} if blamed is None else asdict(blamed),
            "radii": dict(sorted(self.radii.items())),
            "by_task": self.by_task,
            "by_oracle": self.by_oracle,
            "worst": None if self.worst is None else self.worst[1],
            "risk": self.risk,
        }


def blame_of(findings: Findings) -> Blame:
    """Where the faults of a model's unsafe runs lie."""
    best: dict[int, VerdictRow] = {}
    for verdict in reported_verdicts(findings, findings.states()):
        known = best.get(verdict.number)
        if known is None or rank(verdict) > rank(known):
            best[verdict.number] = verdict
    return _blame(findings, findings.runs(), best)


def _blame(findings: Findings, runs: list[RunRow], best: Mapping[int, VerdictRow]) -> Blame:
    verdicts = {
        row.state: best[row.number].verdict for row in findings.states() if row.number in best
    }
    return blame(runs, reported_faults(findings), verdicts)


def _counted_as(verdict: VerdictRow) -> str:
    """The name under which a verdict is counted; unsolvable states do not count as optimal."""
    return "unsolvable" if verdict.is_unsolvable else OF_VERDICT[verdict.verdict]


__all__ = ["Summary", "blame_of", "summarise"]
