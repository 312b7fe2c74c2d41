"""A state of a model as a user's policy reads it: a dictionary from variables to values that knows its model.

It is a real dictionary, so that `state["x"]`, `state.items()` and `json.dumps(state)` work. `state.values()` is
therefore the method of dictionaries; the values as a tuple are `state.state`. docs/states.md is the reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from misstep._core import JaniEngine
from misstep.errors import UsageError
from misstep.tasks.jani.property import State

if TYPE_CHECKING:
    from misstep.tasks.jani.task import JaniTask


@dataclass(frozen=True, slots=True)
class Label:
    """A label, as a policy for a model chooses it."""

    number: int
    name: str

    def __str__(self) -> str:
        return self.name


class ModelStateView(dict[str, Any]):
    """The value of each variable by its name; docs/states.md describes each attribute."""

    __slots__ = ("__dict__", "_engine", "_id", "task")

    def __init__(self, state: State, task: JaniTask, engine: JaniEngine | None = None) -> None:
        self.task = task
        self._engine = task.reader if engine is None else engine
        self._id = self._engine.intern(state)
        super().__init__(zip(task.variable_names, self._engine.values(self._id), strict=True))

    @classmethod
    def of_id(cls, id: int, task: JaniTask, engine: JaniEngine) -> ModelStateView:
        """The state that an engine knows by a number."""
        view = cls.__new__(cls)
        view.task, view._engine, view._id = task, engine, id
        view.update(zip(task.variable_names, engine.values(id), strict=True))
        return view

    @property
    def state(self) -> State:
        """The values, in the order of the model's variables."""
        return self._engine.values(self._id)

    @cached_property
    def _known(self) -> int:
        """The number of this state in the engine for views."""
        return self.task.reader.intern(self.state)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of the applicable labels."""
        return tuple(self.task.labels[label] for label in self.task.reader.applicable(self._known))

    @cached_property
    def actions(self) -> tuple[Label, ...]:
        """The applicable labels, with their numbers."""
        applicable = self.task.reader.applicable(self._known)
        return tuple(Label(label, self.task.labels[label]) for label in applicable)

    def after(self, label: str | int | Label) -> list[ModelStateView]:
        """The states that may come next; none if the label does not apply."""
        if isinstance(label, Label):
            number = label.number
        else:
            number = self.task.label_id(label) if isinstance(label, str) else int(label)
        if not 0 <= number < len(self.task.labels):
            raise UsageError(f"the model has no label {number}", where=self.task.name)
        reader = self.task.reader
        ids = reader.outcomes(self._known, number)
        return [ModelStateView.of_id(id, self.task, reader) for id in ids]

    def successors(self) -> list[tuple[Label, list[ModelStateView]]]:
        """Each applicable label, and the states that may come next."""
        return [(label, self.after(label)) for label in self.actions]

    @property
    def array(self) -> NDArray[np.float64]:
        """The values as numbers, in the order of the model's variables."""
        row: NDArray[np.float64] = self._engine.matrix([self._id])[0]
        return row

    @property
    def mask(self) -> NDArray[np.bool_]:
        """For each label of the model whether it applies."""
        found = np.zeros(len(self.task.labels), dtype=np.bool_)
        found[self.task.reader.applicable(self._known)] = True
        return found

    @property
    def is_goal(self) -> bool:
        return self._engine.is_goal(self._id)

    @property
    def is_unsafe(self) -> bool:
        return self._engine.is_unsafe(self._id)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self.state)

    def __reduce__(self) -> tuple[Any, ...]:
        return ModelStateView, (self.state, self.task)

    def __str__(self) -> str:
        return self._engine.text(self._id)

    def __repr__(self) -> str:
        return f"<ModelStateView {self}>"


class ModelStateBatch(Sequence[ModelStateView]):
    """Many states of one model: a sequence of views, which are made on access, and one array."""

    def __init__(self, ids: Sequence[int], task: JaniTask, engine: JaniEngine) -> None:
        self._ids = list(ids)
        self.task = task
        self._engine = engine
        self._views: list[ModelStateView | None] = [None] * len(self._ids)

    @property
    def array(self) -> NDArray[np.float64]:
        """One row per state and one column per variable."""
        return self._engine.matrix(self._ids)

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Whether each label applies: one row per state and one column per label."""
        return np.array([view.mask for view in self]).reshape(len(self), len(self.task.labels))

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> ModelStateView: ...
    @overload
    def __getitem__(self, index: slice) -> ModelStateBatch: ...
    def __getitem__(self, index: int | slice) -> ModelStateView | ModelStateBatch:
        if isinstance(index, slice):
            return ModelStateBatch(self._ids[index], self.task, self._engine)
        view = self._views[index]
        if view is None:
            view = ModelStateView.of_id(self._ids[index], self.task, self._engine)
            self._views[index] = view
        return view

    def __repr__(self) -> str:
        return f"<ModelStateBatch of {len(self)} states of {self.task.name}>"


__all__ = ["Label", "ModelStateBatch", "ModelStateView"]
