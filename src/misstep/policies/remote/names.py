"""Matches the server's task with ours: variables, values and operators by name.

Translators may order them differently, and the names of variables mean nothing, so a variable is
identified by the atoms of its values. The server may have dropped variables that do not matter for
the goal: it need not know all of ours, but ours must include all of its variables, and the goals
must be the same. A task that merely looks similar must not pass.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from misstep.errors import InputFormatError, UsageError
from misstep.policies.policy import States
from misstep.tasks.task import State, Task

_NONE = ""  # no atom of the variable is true


class Matching:
    """Translates states to the server's task and operators back to ours."""

    def __init__(self, ours: Task, server: Task, where: str) -> None:
        self._ours, self._server, self._where = ours, server, where
        # For each variable of the server: which of ours it is, and our value -> its value.
        self._sources: list[int] = []
        self._tables: list[NDArray[np.int32]] = []
        self._match_variables()
        self._match_goals()
        # For each operator of the server, our operators of that name: several if they differ in what it does not see.
        self.operators = self._match_operators()

    def states(self, states: States) -> States:
        """The states in the server's variables."""
        result = np.empty((len(states), len(self._sources)), dtype=np.int32)
        for variable, (source, table) in enumerate(zip(self._sources, self._tables, strict=True)):
            result[:, variable] = table[states[:, source]]
        return result

    def _refuse(self, what: str) -> InputFormatError:
        return InputFormatError(
            what,
            where=self._where,
            expected=f"the task {self._ours.name}",
            hint="start the server with the same domain and problem",
        )

    def _match_variables(self) -> None:
        by_atoms: dict[frozenset[str], list[int]] = defaultdict(list)
        for variable in reversed(range(self._ours.variable_count)):
            by_atoms[frozenset(_atoms(self._ours, variable))].append(variable)
        for variable in range(self._server.variable_count):
            atoms = _atoms(self._server, variable)
            fitting = by_atoms[frozenset(atoms)]
            if not fitting:
                raise self._refuse(self._strange_variable(variable, atoms))
            source = fitting.pop()
            values = {atom: value for value, atom in enumerate(atoms)}
            self._sources.append(source)
            table = [values[atom] for atom in _atoms(self._ours, source)]
            self._tables.append(np.array(table, dtype=np.int32))

    def _strange_variable(self, variable: int, atoms: list[str]) -> str:
        known = {a for v in range(self._ours.variable_count) for a in _atoms(self._ours, v)}
        names = self._server.value_names(variable)
        for atom, name in zip(atoms, names, strict=True):
            if atom not in known:
                return f"the server's task has {name}, ours has not"
        return f"no variable of ours has the same values as the server's with {names[0]}"

    def _match_goals(self) -> None:
        ours = {_atoms(self._ours, v)[x]: self._ours.value_names(v)[x] for v, x in self._ours.goal}
        server = {
            _atoms(self._server, v)[x]: self._server.value_names(v)[x] for v, x in self._server.goal
        }
        for atom in ours.keys() - server.keys():
            raise self._refuse(f"the goal {ours[atom]} of ours is none of the server's")
        for atom in server.keys() - ours.keys():
            raise self._refuse(f"the goal {server[atom]} of the server is none of ours")

    def operator(self, op: int, state: State) -> int:
        """Our operator that corresponds to the server's, in one of our states."""
        return self._ours.first_applicable(self.operators[op], state)

    def _match_operators(self) -> list[tuple[int, ...]]:
        result = []
        for op, name in enumerate(self._server.operator_names):
            try:
                fitting = self._ours.operators_named(name)
            except UsageError:
                problem = f"the server's task has operator ({name}), ours has not"
                raise self._refuse(problem) from None
            result.append(fitting if len(fitting) == 1 else self._same(op, fitting))
        self._check_unknown({op for fitting in result for op in fitting})
        return result

    def _same(self, op: int, fitting: tuple[int, ...]) -> tuple[int, ...]:
        """Our operators of one name that have the preconditions which the server sees; all of that name if none has."""
        wanted = set(self._server.preconditions(op))
        position = {source: variable for variable, source in enumerate(self._sources)}
        same = []
        for candidate in fitting:
            facts = {
                (position[v], int(self._tables[position[v]][x]))
                for v, x in self._ours.preconditions(candidate)
                if v in position
            }
            if facts == wanted:
                same.append(candidate)
        return tuple(same) or fitting

    def _check_unknown(self, known: set[int]) -> None:
        """Checks that an operator unknown to the server changes only what the server does not see."""
        seen = set(self._sources)
        for op in sorted(set(range(self._ours.operator_count)) - known):
            if any(variable in seen for _, variable, _ in self._ours.effects(op)):
                name = self._ours.operator_name(op)
                raise self._refuse(f"the server's task has no operator ({name})")


def _atoms(task: Task, variable: int) -> list[str]:
    """The values of a variable in a common spelling: an atom, or that none is true."""
    return [
        "".join(name[5:].lower().split()) if name.startswith("Atom ") else _NONE
        for name in task.value_names(variable)
    ]


__all__ = ["Matching"]
