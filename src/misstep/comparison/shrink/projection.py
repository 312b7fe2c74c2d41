"""Cut a smaller task out of the translated one, without the translator.

Translating a problem takes a process and a fifth of a second. Delta debugging mostly needs the task without some
objects, and that can be cut out of the translated task: remove operators that name a removed object or need a removed
static fact, then facts and operators that are unreachable, then variables with only one value. The translator may order
variables and operators differently, so this is only a filter: candidates that pass are translated, and at the end all
single removals that it refused are translated as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from misstep.comparison.shrink.problem import Fact, Problem, atoms_of
from misstep.tasks.pddl.names import parse_operator_name
from misstep.tasks.pddl.text import Source
from misstep.tasks.task import Task

Place = tuple[int, int]


@dataclass
class Effect:
    conditions: list[Place]
    variable: int
    before: int  # -1: any
    after: int


@dataclass
class Operator:
    name: str
    prevail: list[Place]
    effects: list[Effect]
    cost: int

    def needs(self) -> list[Place]:
        return self.prevail + [(e.variable, e.before) for e in self.effects if e.before >= 0]


@dataclass
class Document:
    """A SAS file."""

    metric: int
    variables: list[tuple[str, list[str]]]
    mutexes: list[list[Place]]
    state: list[int]
    goal: list[Place]
    operators: list[Operator] = field(default_factory=list)

    def text(self) -> str:
        lines = [
            "begin_version",
            "3",
            "end_version",
            "begin_metric",
            str(self.metric),
            "end_metric",
        ]
        lines.append(str(len(self.variables)))
        for name, values in self.variables:
            lines += ["begin_variable", name, "-1", str(len(values)), *values, "end_variable"]
        lines.append(str(len(self.mutexes)))
        for group in self.mutexes:
            lines += ["begin_mutex_group", str(len(group)), *(f"{v} {d}" for v, d in group)]
            lines.append("end_mutex_group")
        lines += ["begin_state", *map(str, self.state), "end_state"]
        lines += [
            "begin_goal",
            str(len(self.goal)),
            *(f"{v} {d}" for v, d in self.goal),
            "end_goal",
        ]
        lines.append(str(len(self.operators)))
        for own in self.operators:
            lines += ["begin_operator", own.name, str(len(own.prevail))]
            lines += [f"{v} {d}" for v, d in own.prevail]
            lines.append(str(len(own.effects)))
            for effect in own.effects:
                conditions = "".join(f"{v} {d} " for v, d in effect.conditions)
                numbers = f"{effect.variable} {effect.before} {effect.after}"
                lines.append(f"{len(effect.conditions)} {conditions}{numbers}")
            lines += [str(own.cost), "end_operator"]
        return "\n".join([*lines, "0", ""])


def read_sas(sas: bytes) -> Document:
    """Parse a SAS file that was loaded before, so nothing is checked."""
    lines = iter(sas.decode().splitlines())

    def numbers() -> list[int]:
        return [int(word) for word in next(lines).split()]

    def places(count: int) -> list[Place]:
        return [(own[0], own[1]) for own in (numbers() for _ in range(count))]

    def skip(count: int = 1) -> None:
        for _ in range(count):
            next(lines)

    skip(4)
    metric = numbers()[0]
    skip()
    variables = []
    for _ in range(numbers()[0]):
        skip()
        name = next(lines)
        skip()
        variables.append((name, [next(lines) for _ in range(numbers()[0])]))
        skip()
    mutexes = []
    for _ in range(numbers()[0]):
        skip()
        mutexes.append(places(numbers()[0]))
        skip()
    skip()
    state = [numbers()[0] for _ in variables]
    skip(2)
    goal = places(numbers()[0])
    skip()
    document = Document(metric, variables, mutexes, state, goal)
    for _ in range(numbers()[0]):
        skip()
        name = next(lines)
        prevail = places(numbers()[0])
        effects = []
        for _ in range(numbers()[0]):
            words = numbers()
            pairs = words[1 : 1 + 2 * words[0]]
            conditions = list(zip(pairs[::2], pairs[1::2], strict=True))
            effects.append(Effect(conditions, words[-3], words[-2], words[-1]))
        document.operators.append(Operator(name, prevail, effects, numbers()[0]))
        skip()
    return document


class Projector:
    """Cuts smaller tasks out of a translated one."""

    def __init__(self, task: Task, problem: Problem) -> None:
        self.task = task
        self.problem = problem
        self.document = read_sas(task.sas)
        self.atoms = atoms_of(task)
        assert task.pddl is not None
        self.domain = task.pddl[0]
        lifted = task.lifted
        fluent = lifted.fluent_predicates
        plain = all(schema.normalised for schema in lifted.schemas)
        negative = any(
            not literal.positive and literal.atom.predicate not in fluent
            for schema in lifted.schemas
            for literal in schema.precondition
        )
        self.possible = plain and not lifted.derived
        self.static_possible = self.possible and not negative
        self._needs: list[set[Fact]] = []
        if self.possible:
            for own in self.document.operators:
                name = parse_operator_name(own.name)
                schema = lifted.schema(name.name)
                binding = schema.binding(name.arguments)
                atoms = (literal.atom.ground(binding) for literal in schema.precondition)
                self._needs.append({(a.predicate, *a.terms) for a in atoms} - self.atoms.keys())

    def project(self, problem: Problem, name: str, source: Source) -> Task | None:
        """The task of a smaller problem; None if only the translator can make it."""
        if not self.possible or not set(self.problem.values).issuperset(problem.values):
            return None
        gone = set(self.problem.names) - set(problem.names)
        true = set(problem.facts)
        lost = {f for f in self.problem.facts if f not in true and f not in self.atoms}
        lost_static = {fact for fact in lost if not gone.intersection(fact[1:])}
        if lost_static and not self.static_possible:
            return None
        if any(fact not in self.atoms and fact not in self.problem.facts for fact in true):
            return None
        state, goal = self._state(true, gone), self._goal(problem)
        if state is None or not goal:
            return None
        operators = [
            own
            for own, needs in zip(self.document.operators, self._needs, strict=True)
            if not gone.intersection(own.name.split()[1:]) and not needs & lost_static
        ]
        small = _reduced(self.document, operators, state, goal)
        return (
            None
            if small is None
            else Task(small.text().encode(), name=name, pddl=(self.domain, source))
        )

    def _state(self, true: set[Fact], gone: set[str]) -> list[int] | None:
        state = []
        for _, names in self.document.variables:
            chosen = [k for k, own in enumerate(names) if _atom(own) in true]
            if not chosen:
                chosen = [k for k, own in enumerate(names) if not own.startswith("Atom ")]
            if not chosen and all(gone.intersection(_atom(own) or ()) for own in names):
                chosen = [0]  # any: no operator that is left knows the variable
            if len(chosen) != 1:
                return None
            state.append(chosen[0])
        return state

    def _goal(self, problem: Problem) -> list[Place] | None:
        places = []
        for goal in problem.goals:
            if goal.literal is None or not goal.positive:
                return None
            place = self.atoms.get(goal.literal)
            if place is None or place[1] < 0:
                if goal.literal in problem.facts and goal.literal not in self.atoms:
                    continue  # true for ever
                return None
            places.append(place)
        return sorted(places)


def _atom(name: str) -> Fact | None:
    if not name.startswith("Atom "):
        return None
    predicate, _, rest = name[5:].partition("(")
    inside = rest[:-1]
    return (predicate, *(part.strip() for part in inside.split(","))) if inside else (predicate,)


def _reduced(
    document: Document, operators: list[Operator], state: list[int], goal: list[Place]
) -> Document | None:
    """Remove what the relaxed problem cannot reach, and variables with only one value."""
    reached = set(enumerate(state))
    left = operators
    used: list[Operator] = []
    while True:
        waiting = []
        before = len(reached)
        for own in left:
            if all(place in reached for place in own.needs()):
                used.append(own)
            else:
                waiting.append(own)
        for own in used:
            for effect in own.effects:
                if all(place in reached for place in effect.conditions):
                    reached.add((effect.variable, effect.after))
        if len(waiting) == len(left) and len(reached) == before:
            break
        left = waiting
    if not reached.issuperset(goal):
        return None  # the translator writes a task of its own for that
    kept = {id(own) for own in used}
    values = [sorted(d for v, d in reached if v == k) for k in range(len(state))]
    numbers = {k: n for n, k in enumerate(k for k, own in enumerate(values) if len(own) > 1)}
    new = {(v, d): (numbers[v], n) for v in numbers for n, d in enumerate(values[v])}
    small = Document(
        document.metric,
        [(f"var{numbers[v]}", [document.variables[v][1][d] for d in values[v]]) for v in numbers],
        [],
        [new[v, state[v]][1] for v in numbers],
        sorted({new[place] for place in goal if place in new}),
    )
    if not small.goal:
        return None
    for group in document.mutexes:
        facts = [new[place] for place in group if place in new]
        if len(facts) > 1:
            small.mutexes.append(facts)
    for own in operators:
        if id(own) in kept:
            projected = _operator(own, new, reached)
            if projected.effects:
                small.operators.append(projected)
    return small


def _operator(own: Operator, new: dict[Place, Place], reached: set[Place]) -> Operator:
    effects = []
    for effect in own.effects:
        if not reached.issuperset(effect.conditions) or (effect.variable, effect.after) not in new:
            continue
        variable, after = new[effect.variable, effect.after]
        before = -1 if effect.before < 0 else new[effect.variable, effect.before][1]
        conditions = [new[place] for place in effect.conditions if place in new]
        effects.append(Effect(conditions, variable, before, after))
    return Operator(
        own.name, [new[place] for place in own.prevail if place in new], effects, own.cost
    )


__all__ = ["Document", "Projector", "read_sas"]
