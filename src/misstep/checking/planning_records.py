"""Records of planning tasks, checked from the text of the SAS file and the stored tables.

For each record this checks the walk that found the state, the policy's run, and for each oracle the plan or derivation,
the computation of the verdict from run and bounds, and the faults along the run. These proofs do not depend on the code
that found them. Lower bounds have no proof; the verdict OPTIMAL and the upper bound of a gap rest on them. For a
set-valued policy, the claims about all its permitted runs are checked as well, from what it permits in each state
(`permitted`).
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

from misstep.checking.counting import Counting
from misstep.checking.distances import Distances
from misstep.checking.dominance import DominanceTables, validate_derivation
from misstep.checking.errors import CheckError
from misstep.checking.flaky import STOPS, Contradictions, Decisions
from misstep.checking.gaps import Claim, Cost, concluded
from misstep.checking.permitted import PermittedSets
from misstep.checking.plan import validate_plan
from misstep.checking.planning_faults import PlanningFaults
from misstep.checking.report import CampaignReport, Finding, OpenBound, unjudged
from misstep.checking.risk import risk_problem
from misstep.checking.run import OUTCOMES, validate_run
from misstep.checking.sas import State, parse_sas
from misstep.checking.semantics import apply, check_state, is_applicable, refuse_axioms
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
    numbers,
    source_of,
)
from misstep.errors import MisstepError

OBJECTIVES = ("cost", "goal")


class Followed:
    """A run that was followed: its states, operators and how it ended."""

    def __init__(
        self,
        states: list[State],
        operators: list[int],
        outcome: str,
        spent: int,
        claim: Claim | None = None,
    ) -> None:
        self.states = states
        self.operators = operators
        self.outcome = outcome
        self.spent = spent
        self.claim = claim  # for a set-valued policy: the claims about all permitted runs


class PlanningRecords:
    def __init__(self, store: Store, task: StoredTask, report: CampaignReport) -> None:
        self.name = task.name
        self.report = report
        source = source_of(task)
        try:
            sas = source["files"]["task.sas"].decode()
        except (KeyError, UnicodeDecodeError):
            raise CheckError("the task has no SAS file, or it is not text") from None
        self.sas = parse_sas(sas, "task.sas")
        refuse_axioms(self.sas)
        if task.digest != hashlib.sha256(source["files"]["task.sas"]).hexdigest():
            raise CheckError("the digest of the task is not that of its SAS file")
        report.not_checked["translations"] += len(source["files"]) > 1
        self.objective = store.setting("planning", "objective")
        self.costly_some = store.truth("planning", "costly_some")
        self.nature = store.nature()
        self.sets = PermittedSets(self.sas)
        self.probabilities: dict[State, list[float]] = {}
        for given, permitted, chances in store.permitted(task.id):
            values = check_state(self.sas, integers(given, "a state of the permitted sets"))
            self.sets.add(values, integers(permitted, "a permitted set"))
            if chances is not None:
                self.probabilities[values] = numbers(chances, "the probabilities")
        report.not_checked["permitted sets"] += len(self.sets)
        self.entries = store.states(task.id)
        self.states: dict[int, State] = {}
        self.references: dict[int, object] = {}
        self._blamed = store.blamed(task.id)  # whose faults were looked for
        self._roots: dict[int, int | None] = {}  # where the walks to a state start
        self._walked: set[int | None] = set()  # states with a walk from the initial state
        self.runs = {run.number: run for run in store.runs(task.id)}
        self.verdicts: dict[int, list[StoredVerdict]] = defaultdict(list)
        for verdict in store.verdicts(task.id):
            self.verdicts[verdict.number].append(verdict)
        self.faults: dict[int, list[StoredFault]] = defaultdict(list)
        for fault in store.faults(task.id):
            self.faults[fault.run].append(fault)
        self.contradictions = Contradictions(
            store.contradictions(task.id),
            lambda text: check_state(self.sas, integers(text, "the state")),
            len(self.sas.operators),
            (0, None),
        )
        self.counting = Counting(store, task.id)
        self.decisions: list[Decisions] = []  # of all runs
        # A policy gives the same answer in a state in every run, unless it has memory or is random.
        # In a finished campaign: the oracles that must have judged every state.
        judged = (own.oracle for rows in self.verdicts.values() for own in rows)
        self.finished = store.finished()
        self.oracles = set(judged) if self.finished else set()
        self.one_answer = self.nature == "function"
        self.answers: dict[Hashable, tuple[object, int]] = {}
        self.distances: Distances | None = None
        packed = store.dominance(task.id)
        try:
            self.tables = None if packed is None else DominanceTables(packed)
        except ValueError as error:
            raise CheckError(f"the dominance function is damaged: {error}") from None
        report.not_checked["dominance functions"] += self.tables is not None

    def findings(self) -> Iterator[Finding]:
        problems: dict[int, str] = {}
        first: dict[State, StoredState] = {}
        for entry in self.entries:  # all states first: walks start from other states
            try:
                values = check_state(self.sas, integers(entry.state, "the state"))
                self.states[entry.number] = values
                # The tables have no text twice. With blanks in it, one bug could be listed any number of times.
                other = first.setdefault(values, entry)
                if other.state != entry.state:
                    problems[entry.number] = f"the same state as {self.name}:{other.number}"
            except MisstepError as error:
                problems[entry.number] = str(error)
            self.references[entry.number] = entry.reference
            if entry.reference is None and entry.walk not in (None, "[]"):
                self._walked.add(entry.number)
        if self.report.full:
            self.distances = Distances(self.sas, self.states.values())
        for entry in self.entries:
            problem = problems.get(entry.number) or self._checked(entry)
            # A state from which the policy has not run yet is no record; those without a problem are counted.
            self.report.checked["records"] -= problem is None and entry.number not in self.runs
            yield Finding(f"{self.name}:{entry.number}", problem)
        for problem in self.contradictions.left_over(
            iter([*self.decisions, self.sets.decisions()])
        ):
            yield Finding(self.name, problem)
        known = self.references.keys()
        for what, owners in (
            ("run", self.runs),
            ("verdict", self.verdicts),
            ("fault", self.faults),
        ):
            for number in sorted(owners.keys() - known):
                yield Finding(f"{self.name}:{number}", f"a {what} without a state")

    def _checked(self, entry: StoredState) -> str | None:
        try:
            return self._problem(entry)
        except MisstepError as error:
            return str(error)

    def _problem(self, entry: StoredState) -> str | None:
        number, state = entry.number, self.states[entry.number]
        if problem := self._walk_problem(entry):
            return f"the walk: {problem}"
        run = self.runs.get(number)
        if run is None:
            if number in self.verdicts or number in self.faults:
                return "a verdict or a fault without a run"
            return "the campaign is finished, and there is no run" if self.finished else None
        if (entry.run, entry.step) != (number, 0):
            return f"the run is said to be run {entry.run} from step {entry.step} on, not its own"
        followed = self._run(run, state)
        if isinstance(followed, str):
            return f"the run: {followed}"
        self.report.checked["runs"] += 1
        self.report.not_checked["runs of the policy"] += 1
        decisions = _decisions(run, followed)
        self.decisions.append(decisions)
        if problem := self._answer_problem(number, decisions):
            return f"the run: {problem}"
        if problem := self.contradictions.mixed_problem(self.verdicts[number], self._counts):
            return problem
        for verdict in self.verdicts[number]:
            counts = self._counts(verdict)
            problem = self.contradictions.problem(verdict, decisions, self.report, counts=counts)
            if verdict.verdict == "FLAKY":
                self.report.not_checked["permitted graphs"] += followed.claim is not None
            elif problem is None:
                problem = self._verdict_problem(verdict, state, followed)
            if problem:
                return f"oracle {verdict.oracle}: {problem}"
        if problem := self._bounds_problem(self.verdicts[number]):
            return problem
        faults = PlanningFaults(self.sas, self.distances, self.report)
        for fault in self.faults[number]:
            if problem := faults.problem(fault, followed):
                return f"the fault at step {fault.step}: {problem}"
        if problem := faults.shares_problem(self.faults[number], followed):
            return f"the shares of the faults: {problem}"
        if self._may_lack_faults(number):
            self.report.not_checked["missing faults"] += 1
        return unjudged(self.oracles, (own.oracle for own in self.verdicts[number]))

    def _may_lack_faults(self, number: int) -> bool:
        """Whether faults of a bug were looked for, and not so many are known that they share its gap."""
        is_bug = any(own.verdict == "BUG" for own in self.verdicts[number])
        shares = [own.share for own in self.faults[number]]
        return is_bug and number in self._blamed and (not shares or None in shares)

    def _counts(self, verdict: StoredVerdict) -> bool:
        return self.counting.counts(verdict, verdict.number, self.verdicts[verdict.number])

    def _answer_problem(self, number: int, decisions: Decisions) -> str | None:
        """Finds an answer that differs from an earlier record's run; verdicts FLAKY are excepted, and so are runs
        that were not compared with others yet."""
        if not self.one_answer or any(own.verdict == "FLAKY" for own in self.verdicts[number]):
            return None
        if not self.counting.compared(number):
            return None
        for step, (state, answer) in enumerate(decisions):
            if answer is None or state in self.contradictions.first:
                continue
            known, other = self.answers.setdefault(state, (answer, number))
            if known != answer:
                return f"at step {step} the policy answers otherwise than in the run of {self.name}:{other}"
        return None

    # The walk

    def _walk_problem(self, entry: StoredState) -> str | None:
        walk = [] if entry.walk is None else integers(entry.walk, "the walk")
        here = self.sas.initial_state
        if entry.reference is not None and (entry.reference != entry.number or walk):
            reference = integer(entry.reference, "the reference")
            if reference not in self.states:
                return f"it starts from state {reference}, which does not exist or is damaged"
            if reference == entry.number:
                return "it starts where it ends"
            if self._root(reference) is None:
                return f"it starts from state {reference}, whose walks never start from the initial state"
            here = self.states[reference]
        elif not walk:
            if self.states[entry.number] != here:
                self.report.not_checked["walks"] += 1
            return None
        reached = self._follow(here, walk)
        if isinstance(reached, str):
            return reached
        if reached[-1] != self.states[entry.number]:
            return "it leads to another state"
        counts = self.report.checked if self._starts_well(entry) else self.report.not_checked
        counts["walks"] += 1
        return None

    def _starts_well(self, entry: StoredState) -> bool:
        """Whether the walks that lead to a state start from the initial state, one after the other."""
        root = self._root(entry.number)
        return root in self._walked or self.states.get(-1 if root is None else root) == (
            self.sas.initial_state
        )

    def _root(self, number: int) -> int | None:
        """The state where the walks to a state start; None: the references form a cycle."""
        passed: dict[int, None] = {}
        here = number
        root: int | None = None
        while here not in passed:
            if here in self._roots:
                root = self._roots[here]
                break
            passed[here] = None
            reference = self.references.get(here)
            # A state that refers to itself is where walks start.
            if not isinstance(reference, int) or reference == here:
                root = here
                break
            here = reference
        self._roots.update(dict.fromkeys(passed, root))
        return root

    def _follow(self, state: State, operators: Sequence[int]) -> list[State] | str:
        """The states that operators lead through, or the operator that does not apply."""
        states = [state]
        for step, number in enumerate(operators, 1):
            if not 0 <= number < len(self.sas.operators):
                return f"step {step} is operator {number}, which does not exist"
            operator = self.sas.operators[number]
            if not is_applicable(states[-1], operator):
                return f"step {step} ({operator.name}) does not apply"
            states.append(apply(states[-1], operator))
        return states

    # The run

    def _run(self, run: StoredRun, state: State) -> Followed | str:
        operators = integers(run.operators, "the run")
        spent = integer(run.cost, "the cost of the run")
        if run.outcome not in OUTCOMES:
            return f"no such outcome: {run.outcome!r}"
        outcome = str(run.outcome)
        states = self._follow(state, operators)
        if isinstance(states, str):
            return states
        named = None if run.named is None else integer(run.named, "the operator that was named")
        if named is not None and (
            outcome != "inapplicable" or not 0 <= named < len(self.sas.operators)
        ):
            return f"operator {named} is said to have been named, the outcome is {outcome}"
        revisits = self.nature == "plan"
        report = validate_run(self.sas, states, operators, outcome, named, spent, revisits=revisits)
        if not report.valid:
            return report.reason
        if (self.nature == "set") != (run.permitted is not None):
            return "it does not say what is known of all permitted runs, or the policy has but one"
        if run.permitted is None:
            return Followed(states, operators, outcome, spent)
        if problem := self.sets.run_problem(
            states, operators, outcome, named, self.contradictions.first
        ):
            return problem
        claim = claim_of(run.permitted, self.costly_some)
        if problem := claim.run_problem(outcome, spent):
            return problem
        if problem := self._risk_problem(run.permitted, state):
            return f"the risk: {problem}"
        return Followed(states, operators, outcome, spent, claim)

    def _risk_problem(self, text: object, state: State) -> str | None:
        claimed = loaded(text, "what is known of the permitted runs").get("risk")
        if claimed is None:
            return None
        low, high = claimed if isinstance(claimed, list) and len(claimed) == 2 else (1, 0)
        if (
            not all(isinstance(own, (int, float)) for own in (low, high))
            or not 0 <= low <= high <= 1
        ):
            return f"no interval of probabilities: {claimed}"
        if not self.report.full:
            self.report.not_checked["risks"] += 1
            return None
        try:
            problem = risk_problem(self.sets, self.probabilities, state, (low, high))
        except CheckError:
            self.report.unproven("risks")
            return None
        self.report.confirmed["risks"] += problem is None
        return problem

    # Verdicts

    def _verdict_problem(self, verdict: StoredVerdict, state: State, run: Followed) -> str | None:
        lower, upper = cost(verdict.lower, "lower"), cost(verdict.upper, "upper")
        if lower > upper:
            return f"the lower bound {lower} is above the upper bound {upper}"
        if run.outcome == "goal" and lower > run.spent:
            return f"the lower bound {lower} is above what the policy's run costs"
        if verdict.strategy is not None:
            return "a strategy for a planning task"
        if problem := self._witness_problem(verdict, state, run, upper):
            return problem
        if self.objective not in OBJECTIVES:
            raise CheckError(f"the objective is {self.objective!r}", expected="cost or goal")
        expected = concluded(run.outcome, run.spent, lower, upper, self.objective, run.claim)
        gap = cost(verdict.low, "low"), cost(verdict.high, "high")
        if gap != (expected.low, expected.high):
            return f"the gap is {expected.low} to {expected.high}, not {gap[0]} to {gap[1]}"
        if verdict.verdict != expected.verdict:
            return f"the verdict is {expected.verdict}, not {verdict.verdict}"
        if verdict.kind != expected.kind:
            return f"the kind is {expected.kind}, not {verdict.kind}"
        if run.claim is not None and (
            problem := self._permitted_problem(verdict, expected.kind, state, run, lower)
        ):
            return f"the permitted runs: {problem}"
        self.report.checked["verdicts"] += 1
        if expected.verdict == "OPTIMAL" or lower > 0:
            return self._lower_problem(verdict, state, lower, expected.low)
        return None

    @staticmethod
    def _bounds_problem(verdicts: Sequence[StoredVerdict]) -> str | None:
        """The plan of an oracle must not cost less than another oracle says that every plan costs."""
        shown = [own for own in verdicts if (own.plan, own.derivation) != (None, None)]
        least = min((cost(own.upper, "upper") for own in shown), default=math.inf)
        for own in verdicts:
            if cost(own.lower, "lower") > least:
                return f"oracle {own.oracle}: the lower bound is {cost(own.lower, 'lower')}, and a plan costs {least}"
        return None

    def _lower_problem(
        self, verdict: StoredVerdict, state: State, lower: Cost, gap: Cost
    ) -> str | None:
        """Lower bounds have no stored proof: they are computed again, or reported as not checked."""
        optimal = verdict.verdict == "OPTIMAL"
        truth = None if self.distances is None else self.distances.of(state)
        if truth is None:
            self.report.unproven("lower bounds")
            if optimal:
                self.report.unproven("verdicts OPTIMAL")
            # A failing run is a bug, with an infinite gap, whatever the lower bound is: not worth a search.
            if self.report.full and not math.isinf(gap):
                bound = None if math.isinf(lower) else int(lower)
                self.report.open_bounds.append(
                    OpenBound(self.name, verdict.number, state, bound, optimal)
                )
            return None
        if lower > truth:
            return f"the lower bound is {lower}, and a cheapest plan costs {truth}"
        self.report.confirmed["lower bounds"] += 1
        self.report.confirmed["verdicts OPTIMAL"] += optimal
        return None

    def _permitted_problem(
        self, verdict: StoredVerdict, kind: str | None, state: State, run: Followed, lower: Cost
    ) -> str | None:
        """For a set-valued policy: the claims of a verdict beyond the recorded run."""
        assert run.claim is not None
        optimal = verdict.verdict == "OPTIMAL"
        rests = (optimal and not math.isinf(lower)) or verdict.verdict == "BUG"
        rests = rests and kind not in ("fails-some", "crash")  # for which the run is enough
        if self._meets(state):
            if rests and self._counts(verdict):
                return "the policy contradicts itself where its permitted runs come to, and the verdict is not FLAKY"
            self.report.not_checked["permitted graphs"] += 1
            return None
        if verdict.verdict == "UNKNOWN" or (
            not rests and isinstance(self.sets.closure(state), str)
        ):
            self.report.not_checked["permitted graphs"] += 1
            return None
        self.report.checked["permitted graphs"] += 1
        if kind == "fails-all":
            return self.sets.no_goal_problem(state)
        if not rests:
            return self.sets.bound_problem(state, run.claim)
        return self.sets.claim_problem(state, run.claim)

    def _meets(self, state: State) -> bool:
        """Whether permitted runs come to a state where the policy contradicts itself, so that its set is not one."""
        bad = self.contradictions.first
        return bool(bad) and any(other in bad for other in self.sets.reached(state))

    def _witness_problem(
        self, verdict: StoredVerdict, state: State, run: Followed, upper: Cost
    ) -> str | None:
        derived = verdict.derivation is not None
        if verdict.plan is not None:
            claim = None if derived else upper
            if problem := self._plan_problem(verdict.plan, state, claim):
                return f"the plan: {problem}"
            self.report.checked["plans"] += 1
        if derived:
            if problem := self._derivation_problem(verdict.derivation, state, upper):
                return f"the derivation: {problem}"
            self.report.checked["derivations"] += 1
        elif verdict.plan is None and not math.isinf(upper):
            if verdict.verdict == "BUG":
                return "a bug without a plan or a derivation"
            if (run.outcome, run.spent) != ("goal", upper):
                self.report.not_checked["upper bounds"] += 1
        return None

    def _plan_problem(self, text: object, state: State, claim: Cost | None) -> str | None:
        if claim == math.inf:
            return "it has no cost"
        plan = integers(text, "the plan")
        report = validate_plan(self.sas, plan, state, None if claim is None else int(claim))
        return None if report.valid else report.reason

    def _derivation_problem(self, text: object, state: State, upper: Cost) -> str | None:
        steps = loaded(text, "the derivation")
        if not isinstance(steps, list) or self.tables is None or math.isinf(upper):
            return "it has no dominance function, no bound or no steps"
        try:
            report = validate_derivation(
                self.sas, steps, state=state, claimed_bound=int(upper), tables=self.tables
            )
        except (IndexError, RecursionError):  # trees of look-ups that lead nowhere
            raise CheckError("the dominance function is damaged") from None
        return None if report.valid else report.reason


def claim_of(text: object, costly_some: bool) -> Claim:
    """The claims of a run about all permitted runs."""
    given = loaded(text, "what is known of the permitted runs")
    if not isinstance(given, dict) or not isinstance(given.get("closed"), bool):
        raise CheckError("it is not said whether all permitted runs are known")
    least, most = (cost(given.get(name), name) for name in ("least", "most"))
    return Claim(given["closed"], least, most, costly_some)


def _decisions(run: StoredRun, followed: Followed) -> Decisions:
    last = STOPS.get(followed.outcome, run.named)  # where a run is cut or late there is no answer
    answers = [*followed.operators] if last is None else [*followed.operators, last]
    return list(zip(followed.states, answers, strict=False))


__all__ = ["PlanningRecords"]
