"""The names that a sketch may use on a task (predicates, goal copies, types and objects), with their atoms.

- A predicate of the domain stands for its atoms in a state, including those that never change.
- `p_g` stands for the goal's atoms of the predicate p. It is the same in every state.
- A type stands for its objects, including those of its subtypes; a predicate of the same name takes precedence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from misstep.errors import UnsupportedError
from misstep.tasks.pddl.atoms import constant_atoms, fact_sources, lost_atoms, type_atoms
from misstep.tasks.pddl.lifted import Atom
from misstep.tasks.task import Task

GOAL = "_g"

Objects = tuple[int, ...]


@dataclass(frozen=True)
class Relation:
    """The atoms of a name, as tuples of objects."""

    arity: int
    always: tuple[Objects, ...]
    sometimes: tuple[tuple[tuple[int, int], Objects], ...]
    """An atom that holds in the states where a variable has a certain value."""


class Vocabulary:
    """The names that a sketch can use on a task. Errors name the place `where` in its file."""

    def __init__(self, task: Task) -> None:
        self.task = task
        lifted = task.lifted
        self.objects = {named.name: number for number, named in enumerate(lifted.objects)}
        self._arity = {predicate.name: predicate.arity for predicate in lifted.predicates}
        self._sources = fact_sources(task)
        self._constant = constant_atoms(task, self._sources)
        self._lost = lost_atoms(task, self._sources)
        self._relations: dict[str, Relation] = {}

    def object(self, name: str, where: str) -> int:
        if name not in self.objects:
            raise self._unknown("object", name, self.objects, where)
        return self.objects[name]

    def relation(self, name: str, where: str) -> Relation:
        if name not in self._relations:
            self._relations[name] = self._find(name, where)
        return self._relations[name]

    def _find(self, name: str, where: str) -> Relation:
        lifted = self.task.lifted
        of_goal = name.removesuffix(GOAL)
        is_goal_copy = of_goal != name and of_goal in self._arity
        if name in self._arity:
            if is_goal_copy:
                raise UnsupportedError(
                    f"{name} is a predicate and the goal copy of {of_goal}",
                    where=where,
                    expected=f"a domain whose predicates do not end in {GOAL}",
                )
            return self._predicate(name, where)
        if is_goal_copy:
            self._check_goal(name, where)
            goal = [literal.atom for literal in lifted.goal if literal.atom.predicate == of_goal]
            return Relation(self._arity[of_goal], self._tuples(goal), ())
        if name in lifted.types:
            return Relation(1, self._tuples(type_atoms(lifted, {name})), ())
        words = [*self._arity, *(predicate + GOAL for predicate in self._arity), *lifted.types]
        raise self._unknown("predicate or type", name, words, where)

    def _predicate(self, name: str, where: str) -> Relation:
        if name in self._lost:
            raise UnsupportedError(
                f"the states of {self.task.name} do not say whether {self._lost[name]} holds",
                where=where,
                hint="load the task with the variables that do not matter for the goal (keep_unimportant)",
            )
        changing = tuple(
            (source, self._numbers(atom))
            for atom, source in self._sources.items()
            if atom.predicate == name
        )
        constant = [atom for atom in self._constant if atom.predicate == name]
        return Relation(self._arity[name], self._tuples(constant), changing)

    def _check_goal(self, name: str, where: str) -> None:
        lifted = self.task.lifted
        odd = [*lifted.unsupported_goal, *(str(one) for one in lifted.goal if not one.positive)]
        if odd:
            raise UnsupportedError(
                f"{name} is not defined, since the goal of {lifted.problem_name} contains {odd[0]}",
                where=where,
                expected="a goal that is a conjunction of atoms",
            )

    def _tuples(self, atoms: Iterable[Atom]) -> tuple[Objects, ...]:
        return tuple(dict.fromkeys(map(self._numbers, atoms)))

    def _numbers(self, atom: Atom) -> Objects:
        return tuple(self.objects[term] for term in atom.terms)

    def _unknown(
        self, kind: str, name: str, known: Collection[str], where: str
    ) -> UnsupportedError:
        close = get_close_matches(name, known, 1)
        few = sorted(known)[:12]
        return UnsupportedError(
            f"the task {self.task.name} has no {kind} {name[:60]!r}",
            where=where,
            expected="one of " + ", ".join(few) + (", ..." if len(known) > len(few) else ""),
            hint=(f"did you mean {close[0]}? " if close else "")
            + f"the sketch must be one for the domain {self.task.lifted.domain_name}",
        )


__all__ = ["GOAL", "Relation", "Vocabulary"]
