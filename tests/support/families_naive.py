"""The naive twin of conditions: read off the atoms by their definitions, object by object, with names for objects."""

from __future__ import annotations

from itertools import product

from misstep.comparison.families.conditions import (
    Argument,
    Condition,
    Effect,
    Objects,
    OpenGoals,
    Plain,
    Possible,
    Property,
)
from misstep.tasks.pddl.atoms import AtomTable
from misstep.tasks.pddl.lifted import Atom
from misstep.tasks.task import State, Task


class NaiveConditions:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.lifted = task.lifted
        self.table = AtomTable(task)
        self.goal = {literal.atom for literal in self.lifted.goal}
        self.names = [named.name for named in self.lifted.objects]

    def kinds(self, thing: str) -> set[str]:
        own = next(named for named in self.lifted.objects if named.name == thing)
        return {above for kind in own.types for above in self.lifted.supertypes(kind)}

    def has(self, thing: str, own: Property, arguments: list[str], true: set[Atom]) -> bool:
        if own.kind == "status":
            mine = [atom for atom in self.goal if atom.terms and atom.terms[0] == thing]
            missed = [atom for atom in mine if atom not in true]
            return {"open": bool(missed), "done": bool(mine) and not missed, "none": not mine}[
                own.name
            ]
        among = self.goal if own.kind == "goal" else true
        fixed = {place: arguments[argument] for place, argument in own.fixed}
        choices = [
            [thing] if k == own.place else [fixed[k]] if k in fixed else self.names
            for k in range(own.arity)
        ]
        return any(Atom(own.name, terms) in among for terms in product(*choices))

    def holds(self, own: Condition, state: State, operator: int | None) -> bool:
        true = set(self.table.true(state.values))
        arguments = [] if operator is None else self.task.operator_name(operator).split()[1:]
        if isinstance(own, Argument):
            return self.has(arguments[own.argument], own.own, arguments, true)
        if isinstance(own, Objects):
            found = [
                thing
                for thing in self.names
                if thing not in arguments
                and own.kind in self.kinds(thing)
                and all(self.has(thing, one, arguments, true) for one in own.own)
            ]
            return len(found) >= own.at_least
        if isinstance(own, Plain):
            return Atom(own.name, ()) in true
        if isinstance(own, OpenGoals):
            return len(self.goal - true) >= own.at_least
        if isinstance(own, Effect):
            assert operator is not None
            after = set(self.table.true(self.task.apply(state, operator).values))
            before, later = self.goal & true, self.goal & after
            return bool(before - later) if own.undoes else bool(later - before)
        assert isinstance(own, Possible)
        price = 0 if operator is None else self.task.cost(operator)
        return any(
            self.fits(own, state, op, arguments, true, price) for op in self.task.applicable(state)
        )

    def fits(
        self,
        own: Possible,
        state: State,
        op: int,
        arguments: list[str],
        true: set[Atom],
        price: int,
    ) -> bool:
        schema, *mine = self.task.operator_name(op).split()
        if schema != own.schema or any(mine[j] != arguments[i] for j, i in own.same):
            return False
        if not all(self.has(mine[j], one, arguments, true) for j, one in own.own):
            return False
        if own.wanted is not None:
            name, places = own.wanted
            if Atom(name, tuple(mine[j] for j in places)) not in self.goal:
                return False
        if own.cheaper and self.task.cost(op) >= price:
            return False
        after = set(self.table.true(self.task.apply(state, op).values))
        return not own.reaches or bool(self.goal & after - true)


__all__ = ["NaiveConditions"]
