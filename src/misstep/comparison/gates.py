"""Gates decide whether the results of a campaign let a build pass.

A gate is a condition that continuous integration checks: no bug at all, no new bug, no bug that got worse, at most a
number of bugs, no errors. A bug is new compared with a baseline, or with the campaign that was tested again.

    in a state of the baseline            fixed, still there, worse or new (misstep.comparison.changes)
    in any other state                    new, unless the baseline has its family: then it is an old fault elsewhere

The exit code is 1 if the gate fails. If it passes, the exit code is 0 although there are bugs, unless the policy
crashed, was too slow or contradicted itself, or a limit ended the work. These cases keep the exit code that they have
without gates, because 0 would look like a success. Bugs of the kind `crash` count as errors, as without gates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.records import Record, interval_text, radius_text
from misstep.campaigns.settings import PLANNING
from misstep.campaigns.summary import Summary
from misstep.campaigns.worst import counted, severity_of
from misstep.comparison.baseline import Baseline, Known, state_digest
from misstep.comparison.changes import BUGS, Change, change_of, spent
from misstep.errors import (
    FlakyPolicyError,
    MemoryLimitError,
    PolicyCrashError,
    PolicyTimeoutError,
    TimeLimitError,
    ToolError,
    UndecidedError,
    UsageError,
)

FAIL_ON = ("new", "any", "worse", "errors")
COMPARING = ("new", "worse")  # these need something to compare with
ELSEWHERE = (
    "elsewhere"  # of a bug in a state that the baseline does not know, with a family that it knows
)
CRASH = "crash"
NO_FUNCTION = "the policy contradicts itself, or declares that it is not deterministic"
_SHOWN = 5  # ids in a reason


class Retested(Protocol):
    """States of a campaign that were tested again."""

    @property
    def campaign(self) -> Campaign: ...

    @property
    def changes(self) -> Sequence[Change]: ...


@dataclass(frozen=True)
class GateResult:
    """The result of a gate."""

    passed: bool
    reasons: tuple[str, ...]  # why it did not pass
    exit_code: int
    compared: bool  # whether there was something to compare with
    bugs: tuple[Record, ...]  # all of them, without crashes
    failing: frozenset[str]  # ids of the records that make it fail
    words: Mapping[str, str]  # of each compared record, by its id: what became of it
    new: tuple[Record, ...]
    fixed: tuple[Record, ...]
    still: tuple[Record, ...]  # bugs in states where one was known, also those that are worse
    worse: tuple[Record, ...]
    uncovered: tuple[Record, ...]  # bugs that were there before, but were not proven
    elsewhere: tuple[Record, ...]  # bugs of known families in states that were not tested before
    undecided: int  # known bugs that are not decided now
    untested: int  # known bugs whose states were not tested
    errors: int  # runs in which the policy crashed or did not answer in time
    flaky: int
    remarks: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        lists = ("new", "fixed", "still", "worse", "uncovered", ELSEWHERE)
        return {
            "passed": self.passed,
            "reasons": list(self.reasons),
            "exit_code": self.exit_code,
            "compared": self.compared,
            "bugs": len(self.bugs),
            **{name: [record.id for record in getattr(self, name)] for name in lists},
            "undecided": self.undecided,
            "untested": self.untested,
            "errors": self.errors,
            "flaky": self.flaky,
            "remarks": list(self.remarks),
        }

    def __str__(self) -> str:
        lines = [f"gate     {'passed' if self.passed else 'FAILED'}"]
        if self.compared:
            counts = f"{len(self.new)} new, {len(self.fixed)} fixed, {len(self.still)} still there"
            for text, number in (
                ("worse", len(self.worse)),
                ("not proven before", len(self.uncovered)),
                ("of known families in other states", len(self.elsewhere)),
                ("undecided now", self.undecided),
                ("not tested now", self.untested),
            ):
                counts += f", {number} {text}" if number else ""
            lines.append(f"against  {counts}")
        lines += [f"because  {reason}" for reason in self.reasons]
        if self.passed and self.exit_code:
            lines.append(f"but      {_trouble_text(self)}")
        lines += [f"note: {text}" for text in self.remarks]
        return "\n".join(lines)


@dataclass(frozen=True)
class Gate:
    """The conditions of a gate. Without conditions it only compares and always passes."""

    fail_on: tuple[str, ...] = ()
    max_bugs: int | None = None
    baseline: Baseline | None = None

    def __post_init__(self) -> None:
        for name in self.fail_on:
            if name not in FAIL_ON:
                raise UsageError(
                    f"no condition {name!r:.40}", expected="one of " + ", ".join(FAIL_ON)
                )
        own: object = self.max_bugs
        if own is not None and (type(own) is not int or own < 0):
            raise UsageError(f"max_bugs is {own!r:.40}", expected="0 or more")

    def check(self, found: Campaign | Retested) -> GateResult:
        """Check a campaign or a retest."""
        campaign = found if isinstance(found, Campaign) else found.campaign
        changes = None if isinstance(found, Campaign) else found.changes
        compared = self.baseline is not None or changes is not None
        if not compared:
            for name in COMPARING:
                if name in self.fail_on:
                    raise UsageError(
                        f"the gate fails on {name} bugs", expected="a baseline to compare with"
                    )
        if self.baseline is not None:
            seen = _against(self.baseline, campaign)
        elif changes is not None:
            seen = _Seen({change.after.id: change for change in changes}, (), 0)
        else:
            seen = _Seen({}, (), 0)
        return self._result(campaign, compared, seen)

    def forbids(self, tasks: Mapping[str, str]) -> Callable[[Record], bool]:
        """A function that says whether a record alone makes the gate fail; `tasks` maps names to digests."""

        def forbidden(record: Record) -> bool:
            if not record.is_bug:
                return False
            if record.kind == CRASH:
                return "errors" in self.fail_on
            if "any" in self.fail_on or self.max_bugs == 0:
                return True
            if self.baseline is None:
                return False
            word, before = _word(self.baseline, tasks[record.task], record, None)
            # If the state was undecided before, it may have been a bug; only the gate itself can decide that.
            undecided = before is not None and before.verdict == "UNKNOWN"
            return word in COMPARING and word in self.fail_on and not undecided

        return forbidden

    def _result(self, campaign: Campaign, compared: bool, seen: _Seen) -> GateResult:
        summary = campaign.summary
        words = {own: _gate_word(change) for own, change in seen.changes.items()}
        bugs, by_word = [], dict[str, list[Record]]()
        for record in campaign.records:
            word = words.get(record.id, "new" if record.is_bug and compared else "")
            crash = record.is_bug and record.kind == CRASH
            if not crash:
                by_word.setdefault(word, []).append(record)
                if record.is_bug or word in BUGS:
                    bugs.append(record)
        some = {word: tuple(records) for word, records in by_word.items()}
        still = [r for word in ("still", "better", "worse") for r in some.get(word, ())]
        was = [change for change in seen.changes.values() if change.was_bug]
        parts: dict[str, Any] = {
            "bugs": tuple(bugs),
            "words": words,
            **{name: some.get(name, ()) for name in ("new", "worse", "uncovered", ELSEWHERE)},
            "fixed": some.get("fixed", ()),
            "still": tuple(still),
            "undecided": sum(change.word in ("undecided", "flaky") for change in was),
            "untested": seen.untested,
            "errors": summary.crashes + summary.timeouts,
            "flaky": summary.flaky,
            "remarks": (*seen.remarks, *_nothing_decided(summary, words)),
            "compared": compared,
        }
        reasons = tuple(self._reasons(parts, summary))
        parts["failing"] = frozenset(record.id for record in self._failing(parts))
        code = 1 if reasons else trouble_of(summary)
        return GateResult(passed=not reasons, reasons=reasons, exit_code=code, **parts)

    def _failing(self, parts: Mapping[str, Any]) -> Iterable[Record]:
        too_many = self.max_bugs is not None and len(parts["bugs"]) > self.max_bugs
        if too_many or "any" in self.fail_on:
            return parts["bugs"]  # type: ignore[no-any-return]
        return [record for name in COMPARING if name in self.fail_on for record in parts[name]]

    def _reasons(self, parts: Mapping[str, Any], summary: Summary) -> Iterable[str]:
        bugs = parts["bugs"]
        if "new" in self.fail_on and parts["new"]:
            yield _told(parts["new"], "new bug")
        if "worse" in self.fail_on and parts["worse"]:
            yield _told(
                parts["worse"],
                "bug with a larger loss than before",
                "bugs with a larger loss than before",
            )
        if "any" in self.fail_on and bugs:
            yield _told(bugs, "bug")
        if self.max_bugs is not None and len(bugs) > self.max_bugs:
            are = "is" if self.max_bugs == 1 else "are"
            yield f"{counted(len(bugs), 'bug')}, but at most {self.max_bugs} {are} allowed"
        if "errors" in self.fail_on:
            if summary.crashes:
                yield f"the policy crashed, or answered nonsense, in {counted(summary.crashes, 'run')}"
            if summary.timeouts:
                yield f"the policy did not answer in time in {counted(summary.timeouts, 'run')}"
            if summary.flaky or summary.contradictions:
                yield NO_FUNCTION


@dataclass(frozen=True)
class _Seen:
    """What the baseline knows about records, by their ids."""

    changes: Mapping[str, Change]
    remarks: tuple[str, ...]
    untested: int


def _against(baseline: Baseline, campaign: Campaign) -> _Seen:
    tasks = {task.name: task.digest for task in campaign.tasks}
    remarks = baseline.check_tasks(campaign.settings.world, tasks)
    identity = campaign.policy
    digest = None if identity is None else identity.digest
    if identity is not None and identity.spec != baseline.policy:
        remarks.append(
            f"the baseline is of the policy {baseline.policy}, but {identity.spec} is tested"
        )
    elif digest != baseline.digest:
        remarks.append(f"the policy {baseline.policy} has changed since the baseline was written")
    changes: dict[str, Change] = {}
    seen: set[str] = set()
    for record in campaign.records:
        word, before = _word(baseline, tasks[record.task], record, digest)
        if before is not None:
            seen.add(state_digest(tasks[record.task], record.state))
        if word is not None:
            changes[record.id] = Change(before or _nothing(baseline.world), record, word)
    untested = sum(key not in seen for key in baseline.bugs)
    return _Seen(changes, tuple(remarks), untested)


def _word(
    baseline: Baseline, task: str, record: Record, policy: str | None
) -> tuple[str | None, Record | None]:
    """How a state has changed since the baseline, and its entry there; no word if it is unknown and not a bug."""
    known = baseline.states.get(state_digest(task, record.state))
    if known is None:
        if not record.is_bug:
            return None, None
        return (ELSEWHERE if record.family in baseline.families else "new"), None
    before = known.as_record(baseline.world)
    word = change_of(before, record).word
    # The same policy makes the same decisions, so the bug was there before. Except if its run was known to be fine:
    # then the policy has changed although its digest has not, for example by weights in a file that it does not name.
    untold = before.verdict == "UNKNOWN" and spent(before) is None
    if word == "new" and untold and policy is not None and policy == baseline.digest:
        word = "uncovered"
    return word, before


def _gate_word(change: Change) -> str:
    """The word for the gate: a run as good as the old witness is not fixed if a better witness proves a bug."""
    return "better" if change.word == "fixed" and change.after.is_bug else change.word


def _nothing(world: str) -> Record:
    return Known("UNKNOWN", outcome="cut").as_record(world)


def trouble_of(summary: Summary) -> int:
    """The exit code of a campaign without bugs, or with only allowed bugs."""
    if summary.crashes + summary.timeouts == summary.runs > 0 or _nothing_tested(summary):
        # Nothing was tested; "nothing found" would look like a success.
        return UndecidedError.exit_code
    if summary.crashes:
        return PolicyCrashError.exit_code
    if summary.timeouts:
        return PolicyTimeoutError.exit_code
    if summary.flaky or summary.contradictions:
        return FlakyPolicyError.exit_code
    if not summary.finished:
        codes = {"memory": MemoryLimitError.exit_code, "crash": ToolError.exit_code}
        return codes.get(summary.limit or "", TimeLimitError.exit_code)
    return 0


def _nothing_decided(summary: Summary, words: Mapping[str, str]) -> Iterable[str]:
    """A remark on a gate that passes only because nothing is known about any state."""
    if summary.tested and not summary.decided and {*words.values()} <= {"undecided", "flaky"}:
        yield undecided_text(summary.tested)


def undecided_text(tested: int) -> str:
    which = (
        "the one tested state was not" if tested == 1 else f"none of the {tested} tested states was"
    )
    return f"{which} decided, so nothing is known about bugs"


def _nothing_tested(summary: Summary) -> bool:
    """Whether `--require-solved` has left no task, or every run on models was unsafe before its first step."""
    if summary.tested or not summary.finished:
        return False
    return summary.world == PLANNING or summary.outcomes.get("unsafe", 0) == summary.runs > 0


def _trouble_text(result: GateResult) -> str:
    code = f"(exit code {result.exit_code})"
    if result.errors:
        return f"the policy gave no answer in {counted(result.errors, 'run')} {code}"
    if result.exit_code == UndecidedError.exit_code:
        return f"nothing was tested {code}"
    if result.exit_code == FlakyPolicyError.exit_code:
        return f"{NO_FUNCTION} {code}"
    return f"a limit ended the work before everything was tested {code}"


def _told(records: Sequence[Record], one: str, many: str | None = None) -> str:
    ids = ", ".join(record.id for record in records[:_SHOWN])
    more = f" and {len(records) - _SHOWN} more" if len(records) > _SHOWN else ""
    name = one if len(records) == 1 else many or f"{one}s"
    return f"{len(records)} {name}, worst: {worst_text(records)} ({ids}{more})"


def worst_text(records: Sequence[Record]) -> str:
    worst = min(records, key=severity_of)
    if worst.gap is not None and worst.gap[0] is None:
        return "the goal is missed"
    if worst.gap is not None:
        return f"gap {interval_text(worst.gap)}"
    if worst.radius is not None:
        return radius_text(worst.radius)
    return worst.kind or "unknown"


def parse_fail_on(given: Iterable[str]) -> tuple[str, ...]:
    """Conditions, given one by one or separated by commas."""
    names = [name.strip() for text in given for name in text.split(",")]
    for name in names:
        if name not in FAIL_ON:
            raise UsageError(f"--fail-on {name!r:.40}", expected="one of " + ", ".join(FAIL_ON))
    return tuple(dict.fromkeys(names))


__all__ = [
    "CRASH",
    "ELSEWHERE",
    "FAIL_ON",
    "NO_FUNCTION",
    "Baseline",
    "Gate",
    "GateResult",
    "parse_fail_on",
    "trouble_of",
    "undecided_text",
    "worst_text",
]
