"""Rule policies with one planted bug each, and the smallest tasks that show it, found by generating all smaller ones.

The truth is exhaustive: for every subset of the objects of a task that has fewer objects, every state that can be
reached there and every choice of its goals, the policy is run and judged. It takes minutes for all plants:

    PYTHONPATH=src:tests python -m support.smallest
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from time import perf_counter

import misstep
from misstep.campaigns.campaign import Campaign
from misstep.campaigns.records import Record
from misstep.campaigns.states import state_of
from misstep.comparison.shrink.api import _judge, in_order
from misstep.comparison.shrink.examine import Examiner
from misstep.comparison.shrink.judging import Judge
from misstep.comparison.shrink.legal import Invariants
from misstep.comparison.shrink.problem import Problem, from_state, read_problem
from misstep.comparison.shrink.projection import read_sas
from misstep.errors import MisstepError
from misstep.tasks.census import state_space
from misstep.tasks.task import Task

NEVER_THE_LAST_BALL = """
(define (policy never-the-last-ball) (:domain gripper)
  (:rule drop :parameters (?b - ball ?r - room ?g - gripper)
    :condition (goal (at ?b ?r)) :action (drop ?b ?r ?g))
  (:rule pick :parameters (?b ?c - ball ?r ?s ?t ?u - room ?g - gripper)
    :condition (and (not (= ?b ?c)) (goal (at ?b ?s)) (not (= ?r ?s))
      (at ?c ?t) (goal (at ?c ?u)) (not (= ?t ?u))) :action (pick ?b ?r ?g))
  (:rule carry :parameters (?from ?to - room ?b - ball ?g - gripper)
    :condition (and (carry ?b ?g) (goal (at ?b ?to))) :action (move ?from ?to))
  (:rule fetch :parameters (?from ?to ?s - room ?b - ball)
    :condition (and (at ?b ?to) (goal (at ?b ?s)) (not (= ?s ?to))) :action (move ?from ?to)))
"""
RESTLESS = """
(define (policy ferry-restless) (:domain ferry)
  (:rule debark :parameters (?c - car ?l - location) :condition (goal (at ?c ?l)) :action (debark ?c ?l))
  (:rule board :parameters (?c - car ?l - location)
    :condition (and (not (goal (at ?c ?l))) (exists (?other - location) (goal (at ?c ?other)))) :action (board ?c ?l))
  (:rule home :parameters (?from ?to - location ?c - car)
    :condition (and (on ?c) (goal (at ?c ?to))) :action (sail ?from ?to))
  (:rule fetch :parameters (?from ?to - location ?c - car)
    :condition (and (empty-ferry) (at ?c ?to)) :action (sail ?from ?to)))
"""
STACKS_TOO_EARLY = """
(define (policy stacks-too-early) (:domain blocksworld)
  (:rule stack :parameters (?a ?b - block) :condition (goal (on ?a ?b)) :action (stack ?a ?b))
  (:rule down :parameters (?a - block) :action (put-down ?a))
  (:rule unstack :parameters (?a ?b - block) :condition (not (goal (on ?a ?b))) :action (unstack ?a ?b))
  (:rule take :parameters (?a ?b - block) :condition (and (goal (on ?a ?b)) (clear ?b)) :action (pick-up ?a)))
"""
TURNS_TO_THE_FIRST = """
(define (policy turns-to-the-first) (:domain visitall)
  (:rule fresh :parameters (?from ?to - cell)
    :condition (and (goal (visited ?to)) (not (visited ?to))) :action (move ?from ?to))
  (:rule any :parameters (?from ?to - cell) :action (move ?from ?to)))
"""
LEAVES_WAITING = """
(define (policy leaves-waiting) (:domain miconic)
  (:rule depart :parameters (?p - passenger ?f - floor) :condition (goal (served ?p)) :action (depart ?p ?f))
  (:rule home-up :parameters (?from ?to - floor ?p - passenger)
    :condition (and (boarded ?p) (destination ?p ?to)) :action (up ?from ?to))
  (:rule home-down :parameters (?from ?to - floor ?p - passenger)
    :condition (and (boarded ?p) (destination ?p ?to)) :action (down ?from ?to))
  (:rule board :parameters (?p - passenger ?f - floor)
    :condition (and (not (served ?p)) (not (boarded ?p))) :action (board ?p ?f))
  (:rule fetch-up :parameters (?from ?to - floor ?p - passenger)
    :condition (and (goal (served ?p)) (not (served ?p)) (not (boarded ?p)) (origin ?p ?to)) :action (up ?from ?to))
  (:rule fetch-down :parameters (?from ?to - floor ?p - passenger)
    :condition (and (goal (served ?p)) (not (served ?p)) (not (boarded ?p)) (origin ?p ?to))
    :action (down ?from ?to)))
"""


@dataclass(frozen=True)
class Plant:
    name: str
    domain: str
    sizes: dict[str, int]
    rules: str

    def campaign(self, folder: Path, seed: int = 0, pool: int = 40) -> Campaign:
        file = folder / f"{self.name}.rules"
        file.write_text(self.rules)
        task = misstep.load_task(misstep.generate(self.domain, seed=seed, **self.sizes))
        return misstep.test(task, f"rules:{file}", pool=pool)


PLANTS = [
    Plant("never-the-last-ball", "gripper", {"balls": 4}, NEVER_THE_LAST_BALL),
    Plant("ferry-restless", "ferry", {"cars": 4, "locations": 3}, RESTLESS),
    Plant("stacks-too-early", "blocksworld", {"blocks": 6}, STACKS_TOO_EARLY),
    Plant("turns-to-the-first", "visitall", {"width": 3, "height": 3}, TURNS_TO_THE_FIRST),
    Plant("leaves-waiting", "miconic", {"passengers": 3, "floors": 4}, LEAVES_WAITING),
]


def smallest(campaign: Campaign, bug: Record, below: int) -> Problem | None:
    """A task with fewer objects that shows the same fault, or None: there is none. The fewest objects come first."""
    task = campaign._content.task(bug.task)
    assert isinstance(task, Task)
    assert task.pddl is not None
    judge = _judge(campaign, bug)
    examiner = Examiner(judge, task.pddl[0], "smaller")
    state = state_of(task, bug.state)
    whole = from_state(read_problem(task.pddl[1]), task, state)
    invariants = Invariants(task, state)
    for size in range(1, below):
        for kept in combinations(whole.names, size):
            small = whole.without_objects(set(whole.names) - set(kept))
            for start in invariants.repairs(small, 1):
                for found in _shown(examiner, judge, start):
                    return found
    return None


def _shown(examiner: Examiner, judge: Judge, start: Problem) -> Iterator[Problem]:
    """The problems with these objects that show the fault: from any state, with any of the goals."""
    if not start.goals:
        return
    try:
        base = examiner.task(start)
    except MisstepError:
        return
    space = state_space(base, max_states=100_000)
    goals = chain.from_iterable(
        combinations(start.goals, count) for count in range(1, len(start.goals) + 1)
    )
    for chosen in goals:
        for number in range(len(space)):
            moved = from_state(start, base, space.state(number)).without_goals(
                [goal for goal in start.goals if goal not in chosen]
            )
            task = _task(examiner, base, moved, space.state(number).values)
            if task is not None and judge.shows(task):
                found = judge.certified(task)
                if found is not None:
                    found.close()
                    yield moved


def _task(examiner: Examiner, base: Task, problem: Problem, values: tuple[int, ...]) -> Task | None:
    """The translated task with another state and fewer goals; None if it is solved already."""
    from misstep.comparison.shrink.problem import atoms_of

    document = read_sas(base.sas)
    known = atoms_of(base)
    document.state = list(values)
    document.goal = sorted(
        known[goal.literal]
        for goal in problem.goals
        if goal.literal in known and known[goal.literal][1] >= 0
    )
    if not document.goal or all(values[v] == d for v, d in document.goal):
        return None
    pddl = (examiner.domain, examiner.source(problem))
    return Task(document.text().encode(), name=examiner.name, pddl=pddl)


def main() -> None:
    import tempfile

    same = cases = 0
    print("plant                 seed  objects  ours  smallest  seconds  truth")
    for plant in PLANTS:
        left = 2
        for seed in range(6):
            if not left:
                break
            with tempfile.TemporaryDirectory() as folder:
                campaign = plant.campaign(Path(folder), seed)
                bugs = [bug for bug in in_order(campaign.bugs) if bug.family is not None]
                for bug in bugs[:1]:
                    left -= 1
                    began = perf_counter()
                    shrunk = campaign.shrink(bug)
                    middle = perf_counter()
                    ours = shrunk.objects_after or 0
                    smaller = smallest(campaign, bug, ours)
                    truth = ours if smaller is None else len(smaller.objects)
                    cases += 1
                    same += truth == ours
                    print(
                        f"{plant.name:<21} {seed:>4}  {shrunk.objects_before:>7}  {ours:>4}  {truth:>8}  "
                        f"{middle - began:>7.1f}  {perf_counter() - middle:.0f} s  {shrunk}",
                        flush=True,
                    )
                    if smaller is not None:
                        sys.stderr.write(smaller.text("smaller") + "\n")
    print(f"as small as the smallest: {same} of {cases}")


if __name__ == "__main__":
    main()
