"""Records of JANI models, checked from the files of the model and the stored tables.

An unsafe run shows a bug of the policy in those of its states from which unsafe states can be avoided. So a record
needs two things: the run, which is followed label by label, and a strategy, which many records share. Every state of a
strategy is checked once for all records (`closed`); if anything is wrong with it, all records that rest on it are
refused.

Deviations of a strategy from the policy can be counted only where the policy's decisions are known, that is, on the
stored runs. If the strategy is assumed to agree elsewhere, the count is a lower bound, which must not exceed the radius
of a campaign; if it is assumed to deviate, the count is an upper bound, to which the smallest radius is compared.

A bug whose strategy was too large to be stored has no witness in the files. It is refused, unless the states from which
unsafe ones can be avoided are few enough to be listed (`safe_states`).
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from misstep.checking.closed import closed_problem
from misstep.checking.counting import Counting
from misstep.checking.errors import CheckError
from misstep.checking.flaky import STOPS, Contradictions, Decisions
from misstep.checking.fuzzed import Batches
from misstep.checking.jani import SafetyTask, State
from misstep.checking.jani.documents import digest_of
from misstep.checking.model_risk_records import ModelRiskRecords
from misstep.checking.report import CampaignReport, Finding, unjudged
from misstep.checking.safe_states import FULL_LIMIT, LIMIT, SafeStates
from misstep.checking.safe_strategy import SafeStrategy
from misstep.checking.shared import LARGEST_STRATEGY, read_shared
from misstep.checking.stored import (
    Store,
    StoredFault,
    StoredRun,
    StoredState,
    StoredTask,
    StoredVerdict,
    cost,
    integer,
    integers,
    loaded,
    source_of,
)
from misstep.errors import MisstepError

VERDICTS = ("BUG", "NOT A BUG", "UNKNOWN")
OUTCOMES = ("unsafe", "safe", "cut", "error", "timeout")  # of runs from a state that was lent
NESTED = "an expression of the model is nested too deeply for the checker"


class Followed(NamedTuple):
    states: list[State]
    labels: list[int]
    outcome: str = "unsafe"


def _decisions(run: Followed) -> Decisions:
    answers = [*run.labels, STOPS[run.outcome]] if run.outcome in STOPS else run.labels
    return list(zip(run.states, answers, strict=False))


class ModelRecords:
    def __init__(self, store: Store, task: StoredTask, report: CampaignReport) -> None:
        self.name = task.name
        self.report = report
        source = source_of(task)
        self.task = SafetyTask.from_source(source)
        if task.digest != digest_of(source):
            raise CheckError("the digest of the task is not that of its files")
        if store.has_nature():  # on models there are only functions of the state
            raise CheckError("the policy is said to be of a kind that only planning tasks have")
        radius = store.setting("model", "radius")
        if radius is None or not re.fullmatch("inf|[0-9]{1,20}", radius):
            raise CheckError(
                f"the radius of the campaign is {radius!r:.60}", expected="a number or inf"
            )
        self.radius = math.inf if radius == "inf" else int(radius)
        # States that another campaign has found; a run of the policy begins in each of them.
        self.lent = store.setting("", "retest") is not None
        self.entries = store.states(task.id)
        self._first: dict[str, int] = {}  # record of each state, as text: 0.0 is not -0.0
        self._blamed = store.blamed(task.id)  # whose faults were looked for
        self.runs = {run.number: run for run in store.runs(task.id)}
        self.verdicts: dict[int, list[StoredVerdict]] = defaultdict(list)
        for verdict in store.verdicts(task.id):
            self.verdicts[verdict.number].append(verdict)
        self.faults: dict[int, list[StoredFault]] = defaultdict(list)
        for fault in store.faults(task.id):
            self.faults[fault.run].append(fault)
        self.contradictions = Contradictions(
            store.contradictions(task.id),
            lambda text: self.task.read_state(loaded(text, "the state")),
            len(self.task.labels),
            (None, None),
        )
        self.counting = Counting(store, task.id)
        self.decisions: dict[State, int] = {}  # of the policy, where its runs show them
        judged = (own.oracle for rows in self.verdicts.values() for own in rows)
        self.finished = store.finished()
        self.oracles = set(judged) if self.finished else set()
        self.left_open = store.left_open(task.id)
        self.safe = SafeStates(self.task, FULL_LIMIT if report.full else LIMIT)
        self.bugs: set[State] = set()  # with a witness
        self.better: dict[State, set[int]] = defaultdict(set)  # the labels of strategies there
        self.claimed: dict[State, set[str]] = defaultdict(set)  # verdicts
        self.kept_safe: set[State] = set()  # states of strategies that are said to be lost
        self._successors: dict[tuple[State, int], list[State]] = {}
        self._packed = {number: row for number, *row in store.strategies(task.id)}
        self._strategies: dict[int, SafeStrategy | str] = {}
        self.batches = Batches(store, task.id)
        if not self.lent:
            report.not_checked["fuzzed runs"] += max(0, self.batches.runs - len(self.runs))
        bad = self.contradictions.first
        self.risks = ModelRiskRecords(store, task, self.task, bad, report)

    def findings(self) -> Iterator[Finding]:
        """Errors in runs and faults are reported with the records that they belong to, if there are any."""
        runs = {number: self._followed(run) for number, run in self.runs.items()}
        for entry in self.entries:
            self._take_claims(entry)
        problems = [self._checked(entry, runs) for entry in self.entries]
        self.report.not_checked["decisions"] += self.risks.unseen(self.decisions)
        # From here on it is known what strategies have proven.
        self.kept_safe = self._kept_safe()
        wrong = {
            number: list(self._wrong_faults(number, runs.get(number)))
            for number in self.faults.keys() | runs.keys()
        }
        first: dict[int, int] = {}  # of a run: the smallest step that a record tests
        for entry, found in zip(self.entries, problems, strict=True):
            problem = found or self._contradicted(entry)
            if isinstance(entry.run, int) and isinstance(entry.step, int):
                first[entry.run] = min(entry.step, first.get(entry.run, entry.step))
                later = [text for step, text in wrong.get(entry.run, ()) if step >= entry.step]
                problem = problem or next(iter(later), None)
            # As on tasks: a state from which the policy has not run yet is no record.
            self.report.checked["records"] -= problem is None and entry.run not in self.runs
            yield Finding(f"{self.name}:{entry.number}", problem)
        decided = (list(_decisions(run)) for run in runs.values() if isinstance(run, Followed))
        for text in self.contradictions.left_over(decided):
            yield Finding(self.name, text)
        for number, run in runs.items():
            if isinstance(run, str) and number not in first:
                yield Finding(f"{self.name} run {number}", run)
        for number, faults in wrong.items():
            for step, text in faults:
                if step < first.get(number, math.inf):
                    yield Finding(f"{self.name} run {number}", text)
        ends = {number: run.outcome for number, run in self.runs.items()}
        for text in self.batches.problems(ends, is_retest=self.lent):
            yield Finding(self.name, text)
        for number in sorted(self.verdicts.keys() - {entry.number for entry in self.entries}):
            yield Finding(f"{self.name}:{number}", "a verdict without a state")

    def _kept_safe(self) -> set[State]:
        """States that verdicts or faults call lost, and that a strategy keeps safe all the same."""
        if not math.isinf(self.radius):
            return set()
        lost = {state for state, said in self.claimed.items() if "NOT A BUG" in said}
        for fault in (own for faults in self.faults.values() for own in faults):
            try:
                lost.add(self.task.read_state(loaded(fault.outcome, "the outcome")))
            except (MisstepError, RecursionError):
                continue  # reported with the fault
        checked = (own for own in self._strategies.values() if isinstance(own, SafeStrategy))
        return {state for own in checked for state in own.shared.states if state in lost}

    def _contradicted(self, entry: StoredState) -> str | None:
        """A verdict NOT A BUG where the strategy of another oracle or record avoids unsafe states."""
        if not self.kept_safe:
            return None
        state = self.task.read_state(loaded(entry.state, "the state"))
        if state in self.kept_safe and "NOT A BUG" in self.claimed[state]:
            return "a verdict is NOT A BUG, and a strategy avoids unsafe states"
        return None

    def _take_claims(self, entry: StoredState) -> None:
        """The claims about a state, true or not; faults must agree with them."""
        try:
            state = self.task.read_state(loaded(entry.state, "the state"))
        except (MisstepError, RecursionError):
            return  # reported with the record
        run = self.runs.get(entry.run) if isinstance(entry.run, int) else None
        if run is not None and run.outcome != "safe":  # which says nothing of what could be avoided
            self.claimed[state] |= {str(own.verdict) for own in self.verdicts[entry.number]}

    def _checked(self, entry: StoredState, runs: dict[int, Followed | str]) -> str | None:
        try:
            return self._problem(entry, runs)
        except MisstepError as error:
            return str(error)
        except RecursionError:
            return NESTED

    def _problem(self, entry: StoredState, runs: dict[int, Followed | str]) -> str | None:
        state = self.task.read_state(loaded(entry.state, "the state"))
        # Else one bug could be listed any number of times.
        if (first := self._first.setdefault(repr(state), entry.number)) != entry.number:
            return f"the same state as {self.name}:{first}"
        run = runs.get(integer(entry.run, "the number of the run"), "there is no such run")
        waits = self.lent and not self.finished and entry.number not in self.verdicts
        if waits and (entry.run, entry.step) == (entry.number, 0) and entry.run not in runs:
            return None
        if isinstance(run, str):
            return f"run {entry.run}: {run}"
        step = integer(entry.step, "the step of the run")
        last = len(run.labels) - (run.outcome == "unsafe")
        if not 0 <= step <= last or run.states[step] != state:
            return f"run {entry.run} is not in this state at step {step}"
        decisions = _decisions(run)[step:]
        verdicts = self.verdicts[entry.number]

        def counts(verdict: StoredVerdict) -> bool:
            return self.counting.counts(verdict, entry.run, verdicts)

        if problem := self.contradictions.mixed_problem(verdicts, counts):
            return problem
        for verdict in verdicts:
            problem = self.contradictions.problem(
                verdict, decisions, self.report, counts=counts(verdict)
            )
            if problem is None and verdict.verdict != "FLAKY":
                problem = self._verdict_problem(verdict, state, run)
            if problem:
                return f"oracle {verdict.oracle}: {problem}"
        # Where the policy contradicts itself it has more than one decision.
        compared = decisions if self.counting.compared(entry.run) else ()
        shown = [own for own in compared if own[0] not in self.contradictions.first]
        if problem := self.risks.problem(entry.number, state, shown):
            return f"the risk: {problem}"
        return unjudged(self.oracles, (own.oracle for own in verdicts))

    def _outcomes(self, state: State, label: int) -> list[State]:
        """Cached, because runs and strategies often pass the same states."""
        key = (state, label)
        if key not in self._successors:
            if len(self._successors) > 200_000:
                self._successors.clear()
            self._successors[key] = self.task.model.outcomes_of(state, label)
        return self._successors[key]

    def _is_label(self, label: int) -> bool:
        return 0 <= label < len(self.task.labels)

    def _label(self, label: int) -> str:
        return self.task.labels[label] if self._is_label(label) else f"label {label}"

    # Runs

    def _followed(self, run: StoredRun) -> Followed | str:
        """The run, or the reason why it does not lead into an unsafe state."""
        try:
            labels = integers(run.operators, "the run")
            found = loaded(run.states, "the states of the run")
            if not isinstance(found, list) or len(found) != len(labels) + 1:
                return "it has to have one state more than labels"
            states = [self.task.read_state(state) for state in found]
            outcome = str(run.outcome)
            problem = self._run_problem(run, Followed(states, labels, outcome))
        except MisstepError as error:
            return str(error)
        except RecursionError:
            return NESTED
        if problem is not None:
            return problem
        for step, (state, label) in enumerate(zip(states, labels, strict=False)):
            # Where there may be several answers, a run shows no decision of the policy.
            if state in self.contradictions.first or not self.counting.compared(run.number):
                continue
            if self.decisions.setdefault(state, label) != label:
                return f"at step {step} the policy answers otherwise than in another run"
        self.report.checked["runs"] += 1
        self.report.not_checked["runs of the policy"] += 1
        return Followed(states, labels, outcome)

    def _run_problem(self, stored: StoredRun, run: Followed) -> str | None:
        known = OUTCOMES if self.lent else ("unsafe",)
        if stored.outcome not in known or (stored.cost, stored.named) != (None, None):
            return f"the outcome is {stored.outcome!r}, or it has a cost"
        if self.lent:
            self.report.not_checked["walks"] += 1
        elif not self.task.is_start(run.states[0]):
            return "it does not begin in a start state"
        for step, (state, label) in enumerate(zip(run.states, run.labels, strict=False)):
            if self.task.is_unsafe(state) or self.task.is_goal(state):
                return f"step {step} leaves a state where runs end"
            if not self._is_label(label):
                return f"step {step} is label {label}, which does not exist"
            outcomes = self._outcomes(state, label)
            if not outcomes:
                return f"step {step} ({self._label(label)}) does not apply"
            if run.states[step + 1] not in outcomes:
                return f"step {step} ({self._label(label)}) does not lead to the next state"
        if self.task.is_unsafe(run.states[-1]) != (run.outcome == "unsafe"):
            if run.outcome == "unsafe":
                return "the last state is not unsafe"
            return f"the last state is unsafe, and the outcome {run.outcome}"
        return None

    # Verdicts

    def _verdict_problem(self, verdict: StoredVerdict, state: State, run: Followed) -> str | None:
        if verdict.verdict not in VERDICTS:
            return f"no such verdict: {verdict.verdict!r}"
        if any(
            x is not None for x in (verdict.plan, verdict.derivation, verdict.lower, verdict.upper)
        ):
            return "a plan, a derivation or bounds for a model"
        low, high = cost(verdict.low, "low"), cost(verdict.high, "high")
        if low > high:
            return f"the smallest radius is {low} to {high}, which is not an interval"
        is_bug = verdict.verdict == "BUG"
        if verdict.kind != ("unsafe" if is_bug else None):
            return f"the kind of {verdict.verdict} is {verdict.kind!r}"
        if verdict.verdict != "UNKNOWN" and run.outcome not in ("unsafe", "safe"):
            return f"the verdict is {verdict.verdict}, and the run ended otherwise: {run.outcome}"
        if run.outcome == "safe":
            return self._proof_problem(verdict, state)
        if not is_bug:
            if (verdict.strategy, verdict.size) != (None, None):
                return f"there is a strategy, and the verdict is {verdict.verdict}"
            if verdict.verdict == "NOT A BUG":
                if problem := self._lost_problem(state, low, high):
                    return problem
            elif (low, high) != (0, math.inf):
                self.report.unproven("radii")
            self.report.checked["verdicts"] += 1
            return None
        if high == 0:
            return "a radius of 0 would mean that the policy is safe here"
        if low > self.radius:
            return f"the smallest radius is at least {low}, and the campaign's radius {self.radius}"
        if problem := self._strategy_problem(verdict, state):
            return problem
        self.report.checked["verdicts"] += 1
        return None

    def _proof_problem(self, verdict: StoredVerdict, state: State) -> str | None:
        """Checks a state from which all runs of the policy are claimed to be safe: its decisions are the strategy."""
        if verdict.verdict != "NOT A BUG" or (verdict.low, verdict.high) != (0, 0):
            return (
                "the policy is said to be safe here, and the verdict or the radius says otherwise"
            )
        if verdict.strategy is None:
            self.report.unproven("verdicts NOT A BUG")
            return None
        # That these are the policy's decisions is counted with its run.
        strategy = self._strategy(verdict.strategy)
        if isinstance(strategy, str):
            return strategy
        if problem := strategy.problem(state, 0):
            return f"the decisions of the policy: {problem}"
        self.report.checked["proofs that decisions are safe"] += 1
        self.report.checked["verdicts"] += 1
        return None

    def _lost_problem(self, state: State, low: float, high: float) -> str | None:
        """Checks a state from which it is claimed that unsafe states cannot be avoided within the campaign's radius."""
        if high <= self.radius and not math.isinf(low):
            most = "finite" if math.isinf(high) else f"at most {high}"
            return f"the smallest radius is {most}, and the verdict is NOT A BUG"
        safe = self.safe.is_safe(state) if self.report.full else None
        if safe and math.isinf(self.radius):
            return "unsafe states can be avoided from here, and the verdict is NOT A BUG"
        if safe is False and not math.isinf(high):
            return f"the smallest radius is {low} to {high}, and unsafe states cannot be avoided"
        if safe is False:
            self.report.confirmed["verdicts NOT A BUG"] += 1
            return None
        self.report.unproven("verdicts NOT A BUG")
        if low > self.radius + 1 or not math.isinf(high):
            self.report.unproven("radii")
        return None

    def _count_radius(self, verdict: StoredVerdict, most: float) -> None:
        """Counts a radius that is not shown; `most` deviations are made by the strategy, if no run shows them.

        Within a finite radius the bug itself rests on decisions of the policy."""
        if cost(verdict.low, "low") > 1 or verdict.high is not None or most > self.radius:
            self.report.unproven("radii")

    def _without_strategy(
        self, verdict: StoredVerdict, state: State, size: int | None
    ) -> str | None:
        if size is None or size <= LARGEST_STRATEGY or not math.isinf(self.radius):
            return "a bug without a strategy"
        safe = self.safe.is_safe(state)
        if safe is None:
            more = "" if self.report.full else "; --full lists more states"
            return f"a bug without a strategy, and too many states to find one{more}"
        if not safe:
            return "a bug without a strategy, and there is none: unsafe states cannot be avoided"
        self.bugs.add(state)
        self._count_radius(verdict, 0)
        self.report.checked["strategies found again"] += 1
        return None

    def _strategy_problem(self, verdict: StoredVerdict, state: State) -> str | None:
        size = None if verdict.size is None else integer(verdict.size, "the size of the strategy")
        if verdict.strategy is None:
            return self._without_strategy(verdict, state, size)
        if size is not None:
            return "a strategy that is kept, and the size of one that is too large"
        strategy = self._strategy(verdict.strategy)
        if isinstance(strategy, str):
            return strategy
        if problem := strategy.problem(state, self.radius):
            return f"the strategy: {problem}"
        self.bugs.add(state)
        self.better[state].add(strategy.label(state))
        most = strategy.most(state)
        if most < cost(verdict.low, "low"):
            return f"the strategy has {int(most)} deviations at most, below the smallest radius"
        self._count_radius(verdict, most)
        return None

    def _strategy(self, number: object) -> SafeStrategy | str:
        """A strategy that was checked, or the error in it."""
        key = integer(number, "the number of the strategy")
        if key not in self._strategies:
            self._strategies[key] = self._read_strategy(key)
        return self._strategies[key]

    def _read_strategy(self, number: int) -> SafeStrategy | str:
        if number not in self._packed:
            return f"there is no strategy {number}"
        states, content = self._packed[number]
        try:
            strategy = read_shared(content, states)
            problem = closed_problem(self.task, strategy)
        except CheckError as error:
            problem = str(error)
        if problem is not None:
            return f"strategy {number}: {problem}"
        self.report.checked["strategies"] += 1
        return SafeStrategy(strategy, self.decisions)

    # Faults

    def _wrong_faults(self, number: int, run: Followed | str | None) -> Iterator[tuple[int, str]]:
        """The steps of a run with wrong faults, with the errors; faults of a wrong run are not checked."""
        if isinstance(run, Followed) and (missing := self._missing_fault(number, run)):
            yield missing
        for fault in self.faults[number]:
            try:
                problem = "there is no such run" if run is None else None
                if isinstance(run, Followed):
                    problem = self._fault_problem(fault, run)
            except MisstepError as error:
                problem = str(error)
            except RecursionError:
                problem = NESTED
            if problem is not None:
                yield fault.step, f"the fault at step {fault.step}: {problem}"

    def _fault_problem(self, fault: StoredFault, run: Followed) -> str | None:
        if not 0 <= fault.step < len(run.labels):
            return "the run has no such step"
        here, label = run.states[fault.step], run.labels[fault.step]
        if self.task.read_state(loaded(fault.state, "the state")) != here:
            return "the run is in another state there"
        if fault.decision != label:
            return f"the policy's decision is {self._label(label)}, not label {fault.decision}"
        if fault.better is not None:
            better = integer(fault.better, "the better label")
            if better == label:
                return "the better label is the policy's own"
            if not self._is_label(better) or not self.task.model.is_applicable(here, better):
                return f"the better label ({self._label(better)}) does not apply"
        if any(own is not None for own in (fault.low, fault.high, fault.share)) or fault.recurring:
            return "it says how much is lost, or that it comes again, as faults of models do not"
        outcome = self.task.read_state(loaded(fault.outcome, "the outcome"))
        if outcome not in self._outcomes(here, label):
            return f"the outcome is none of {self._label(label)}"
        if problem := self._outcome_problem(outcome):
            return problem
        if problem := self._safety_problem(here, fault.better):
            return problem
        self.report.checked["faults"] += 1
        return None

    def _missing_fault(self, number: int, run: Followed) -> tuple[int, str] | None:
        """A decision that leads from a bug to a state where unsafe states cannot be avoided must be listed as a fault.

        If the budget left something open, it may have left open whether a decision is a fault."""
        # Where the policy contradicts itself, faults are forgotten.
        if any(state in self.contradictions.first for state in run.states):
            return None
        if self.lent and run.states[0] not in self.bugs:
            return None  # there a run belongs to one record, and faults are searched only on runs of bugs
        known = {fault.step for fault in self.faults[number]}
        for step in reversed(range(len(run.labels))):
            after = run.states[step + 1]
            lost = self.task.is_unsafe(after) or self.claimed[after] - {"UNKNOWN"} == {"NOT A BUG"}
            if lost and step not in known and run.states[step] in self.bugs:
                if self.left_open or not self._is_judged(number):
                    self.report.not_checked["missing faults"] += 1
                    return None
                text = "leads from a bug to where nothing helps, and no fault says so"
                return step, f"the decision at step {step} {text}"
        # In a retest, the verdicts of the states on a run are not kept.
        if self.lent and number in self._blamed and not known:
            self.report.not_checked["missing faults"] += 1
        return None

    def _is_judged(self, number: int) -> bool:
        """Whether a run was judged for certain: it is stored before, and a record of its own comes with its faults.

        While a campaign is not finished, faults may also be forgotten because the policy contradicts itself."""
        if self.finished:
            return True
        own = any(entry.run == number for entry in self.entries)
        return own and not self.lent and not self.contradictions.first

    def _outcome_problem(self, outcome: State) -> str | None:
        """The outcome that makes a decision a fault is not safe within the radius."""
        if self.task.is_unsafe(outcome):
            self.report.checked["losses"] += 1
            return None
        if self.task.is_goal(outcome):
            return "the outcome is a goal, which is safe"
        if outcome in self.bugs or outcome in self.kept_safe:
            return "the outcome is safe, as a strategy shows"
        safe = self.safe.is_safe(outcome) if self.report.full else None
        if safe and math.isinf(self.radius):
            return "unsafe states can be avoided from the outcome"
        if safe is False:
            self.report.confirmed["losses"] += 1
        else:
            self.report.unproven("losses")
        return None

    def _safety_problem(self, here: State, better: object) -> str | None:
        """A fault is made where unsafe states can be avoided, and the better label avoids them."""
        claimed = self.claimed[here]
        # The budget may have left a state open that was decided later, in the search for another one's fault.
        if not claimed & {"BUG", "FLAKY"} and not (self.lent and claimed <= {"UNKNOWN"}):
            return "no bug is recorded of its state"
        if here in self.bugs and (better is None or better in self.better[here]):
            return None
        if not self.report.full or not math.isinf(self.radius):
            self.report.unproven("better decisions")
            return None
        if better is None:
            answers = [self.safe.is_safe(here)]
        else:
            label = integer(better, "better")
            answers = [self.safe.is_safe(own) for own in self._outcomes(here, label)]
        if False in answers and better is None:
            return "unsafe states cannot be avoided in its state"
        if False in answers:
            return f"the better label ({self._label(integer(better, 'better'))}) is not safe"
        if None in answers:
            self.report.unproven("better decisions")
        else:
            self.report.confirmed["better decisions"] += 1
        return None


__all__ = ["ModelRecords"]
