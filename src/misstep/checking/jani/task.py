"""A model with its safety property: where runs start, what is unsafe, what is a goal.

The property is an expression with the operator `PA`: `start` (a list of states, or a condition), `reach` (what is
unsafe) and `objective.goal`. Without `start`, runs begin in the initial states of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

from misstep.checking.jani.declarations import Cells, Variable, flat
from misstep.checking.jani.documents import Documents, find_property
from misstep.checking.jani.errors import ModelError, UnsupportedModelError
from misstep.checking.jani.expressions import Function, condition
from misstep.checking.jani.model import Automaton, Model, State
from misstep.checking.jani.nodes import Node, items, member, optional, text
from misstep.checking.jani.operators import Scalar, Value
from misstep.checking.jani.steps import flat_cells
from misstep.checking.jani.types import Type, constant

Predicate = Callable[[State], bool]


class SafetyTask:
    """States are flat tuples in the order of `model.slots`; labels are numbered as in `labels`."""

    def __init__(
        self,
        document: Node,
        property_name: str | None = None,
        parameters: Mapping[str, Scalar] | None = None,
        *,
        out_of_bounds: str = "error",
        silent: str = "refuse",
        documents: Documents | None = None,
    ) -> None:
        try:
            self.model = Model(document, parameters, out_of_bounds=out_of_bounds, silent=silent)
            self.property = find_property(document, property_name, documents or Documents({}))
            self._unsafe = self.condition(member(self.property, "reach"))
            objective = optional(self.property, "objective")
            goal = optional(objective, "goal")
            self._goal = self.condition(False if goal is None else goal)
        except RecursionError:
            raise UnsupportedModelError("the model is nested too deeply for the checker") from None
        self._start: Predicate | None = None

    @classmethod
    def from_source(cls, source: Mapping[str, Node]) -> SafetyTask:
        """The task that was kept as its files and options."""
        files, path = member(source, "files"), text(source, "path")
        parameters, chosen = optional(source, "parameters") or {}, optional(source, "property")
        if not isinstance(files, Mapping) or not isinstance(parameters, Mapping):
            raise ModelError("the files or parameters of the model are damaged")
        if chosen is not None and not isinstance(chosen, str):
            raise ModelError(f"{chosen!r} is not a name of a property")
        for name, value in parameters.items():
            if not isinstance(value, (bool, int, float)):
                raise ModelError(f"the parameter {name!r} is {value!r}")
        documents = Documents(files)
        document = documents.read(path)
        return cls(
            document,
            chosen,
            parameters,
            out_of_bounds=text(source, "out_of_bounds"),
            silent=text(source, "silent"),
            documents=documents,
        )

    @property
    def labels(self) -> list[str]:
        return self.model.labels

    # States

    def read_state(self, values: object) -> State:
        """A state out of a file."""
        slots = self.model.slots
        if not isinstance(values, Sequence) or len(values) != len(slots):
            raise ModelError("this is not a state of the model", expected=f"{len(slots)} values")
        return tuple(slot.type.read(value) for slot, value in zip(slots, values, strict=True))

    def is_unsafe(self, state: State) -> bool:
        return bool(self._unsafe(state))

    def is_goal(self, state: State) -> bool:
        return bool(self._goal(state))

    def outcomes(self, state: State) -> dict[str, list[State]]:
        """The model's own labels, which may apply also in unsafe states and goals."""
        return self.model.outcomes(state)

    def is_start(self, state: State) -> bool:
        if self._start is None:
            start = optional(self.property, "start")
            self._start = self._starts() if start is None else self._described(start)
        return self._start(state)

    # Conditions

    def condition(self, node: Node) -> Function:
        """A `state-condition`, or an expression alone."""
        if optional(node, "op") != "state-condition":
            test, model = condition(node, self.model.property_scope()), self.model
            if not any(variable.transient for variable in model.variables):
                return test
            return lambda state: test(model.registers(tuple(state)))
        holds = self.condition(node["exp"]) if optional(node, "exp") is not None else None
        places = [(a.slot, where) for a, where in self.locations(node) if a.slot is not None]

        def value(state: Sequence[Scalar]) -> bool:
            here = all(state[slot] == where for slot, where in places)
            return here and (holds is None or bool(holds(state)))

        return value

    def locations(self, node: Node) -> list[tuple[Automaton, int]]:
        """The locations that a condition prescribes."""
        by_name = {automaton.name: automaton for automaton in self.model.automata}
        found = []
        for item in items(node, "locations"):
            name = text(item, "automaton")
            if name not in by_name:
                raise ModelError(f"there is no automaton {name!r} in the system")
            found.append((by_name[name], by_name[name].location(member(item, "location"))))
        return found

    # Start states

    def _starts(self) -> Predicate:
        """The initial states of the model itself."""
        model = self.model
        tests: list[Function] = []
        for node, owner in [(model.document, None), *((a.node, a.name) for a in model.automata)]:
            restriction = optional(node, "restrict-initial")
            if restriction is not None:
                tests.append(condition(restriction, model.scope(owner)))
        return lambda state: (
            self._in_initial_locations(state, model.automata)
            and all(s.initial in (None, v) for s, v in zip(model.slots, state, strict=True))
            and all(test(state) for test in tests)
        )

    def _described(self, start: Node) -> Predicate:
        """By a list, or by a condition.

        Locations that a condition does not name are initial ones, and a variable without bounds has its initial
        value.
        """
        if optional(start, "op") == "states-values":
            listed = set(self.listed_starts(start))
            return lambda state: state in listed
        test = self.condition(start)
        named = [automaton.name for automaton, _ in self.locations(start)]
        others = [a for a in self.model.automata if a.name not in named]
        fixed = [
            (i, slot.initial)
            for i, slot in enumerate(self.model.slots)
            if is_unbounded(slot.type) and slot.initial is not None
        ]
        return lambda state: (
            bool(test(state))
            and self._in_initial_locations(state, others)
            and all(state[i] == value for i, value in fixed)
        )

    @staticmethod
    def _in_initial_locations(state: State, automata: Sequence[Automaton]) -> bool:
        return all(automaton.here(state) in automaton.initial for automaton in automata)

    def listed_starts(self, start: Node) -> Iterator[State]:
        """The states of a list, in its order; an entry that leaves initial locations open stands for several."""
        for entry in items(start, "values"):
            choices: list[Sequence[Scalar | None]] = [[slot.initial] for slot in self.model.slots]
            given = {automaton.name: where for automaton, where in self.locations(entry)}
            for automaton in self.model.automata:
                if automaton.slot is not None:
                    where = given.get(automaton.name)
                    choices[automaton.slot] = automaton.initial if where is None else [where]
            for item in items(entry, "variables"):
                for cell, value in self._given(item):
                    choices[cell] = [value]
            for state in product(*choices):
                if None in state:
                    raise ModelError("a listed start state leaves a variable open")
                yield tuple(value for value in state if value is not None)

    def _given(self, item: Node) -> Iterator[tuple[int, Scalar]]:
        """The cells that an entry of a list gives a value, with the values."""
        variable = self._variable(text(item, "var"), optional(item, "automaton"))
        cells: Cells = self.model.cells[variable.name]
        kind, value, index = variable.type, member(item, "value"), optional(item, "index")
        if index is not None:
            if kind.dimensions != 1 or type(index) is not int or not isinstance(cells, tuple):
                raise ModelError(f"{variable.name!r} has no cell {index!r}")
            if not 0 <= index < len(cells):
                raise ModelError(f"{variable.name!r} has no cell {index!r}")
            kind, cells = Type(kind.base, kind.low, kind.high), cells[index]
        if isinstance(value, list):  # an array, cell by cell
            value = {"op": "av", "elements": value}
        found: Value = constant(value, self.model.scope(None), kind)
        yield from zip(flat_cells(cells), flat(found), strict=True)

    def _variable(self, name: str, owner: Node) -> Variable:
        by_name = {v.name: v for v in self.model.variables if not v.transient}
        found = by_name.get(f"{owner}.{name}", by_name.get(name))
        if found is None:
            raise ModelError(f"there is no variable {name!r}")
        return found


def is_unbounded(kind: Type) -> bool:
    return kind.base != "bool" and None in (kind.low, kind.high)


__all__ = ["SafetyTask", "State", "is_unbounded"]
