"""A planning task: the native FDR task with its names, its lifted view and its identity."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from misstep._core import State
from misstep._core import Task as CoreTask
from misstep.errors import InputFormatError, UnsupportedError, UsageError
from misstep.tasks.pddl.names import NONE_OF_THOSE

if TYPE_CHECKING:
    from misstep.tasks.pddl.lifted import LiftedTask
    from misstep.tasks.pddl.text import Source
    from misstep.tasks.state_view import Vocabulary


class Task(CoreTask):
    """Variables, operators, initial state and goal of a planning task.

    States are `State` values; operators are numbered from 0 in the order of the SAS file. Methods that end in `_batch`
    take and return numpy arrays with one state per row.
    """

    world: ClassVar[Literal["planning"]] = "planning"

    def __init__(
        self,
        sas: bytes,
        *,
        name: str = "task",
        pddl: tuple[Source, Source] | None = None,
    ) -> None:
        try:
            sas.decode()
        except UnicodeDecodeError as error:
            line = sas.count(b"\n", 0, error.start) + 1
            raise InputFormatError(
                "not UTF-8 text", where=f"line {line}", expected="a SAS file"
            ) from None
        super().__init__(sas)
        self.sas = sas
        self.name = name
        # Keep the text, not only its path: the files may change or disappear while the task is in use.
        self.pddl = pddl

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.sas, self.name, self.pddl)

    def __repr__(self) -> str:
        return (
            f"<Task {self.name}: {self.variable_count} variables, {self.operator_count} operators>"
        )

    @property
    def source(self) -> dict[str, Any]:
        """Everything that `rebuild_task` needs: the content of the files, not only their paths."""
        files = {"task.sas": self.sas}
        source: dict[str, Any] = {"world": self.world, "name": self.name, "files": files}
        if self.pddl is not None:
            domain, problem = self.pddl
            files |= {"domain": domain.content, "problem": problem.content}
            source["paths"] = {"domain": domain.path, "problem": problem.path}
        return source

    @cached_property
    def digest(self) -> str:
        """Identifies the task: the SHA-256 of its SAS file."""
        return hashlib.sha256(self.sas).hexdigest()

    @cached_property
    def lifted(self) -> LiftedTask:
        """Schemas, predicates, types, objects and static facts, read from the PDDL files."""
        from misstep.tasks.pddl.lifted import lift

        if self.pddl is None:
            raise UnsupportedError(
                "a SAS file has no schemas and predicates",
                where=self.name,
                hint="load the task from its PDDL files",
            )
        return lift(*self.pddl)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The names of facts, goals, objects and operators, for views of states."""
        from misstep.tasks.state_view import Vocabulary

        return Vocabulary(self)

    # -- names ------------------------------------------------------------------------------------

    @cached_property
    def operator_names(self) -> tuple[str, ...]:
        return tuple(self.operator_name(op) for op in range(self.operator_count))

    @cached_property
    def _operators_by_name(self) -> dict[str, tuple[int, ...]]:
        by_name: dict[str, list[int]] = {}
        for op, name in enumerate(self.operator_names):
            by_name.setdefault(_key(name), []).append(op)
        return {name: tuple(operators) for name, operators in by_name.items()}

    def operators_named(self, name: str) -> tuple[int, ...]:
        """The operators of that name, written with or without parentheses.

        Operators are identified by numbers. Names are for people and need not be unique: a disjunctive precondition
        gives several operators with the same name.
        """
        operators = self._operators_by_name.get(_key(name))
        if operators is None:
            raise UsageError(
                f"the task has no operator ({_key(name)})",
                where=self.name,
                hint="operators that can never be applied are not part of a translated task",
            )
        return operators

    def resolve(self, name: str, state: State) -> int:
        """The operator for a name in a state: the first operator of that name that applies there.

        If none applies, it is the first of that name, so that the run ends as inapplicable.
        """
        return self.first_applicable(self.operators_named(name), state)

    def first_applicable(self, operators: Sequence[int], state: State) -> int:
        """The first of the operators that applies in the state, or the first of all if none does."""
        if len(operators) == 1:
            return operators[0]
        values = state.values
        for op in operators:
            if all(values[variable] == value for variable, value in self.preconditions(op)):
                return op
        return operators[0]

    @cached_property
    def fact_names(self) -> tuple[tuple[str, ...], ...]:
        """Names of the values of each variable."""
        return tuple(tuple(self.value_names(v)) for v in range(self.variable_count))

    @cached_property
    def fact_counts(self) -> tuple[int, ...]:
        """The number of values of each variable."""
        return tuple(map(len, self.fact_names))

    @cached_property
    def atom_names(self) -> tuple[tuple[str | None, ...], ...]:
        """The atom that each value of each variable makes true, if any."""
        return tuple(
            tuple(
                name.removeprefix("Atom ") if name.startswith("Atom ") else None for name in names
            )
            for names in self.fact_names
        )

    def facts(self, state: State) -> list[str]:
        """The atoms that are true in the state, such as `on(a, b)`."""
        atoms = self.atom_names
        found = [atoms[v][value] for v, value in enumerate(state.values)]
        return [atom for atom in found if atom is not None]

    def parse_state(self, text: str) -> State:
        """Parse a state from numbers (`0 3 1`) or from the atoms that are true in it (`on(a, b), clear(a)`)."""
        if not isinstance(text, str):
            raise UsageError(f"the state is {text!r:.80}", expected="text")
        if re.fullmatch(r"[\d\s,]+", text):
            try:
                state = State.parse(" ".join(text.split()))
                self.is_goal(state)  # checks the length and the values
            except ValueError as error:
                raise InputFormatError(str(error), where=f"state {text[:60]!r}") from None
            return state
        return self._state_of_atoms({_spelling(atom) for atom in _ATOM.findall(text)}, text)

    def _state_of_atoms(self, atoms: set[str], text: str) -> State:
        values = []
        for v, names in enumerate(self.fact_names):
            chosen = [
                i
                for i, name in enumerate(names)
                if name.startswith("Atom ") and _spelling(name[5:]) in atoms
            ]
            if not chosen:  # no atom of this variable is true
                chosen = [
                    i
                    for i, name in enumerate(names)
                    if name == NONE_OF_THOSE or name.startswith("Neg")
                ]
            if len(chosen) != 1:
                raise InputFormatError(
                    f"{len(chosen) or 'none'} of the values of variable {v} are in the state",
                    where=f"state {text[:60]!r}",
                    expected="one of " + ", ".join(names[:6]),
                )
            values.append(chosen[0])
            atoms -= {_spelling(names[chosen[0]][5:])}
        if atoms:
            raise InputFormatError(
                f"the task has no variable atom {sorted(atoms)[0]}", where=f"state {text[:60]!r}"
            )
        return State(values)


_ATOM = re.compile(r"(?<![^\s(),])[^\s(),]+\s*\([^()]*\)")


def _key(name: str) -> str:
    """An operator name in a normal form, without differences in parentheses, case and blanks."""
    return " ".join(name.strip().strip("()").lower().split())


def _spelling(atom: str) -> str:
    return re.sub(r"\s+", "", atom).lower()


def _rebuild(sas: bytes, name: str, pddl: tuple[Source, Source] | None) -> Task:
    return Task(sas, name=name, pddl=pddl)


__all__ = ["State", "Task"]
