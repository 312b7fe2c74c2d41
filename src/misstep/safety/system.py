"""A transition system under a policy: native code, tables, or any Python object.

States and labels have the types of the model, which are parameters of all classes here: numbers for an explicit system,
tuples of values and names for a JANI model, any hashable objects for a model in Python. The native core uses ids;
`System` translates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from misstep import _core
from misstep.errors import UsageError
from misstep.policies.labels.policy import INAPPLICABLE

StateT = TypeVar("StateT", bound=Hashable)
LabelT = TypeVar("LabelT", bound=Hashable)
_StateT_contra = TypeVar("_StateT_contra", bound=Hashable, contravariant=True)
_LabelT_co = TypeVar("_LabelT_co", bound=Hashable, covariant=True)
Radius: TypeAlias = float  # a whole number, or infinity

DEAD_END = ("safe", "unsafe", "error")
ORDER = ("safest", "policy", "declared")
LARGEST = 2**30 - 1  # no strategy needs more deviations than there are states


@runtime_checkable
class Model(Protocol[StateT, LabelT]):
    """The methods of a transition system in Python.

    Optional: `initial_states()`, where fuzzing starts; `distance(state)`, 0 if and only if the state is unsafe,
    which guides it; `policy(state)`, if no other policy is given.
    """

    def applicable(self, state: StateT, /) -> Iterable[LabelT]: ...
    def outcomes(self, state: StateT, label: LabelT, /) -> Iterable[StateT]: ...
    def is_goal(self, state: StateT, /) -> object: ...  # as `if` takes it
    def is_unsafe(self, state: StateT, /) -> object: ...


class PolicyObject(Protocol[_StateT_contra, _LabelT_co]):
    """A policy with more than a function. Optional: `values(state)`, a mapping from labels to numbers, and
    `act_batch(states)`, which answers for many states at once."""

    def act(self, state: _StateT_contra, /) -> _LabelT_co | None: ...


AnyPolicy: TypeAlias = (
    _core.LabelPolicy
    | PolicyObject[StateT, LabelT]
    | Callable[[StateT], LabelT | None]
    | Mapping[StateT, LabelT | None]
    | str
)


class System(Generic[StateT, LabelT]):
    """A transition system with a policy. Everything about a state is computed once and remembered.

    `policy` is a native policy, a function from states to labels, an object with `act`, a mapping, or "first" (the
    first label that applies). `dead_end` says what states without a label count as; `inapplicable` what to do
    where the policy names no label that applies: take the best-valued one that does (`filter`; an error without
    values), end its run there (`stop_safe`), or an error. `order` is the order in which deciders try labels, which
    no verdict depends on: as the policy ranks them, as declared, or (`safest`) as the policy ranks them within a
    radius and without one those first whose worst outcome is farthest from being unsafe.
    """

    def __init__(
        self,
        model: _core.Transitions[StateT, LabelT] | Model[StateT, LabelT],
        policy: AnyPolicy[StateT, LabelT] | None = None,
        *,
        initial: Iterable[StateT] | None = None,
        dead_end: str = "safe",
        inapplicable: str = "filter",
        order: str = "safest",
    ) -> None:
        for name, value, choices in (
            ("dead_end", dead_end, DEAD_END),
            ("inapplicable", inapplicable, INAPPLICABLE),
            ("order", order, ORDER),
        ):
            if value not in choices:
                raise UsageError(f"{name} is {value!r}", expected=", ".join(choices))
        self.transitions: _core.Transitions[StateT, LabelT] = _transitions(model, initial)
        if policy is None and not isinstance(model, _core.Transitions):
            policy = getattr(model, "policy", None)
        self.policy = None if policy is None else native_policy(policy, self.transitions)
        self.dead_end = dead_end
        self._rules = (dead_end, inapplicable, order)
        self.native = _core.SafetySystem(self.transitions, self.policy, *self._rules)

    def with_policy(self, policy: AnyPolicy[StateT, LabelT]) -> System[StateT, LabelT]:
        """Another policy on the same states."""
        other: System[StateT, LabelT] = object.__new__(System)
        other.transitions = self.transitions
        other.policy = native_policy(policy, self.transitions)
        other.dead_end = self.dead_end
        other._rules = self._rules
        other.native = _core.SafetySystem(other.transitions, other.policy, *other._rules)
        return other

    def id(self, state: StateT) -> int:
        try:
            return self.transitions.id(state)
        except (IndexError, TypeError) as error:
            raise UsageError(f"{state!r} is not a state of this system") from error

    def state(self, id: int) -> StateT:
        return self.transitions.state(id)

    def label(self, id: int) -> LabelT:
        return self.transitions.label(id)

    def label_id(self, label: LabelT) -> int:
        try:
            return self.transitions.label_id(label)
        except (IndexError, TypeError) as error:
            raise UsageError(f"{label!r} is not a label of this system") from error

    def states(self, ids: Iterable[int]) -> tuple[StateT, ...]:
        return tuple(map(self.transitions.state, ids))

    def labels(self, ids: Iterable[int]) -> tuple[LabelT, ...]:
        return tuple(map(self.transitions.label, ids))


def native_policy(
    policy: AnyPolicy[StateT, LabelT], transitions: _core.Transitions[StateT, LabelT]
) -> _core.LabelPolicy:
    if isinstance(policy, _core.LabelPolicy):
        return policy
    if policy == "first":
        return _core.FirstLabel()
    over_ids = _PolicyOverIds(policy, transitions)
    return _core.PythonLabelPolicy(
        over_ids.act,
        over_ids.values if hasattr(over_ids.policy, "values") else None,
        over_ids.act_batch if hasattr(over_ids.policy, "act_batch") else None,
    )


class _PolicyOverIds(Generic[StateT, LabelT]):
    """Translates between a policy in Python, which knows states and labels, and the core, which knows ids."""

    def __init__(
        self, policy: AnyPolicy[StateT, LabelT], transitions: _core.Transitions[StateT, LabelT]
    ) -> None:
        self.policy: Any = policy if hasattr(policy, "act") else None  # the one with extras
        self.transitions = transitions
        if hasattr(policy, "act"):
            self._act: Callable[[StateT], LabelT | None] = policy.act
        elif isinstance(policy, Mapping):
            self._act = policy.get
        elif callable(policy):
            self._act = policy
        else:
            raise UsageError(
                f"{policy!r} is not a policy", expected="a function from states to labels"
            )

    def act(self, id: int) -> int | None:
        return self._label_id(self._act(self.transitions.state(id)))

    def act_batch(self, ids: list[int]) -> list[int | None]:
        states = [self.transitions.state(id) for id in ids]
        return [self._label_id(label) for label in self.policy.act_batch(states)]

    def values(self, id: int, labels: list[int]) -> list[float]:
        values: Mapping[LabelT, float] = self.policy.values(self.transitions.state(id))
        return [values.get(self.transitions.label(label), -math.inf) for label in labels]

    def _label_id(self, label: LabelT | None) -> int | None:
        return None if label is None else self.transitions.label_id(label)


def _transitions(
    model: _core.Transitions[StateT, LabelT] | Model[StateT, LabelT],
    initial: Iterable[StateT] | None,
) -> _core.Transitions[StateT, LabelT]:
    if isinstance(model, _core.Transitions):
        if initial is not None:
            raise UsageError("a native model has initial states of its own")
        return model
    if not isinstance(model, Model):
        raise UsageError(
            f"{type(model).__name__} is not a transition system",
            expected="an object with applicable, outcomes, is_goal and is_unsafe",
        )
    if initial is None:
        sampled: Callable[[], Iterable[StateT]] = getattr(model, "initial_states", tuple)
        initial = sampled()
    return _core.PythonTransitions(model, initial)


def native_radius(radius: Radius | None) -> int | None:
    """As the core takes it: None is without bound."""
    if radius is None or radius == math.inf:
        return None
    if isinstance(radius, bool) or radius != radius or radius < 0 or radius != int(radius):
        raise UsageError(f"the radius is {radius!r}", expected="0, 1, 2, ... or infinity")
    return min(int(radius), LARGEST)


__all__ = [
    "INAPPLICABLE",
    "AnyPolicy",
    "LabelT",
    "Model",
    "Radius",
    "StateT",
    "System",
    "native_radius",
]
