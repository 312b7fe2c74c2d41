"""Which atoms of a PDDL task the states of its translation speak of, and which are the same in every state.

The translator leaves atoms out of the variables that never change: those of static predicates, and others that no
reachable operator touches (the cell that is visited from the start). The initial state says which of them hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from misstep.tasks.pddl.lifted import Atom, LiftedTask
from misstep.tasks.pddl.names import parse_fact_name, parse_operator_name
from misstep.tasks.task import Task


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
    """The atoms that hold in every state and are none of the ground task."""
    return [atom for atom in task.lifted.init if atom not in sources]


def type_atoms(lifted: LiftedTask, wanted: Collection[str]) -> Iterator[Atom]:
    """Types as unary atoms: an object belongs to its type and to all supertypes."""
    for named in lifted.objects:
        for kind in named.types:
            for name in lifted.supertypes(kind):
                if name in wanted:
                    yield Atom(name, (named.name,))


def lost_atoms(task: Task, sources: Mapping[Atom, tuple[int, int]]) -> dict[str, Atom]:
    """For each predicate that has one, an atom that operators change although no variable says so.

    There are such atoms if the translator was allowed to drop variables that do not matter for the goal. Schemas with
    conditional or quantified effects are not looked at.
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
            # What is deleted and added at once stays true.
            changes = (
                atom not in initial if positive else (atom, True) not in effects and atom in initial
            )
            if changes and atom not in sources:
                lost[atom.predicate] = min(atom, lost.get(atom.predicate, atom))
    return lost


__all__ = ["atom_of", "constant_atoms", "fact_sources", "lost_atoms", "type_atoms"]
