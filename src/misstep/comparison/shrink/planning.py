"""Shrink a bug of a planning task.

    start    the state of the fault, or else the bug state itself, becomes the initial state of the problem
    search   objects, goals and facts are taken away (`search`), each success is written at once (`folder`)
    end      the witness is made as short as can be proven, the walk to the start as short as can be found

If the policy accepts no other task than its own, the task stays: only the start, the walk and the witness shrink. A
task without PDDL keeps its objects: only the start and the goals shrink, in the SAS file itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.records import Fault, Record
from misstep.campaigns.rows import Ids, StateRow
from misstep.campaigns.states import state_of
from misstep.comparison.shrink.examine import (
    Base,
    Candidate,
    Examined,
    Examiner,
    Examining,
    OpenExamining,
)
from misstep.comparison.shrink.folder import keep, small_name
from misstep.comparison.shrink.judging import Judge, patient, refusal
from misstep.comparison.shrink.legal import Invariants, level
from misstep.comparison.shrink.problem import Problem, from_state, read_problem, text_of
from misstep.comparison.shrink.projection import read_sas
from misstep.comparison.shrink.search import Position, Space
from misstep.comparison.shrink.shrunk import Effort, Note, Shrunk, Sizes
from misstep.comparison.shrink.walks import shortest_walk
from misstep.errors import MisstepError, UndecidedError
from misstep.tasks.pddl.names import parse_operator_name
from misstep.tasks.task import State, Task

MINIMAL = "1-minimal: no single remaining part can be removed"
NOT_ALL = "no single remaining part is known to be removable"
GOALS_ONLY = (
    "1-minimal: no single remaining goal can be removed, and nothing else was allowed to be"
)
SHARPER = "astar(evaluations=20000)"  # asked at the end for a cheapest witness

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many candidates were examined, and how many worked."""


@dataclass(frozen=True)
class Budget:
    """The limits for shrinking one bug."""

    candidates: int | None = None
    ends: float | None = None  # by the monotonic clock

    def used_up(self, spent: int) -> str | None:
        if self.candidates is not None and spent >= self.candidates:
            return f"the limit of {self.candidates} candidates ended the search"
        if self.ends is not None and monotonic() >= self.ends:
            return "the time limit ended the search"
        return None


@dataclass
class Start:
    """A possible initial state of a small task."""

    step: int
    state: State
    walk: Ids | None  # from the initial state of the original task


@dataclass
class Reached:
    """The state of the search."""

    start: Start
    whole: Problem  # that begins at the start
    invariants: Invariants
    small: Campaign
    task: Task
    problem: Problem
    position: Position

    def go_on(self, small: Campaign, task: Task, problem: Problem, position: Position) -> None:
        self.small.close()
        self.small, self.task, self.problem, self.position = small, task, problem, position


def starts_of(task: Task, record: Record) -> list[Start]:
    """The state of the worst fault first, then the bug state itself."""
    walk = None if record.found.walk is None else record.found.walk.operators
    found = [Start(0, state_of(task, record.state), walk)]
    worst: Fault | None = max(
        record.faults or (), key=lambda own: (own.share or 0, -own.step), default=None
    )
    if worst is not None and worst.step > 0:
        further = None if walk is None else (*walk, *record.run.operators[: worst.step])
        found.insert(0, Start(worst.step, state_of(task, worst.state), further))
    return found


class PlanningShrink:
    """One bug on its way to the smallest task."""

    def __init__(
        self,
        task: Task,
        record: Record,
        judge: Judge,
        place: Path | None,
        *,
        legal: str,
        examining: OpenExamining,
        budget: Budget,
        progress: Progress | None,
    ) -> None:
        self.task = task
        self.record = record
        self.judge = judge
        self.digest = digest_of(task, judge)
        self.place = place
        self.legal = legal
        self.examining = examining
        self.budget = budget
        self.tell = progress or (lambda *_: None)
        self.effort = Effort()
        self.began = monotonic()
        self.name = small_name(record)
        self.before = 0  # candidates of earlier sessions
        self.refused: str | None = None  # why the policy did not take a task, the last time
        self.undecided: str | None = None  # why it was not decided whether a part can go, and which
        self._walks: dict[int, tuple[str, ...] | None] = {}

    def run(self, known: Shrunk | None = None) -> Shrunk:
        """The smallest campaign; `known` is what an earlier session has reached."""
        starts = starts_of(self.task, self.record)
        if known is not None and known.note.position is not None:
            position = Position.from_dict(known.note.position)
            start = next((own for own in starts if own.step == known.note.start), starts[-1])
            reached = self._taken_up(known)
            if reached is not None:
                return self._search(start, reached, position)
        for judge in (self.judge, patient(self.judge)):
            self.judge = judge
            for start in starts:
                small = self._started(start)
                if small is not None:
                    return self._search(start, small, Position())
        return self._on_its_own_task(starts)

    def _taken_up(self, known: Shrunk) -> Campaign | None:
        """Repeat the result of an earlier session."""
        task = known.campaign.tasks[0]
        assert isinstance(task, Task)
        known.campaign.close()
        reached = self._certified(task)
        if reached is not None:
            self.effort = known.note.effort
            self.began -= self.effort.seconds
            self.before = self.effort.candidates
        return reached

    # -- the start --------------------------------------------------------------------------------

    def _started(self, start: Start) -> Campaign | None:
        """The task that begins at a start, if it shows the fault."""
        if self.task.pddl is None:
            document = read_sas(self.task.sas)
            document.state = list(start.state.values)
            task = Task(document.text().encode(), name=self.name)
            self._count(Examined())
            return self._certified(task)
        whole = from_state(read_problem(self.task.pddl[1]), self.task, start.state)
        examiner = Examiner(self.judge, self.task.pddl[0], self.name)
        examined = examiner.examine(Candidate(whole, exact=True), None)
        self._count(examined)
        if not examined.works:
            return None
        return self._certified(examiner.task(whole))

    def _certified(self, task: Task, states: Sequence[StateRow] = ()) -> Campaign | None:
        try:
            return self.judge.certified(task, states)
        except MisstepError:
            return None

    def _on_its_own_task(self, starts: list[Start]) -> Shrunk:
        """Move only the start; the task stays unchanged."""
        probe = self._probe(starts[0])
        why = None if probe is None else refusal(self.judge, probe)
        reason = (
            "the fault does not occur on a task that starts there, so the task was kept"
            if why is None
            else self._bound(why)
        )
        task = self.task
        for start in starts:
            if start.walk is None:
                rows = [StateRow(0, tuple(start.state.values))]
            else:
                rows = [StateRow(0, tuple(task.initial_state.values))]
                if start.walk:
                    rows.append(StateRow(1, tuple(start.state.values), 0, start.walk, run=1))
            found = self._certified(task, rows)
            if found is not None:
                note = self._note(start, found, None, None, minimal=False, reason=reason)
                return keep(found, note, self.place)
        raise UndecidedError(
            f"the fault of {self.record.id} could not be proven again from its state alone",
            where=task.name,
            hint="the campaign used knowledge of other states, or the policy contradicts itself",
        )

    @staticmethod
    def _bound(why: str | None) -> str:
        because = "" if why is None else f" ({why})"
        return f"the policy accepts no other task{because}: only the start, the walk and the witness shrink"

    def _probe(self, start: Start) -> Task | None:
        if self.task.pddl is None:
            document = read_sas(self.task.sas)
            document.state = list(start.state.values)
            return Task(document.text().encode(), name=self.name)
        try:
            whole = from_state(read_problem(self.task.pddl[1]), self.task, start.state)
            return Examiner(self.judge, self.task.pddl[0], self.name).task(whole)
        except MisstepError:
            return None

    # -- the search -------------------------------------------------------------------------------

    def _search(self, start: Start, small: Campaign, position: Position) -> Shrunk:
        if self.task.pddl is None:
            return self._search_sas(start, small, position)
        own = small.tasks[0]
        assert isinstance(own, Task)
        assert own.pddl is not None
        whole = from_state(read_problem(self.task.pddl[1]), self.task, start.state)
        invariants = Invariants(self.task, start.state)
        reached = Reached(start, whole, invariants, small, own, read_problem(own.pddl[1]), position)
        space = Space(invariants, self.legal)
        examiner = Examiner(self.judge, self.task.pddl[0], self.name)
        known: set[Candidate] = set()  # that do not work
        limit = self._limit()
        self._keep(reached, limit)
        with self.examining(examiner) as workers:
            while limit is None and not reached.position.done:
                is_smaller, limit = self._advance(reached, space, examiner, workers, known)
                if is_smaller:
                    self._keep(reached, limit)
        return self._finish(reached, limit)

    def _advance(
        self,
        reached: Reached,
        space: Space,
        examiner: Examiner,
        workers: Examining,
        known: set[Candidate],
    ) -> tuple[bool, str | None]:
        """Search for the next success; returns whether there was one, and the limit that ended the search, if any."""
        places: list[Position] = []

        def candidates() -> Iterator[Candidate]:
            unused = _unused(reached.problem, reached.small.records[-1])
            asked: set[Candidate] = set()
            for place, ways in space.attempts(reached.problem, unused, reached.position):
                for way in ways:
                    candidate = Candidate(way, place.exact)
                    if candidate not in known and candidate not in asked:
                        asked.add(candidate)
                        places.append(place)
                        yield candidate

        base = Base(reached.task.sas, reached.problem)
        for number, (candidate, examined) in enumerate(workers.each(candidates(), base)):
            self._count(examined)
            self._note_refusal(examined)
            self.tell("shrinking", self.effort.candidates, self.effort.accepted)
            if examined.works:
                task = self._rebuilt(examiner, candidate, examined)
                accepted = self._certified(task)  # once more, here: its campaign is kept
                if accepted is not None:
                    self.effort = replace(
                        self.effort, accepted=self.effort.accepted + 1, undecided=0
                    )
                    self.undecided = None
                    position = replace(places[number], changed=True)
                    reached.go_on(accepted, task, candidate.problem, position)
                    return True, self._limit()
                examined = replace(examined, undecided="it did not show the fault a second time")
            if examined.undecided is None:
                known.add(candidate)
            elif candidate.exact:
                self.effort = replace(self.effort, undecided=self.effort.undecided + 1)
                gone = ", ".join(_removed(reached.problem, candidate.problem))
                self.undecided = f"{gone}: {examined.undecided}"
            limit = self._limit()
            if limit is not None:
                reached.position = places[number]
                return False, limit
        reached.position = replace(reached.position, exact=True, done=True)
        return False, None

    @staticmethod
    def _rebuilt(examiner: Examiner, candidate: Candidate, examined: Examined) -> Task:
        assert examined.sas is not None
        pddl = (examiner.domain, examiner.source(candidate.problem))
        return Task(examined.sas, name=examiner.name, pddl=pddl)

    def _search_sas(self, start: Start, small: Campaign, position: Position) -> Shrunk:
        """Without PDDL: goals are dropped from the SAS file, one after the other."""
        own = small.tasks[0]
        assert isinstance(own, Task)
        document = read_sas(own.sas)
        limit, index = None, position.index
        while index < len(document.goal) > 1 and limit is None:
            goal = document.goal
            document.goal = goal[:index] + goal[index + 1 :]
            accepted = self._certified(Task(document.text().encode(), name=self.name))
            self._count(Examined())
            if accepted is None:
                document.goal, index = goal, index + 1
            else:
                small.close()
                small, index = accepted, 0
                self.effort = replace(self.effort, accepted=self.effort.accepted + 1)
            limit = self._limit()
        limit = limit or "the task has no PDDL: only the start and the goals can shrink"
        note = self._note(start, small, None, None, minimal=False, reason=limit)
        return keep(small, note, self.place)

    def _note_refusal(self, examined: Examined) -> None:
        self.refused = examined.refused or self.refused
        outcomes = (examined.refused, examined.problem, examined.undecided)
        if examined.translated and outcomes == (None, None, None):
            self.effort = replace(self.effort, judged=self.effort.judged + 1)

    def _limit(self) -> str | None:
        return self.budget.used_up(self.effort.candidates - self.before)

    def _count(self, examined: Examined) -> None:
        effort = self.effort
        self.effort = replace(
            effort,
            candidates=effort.candidates + 1,
            translations=effort.translations + examined.translated,
            refused=effort.refused + (examined.refused is not None),
            seconds=monotonic() - self.began,
        )

    # -- what is kept -----------------------------------------------------------------------------

    def _keep(self, reached: Reached, limit: str | None) -> Shrunk:
        position = reached.position
        reason = limit or "the search was interrupted"
        is_bound = self.effort.refused > 0 and self.effort.judged == 0
        if position.done:
            reason = self._bound(self.refused) if is_bound else self._all_tried()
        problem, whole = reached.problem, reached.whole
        minimal = position.done and not is_bound and not self.effort.undecided
        note = self._note(
            reached.start, reached.small, problem, whole, minimal=minimal, reason=reason
        )
        legal = level(problem, whole, reached.invariants, whole.names)
        if legal == "reachable" and note.walk is None:  # the state was brought from elsewhere
            legal = "mutex"
        note = replace(
            note,
            legal=legal,
            position=position.as_dict(),
        )
        return keep(reached.small, note, self.place)

    def _all_tried(self) -> str:
        """What the last round says, which has tried every single removal."""
        reason = GOALS_ONLY if self.legal == "reachable" else MINIMAL
        if self.effort.undecided:
            told = "" if self.undecided is None else f" (such as {self.undecided})"
            reason = f"{NOT_ALL}; {self.effort.undecided} removals were left undecided{told}"
        if self.effort.refused:
            reason += f"; the policy did not accept {self.effort.refused} of the candidates"
        return reason

    def _finish(self, reached: Reached, limit: str | None) -> Shrunk:
        """Finish with a witness that is proven to be cheapest, if a search finds one."""
        bounds = reached.small.records[-1].bounds
        if bounds is not None and bounds[0] != bounds[1] and reached.position.done:
            sharper = self._certified(reached.task)
            if sharper is not None:
                sharper.judge(SHARPER)
                if self.judge.sought.shown_by(sharper.records[-1]) and sharper.replay().ok:
                    reached.small.close()
                    reached.small = sharper
                else:
                    sharper.close()
        return self._keep(reached, limit)

    def _walk(self, start: Start) -> tuple[str, ...] | None:
        """The shortest walk to the start that is known, by the names of its operators."""
        if start.step not in self._walks:
            walk = shortest_walk(self.task, start.state)
            if walk is None and start.walk is not None:
                walk = tuple(self.task.operator_name(op) for op in start.walk)
            self._walks[start.step] = walk
        return self._walks[start.step]

    def _note(
        self,
        start: Start,
        small: Campaign,
        problem: Problem | None,
        whole: Problem | None,
        *,
        minimal: bool,
        reason: str,
    ) -> Note:
        record, now = self.record, small.records[-1]
        walk = self._walk(start)
        found = record.found.walk
        facts = len(self.task.facts(start.state)) if whole is None else len(whole.facts)
        task = small.tasks[0]
        assert isinstance(task, Task)
        original = None if self.task.pddl is None else read_problem(self.task.pddl[1])
        left = original if problem is None else problem
        return Note(
            id=record.id,
            digest=self.digest,
            kind=now.kind,
            family=now.family,
            number=now.number,
            start=start.step,
            before=Sizes(
                objects=None if original is None else len(original.objects),
                goals=len(self.task.goal) if original is None else len(original.goals),
                facts=facts,
                plan=_length(record),
                run=len(record.run.operators),
                walk=None if found is None else len(found.operators),
            ),
            after=Sizes(
                objects=None if left is None else len(left.objects),
                goals=len(task.goal) if left is None else len(left.goals),
                facts=facts if problem is None else len(problem.facts),
                plan=_length(now),
                run=len(now.run.operators),
                walk=None if walk is None else len(walk),
            ),
            legal="any" if walk is None else "reachable",
            allowed=self.legal,
            minimal=minimal,
            reason=reason,
            removed=() if problem is None or whole is None else _removed(whole, problem),
            walk=walk,
            effort=replace(self.effort, seconds=round(monotonic() - self.began, 3)),
        )


def digest_of(task: Task, judge: Judge) -> str:
    """A digest of everything that must be unchanged to continue an earlier search."""
    text = f"{task.digest} {judge.settings.as_dict()} {judge.sought}"
    return hashlib.sha256(text.encode()).hexdigest()


def _length(record: Record) -> int | None:
    return None if record.witness.operators is None else len(record.witness.operators)


def _unused(problem: Problem, record: Record) -> list[str]:
    """Objects that neither the run nor the witness names."""
    names = (*record.run.names, *(record.witness.names or ()))
    used = {word for name in names for word in parse_operator_name(name).arguments}
    return [name for name in problem.names if name not in used]


def _removed(whole: Problem, problem: Problem) -> tuple[str, ...]:
    gone = [name for name in whole.names if name not in set(problem.names)]
    lost = set(gone)
    goals = [own.text for own in whole.goals if own not in problem.goals and not lost & own.objects]
    left = set(problem.facts)
    facts = [
        text_of(fact)
        for fact in whole.facts
        if fact not in left and not lost.intersection(fact[1:])
    ]
    return (*gone, *(f"goal {text}" for text in goals), *facts)


__all__ = ["MINIMAL", "Budget", "PlanningShrink", "Progress", "Start", "digest_of", "starts_of"]
