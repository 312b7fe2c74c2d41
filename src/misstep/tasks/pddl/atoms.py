"""The atoms that are true in a state of a PDDL task, including those that the translator dropped.

A state of the ground task is a value for each variable, and a value names one atom or none. The translator leaves out
atoms that never change: static facts, and also single facts of predicates that operators do affect (such as the cell
that is visited at the start). So the constant atoms are those of the initial state that no variable names; looking for
static predicates is not enough. Atoms of variables that cannot matter for the goal are left out as well: they are shown
as they were in the initial state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from misstep.errors import UnsupportedError
from misstep.tasks.pddl.lifted import Atom, LiftedTask
from misstep.tasks.pddl.names import parse_fact_name, parse_operator_name

if TYPE_CHECKING:
    from misstep.tasks.task import Task


class AtomTable:
    """Which atom each value of each variable stands for, and which atoms hold in every state."""

    def __init__(self, task: Task) -> None:
        self.of_values: tuple[tuple[Atom | None, ...], ...] = tuple(
            tuple(atom_of(name) for name in names) for names in task.fact_names
        )
        named = {atom for atoms in self.of_values for atom in atoms if atom is not None}
        self.constant: tuple[Atom, ...] = tuple(a for a in task.lifted.init if a not in named)

    def changing(self, values: Sequence[int]) -> list[Atom]:
        """The true atoms of a state's variables, in the order of the variables."""
        named = (atoms[value] for atoms, value in zip(self.of_values, values, strict=True))
        return list(dict.fromkeys(atom for atom in named if atom is not None))

    def true(self, values: Sequence[int]) -> list[Atom]:
        """All true atoms of a state: the constant ones first."""
        return [*self.constant, *self.changing(values)]


def goal_atoms(lifted: LiftedTask, where: str, why: str) -> tuple[Atom, ...]:
    """The atoms of a goal, which must be a conjunction of atoms; `why` is the reason for this in the message."""
    negative = [str(literal) for literal in lifted.goal if not literal.positive]
    for odd in (*lifted.unsupported_goal, *negative):
        raise UnsupportedError(
            f"the goal of {lifted.problem_name} contains {odd}",
            where=where,
            expected=f"a conjunction of atoms: {why}",
        )
    return tuple(literal.atom for literal in lifted.goal)


def atom_of(fact_name: str) -> Atom | None:
    """The atom of a value, None for values that say that atoms are false."""
    fact = parse_fact_name(fact_name)
    return Atom(fact.predicate, fact.arguments) if fact is not None and fact.positive else None


def fact_sources(task: Task) -> dict[Atom, tuple[int, int]]:
    """The variable and value that stand for each atom of the ground task; the first ones if there are several."""
    sources: dict[Atom, tuple[int, int]] = {}
    for variable, names in enumerate(task.fact_names):
        for value, name in enumerate(names):
            if (atom := atom_of(name)) is not None:
                sources.setdefault(atom, (variable, value))
    return sources


def constant_atoms(task: Task, sources: Mapping[Atom, tuple[int, int]]) -> list[Atom]:
    """The atoms that hold in every state and that no variable of the ground task names."""
    return [atom for atom in task.lifted.init if atom not in sources]


def type_atoms(lifted: LiftedTask, wanted: Collection[str]) -> Iterator[Atom]:
    """Types as unary atoms: an object belongs to its type and to all supertypes."""
    for named in lifted.objects:
        for kind in named.types:
            for name in lifted.supertypes(kind):
                if name in wanted:
                    yield Atom(name, (named.name,))


def lost_atoms(task: Task, sources: Mapping[Atom, tuple[int, int]]) -> dict[str, Atom]:
    """For each predicate that has one, an atom that operators change although no variable names it.

    Such atoms exist if the translator was allowed to drop variables that do not matter for the goal. Schemas with
    conditional or quantified effects are skipped.
    """
    lifted = task.lifted
    initial = set(lifted.init)
    lost: dict[str, Atom] = {}
    for text in task.operator_names:
        name, arguments = parse_operator_name(text)
        schema = lifted.schema(name)
        if not schema.normalised:
            continue
        binding = schema.binding(arguments)
        effects = {(literal.atom.ground(binding), literal.positive) for literal in schema.effect}
        for atom, positive in effects:
            # An atom that is both deleted and added stays true.
            changes = (
                atom not in initial if positive else (atom, True) not in effects and atom in initial
            )
            if changes and atom not in sources:
                lost[atom.predicate] = min(atom, lost.get(atom.predicate, atom))
    return lost


__all__ = [
    "AtomTable",
    "atom_of",
    "constant_atoms",
    "fact_sources",
    "goal_atoms",
    "lost_atoms",
    "type_atoms",
]
