"""The contract of Python policies, for planning tasks and models: which objects are policies, and valid answers.

A policy is a function of a state, or an object with some of these methods:

    act(state)            the decision: an operator or label, its name, its number, or None
    act_batch(states)     a decision for each of many states
    predict(observation, deterministic=True)    returns (action, anything), as agents of Stable-Baselines3 do
    values(state)         a number for each operator, to choose among some of them
    permitted(state)      the operators that it permits: the policy is set-valued
    probabilities(state)  the probability of each operator: the policy is stochastic
    plan(state)           a whole plan: the policy is a run policy

A factory makes one of these from the task: a class, a function with a first parameter called `task`, or any function to
which the spec gives arguments. A class with a constructor without parameters is called without the task.
docs/policies/python.md is the page for users.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from misstep.errors import InputFormatError, UsageError
from misstep.policies.home import Home
from misstep.raised import in_words
from misstep.stops import ends_work

METHODS = ("act", "act_batch", "predict", "permitted", "probabilities", "plan")
TAKES = (
    "a spec such as 'first', a function of a state, an object with "
    + ", ".join(METHODS[:-1])
    + " or plan, a class that makes one, or a policy"
)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass
class Roles:
    """The abilities of a user's object, by the methods that it has."""

    act: Callable[[Any], object] | None
    act_batch: Callable[[Any], object] | None
    values: Callable[[Any], Any] | None
    permitted: Callable[[Any], object] | None
    probabilities: Callable[[Any], object] | None
    plan: Callable[[Any], object] | None
    deterministic: bool = True
    batch_size: int | None = None
    files: tuple[str, ...] = ()


def is_policy_code(code: object) -> bool:
    return callable(code) or any(_can(code, name) for name in METHODS)


def _can(code: object, name: str) -> bool:
    try:
        return callable(getattr(code, name, None))
    except BaseException as error:
        if ends_work(error):
            raise
        return True  # it has the attribute; `roles_of` says what is wrong with it


def roles_of(made: Any, where: str) -> Roles:
    """The roles of a function or an object; a flag that is set to False switches its role off."""

    def own(name: str, default: object = None) -> Any:
        try:
            return getattr(made, name, default)
        except BaseException as error:  # of the user's property or `__getattr__`; also SystemExit
            if ends_work(error):
                raise
            raise InputFormatError(
                f"its attribute {name!r} raises {in_words(error)}", where=where
            ) from error

    def method(name: str, flag: str | None = None) -> Any:
        found = own(name)
        off = flag is not None and own(flag) is False
        return found if callable(found) and not off else None

    act, batch = method("act"), method("act_batch")
    if act is None and batch is None and method("predict"):
        act, batch = _predictions(made)
    roles = Roles(
        act,
        batch,
        method("values"),
        method("permitted", "set_valued"),
        method("probabilities", "stochastic"),
        method("plan", "plans"),
        deterministic=own("deterministic", True) is not False,
    )
    decides = (roles.act, roles.act_batch, roles.permitted, roles.probabilities, roles.plan)
    if not any(decides):
        if not callable(made):
            raise InputFormatError(f"{made!r:.60} is not a policy", where=where, expected=TAKES)
        roles.act = made
    size = own("batch_size")
    if isinstance(size, int) and not isinstance(size, bool) and size > 0:
        roles.batch_size = size
    named = own("files")
    if isinstance(named, (list, tuple)):
        roles.files = tuple(map(str, named))
    return roles


def _predictions(agent: Any) -> tuple[Callable[[Any], object], Callable[[Any], object]]:
    """`act` and `act_batch` for an agent that predicts actions from observations.

    An observation is the array of the state, or the result of `observe(state)`.
    """
    observe = getattr(agent, "observe", None)

    def predict(observation: Any) -> object:
        answer = agent.predict(observation, deterministic=True)
        return answer[0] if isinstance(answer, tuple) else answer

    def act(state: Any) -> object:
        return predict(observe(state) if callable(observe) else state.array)

    def act_batch(states: Any) -> object:
        if callable(observe):
            return predict(np.stack([observe(state) for state in states]))
        return predict(states.array)

    return act, act_batch


# -- factories ------------------------------------------------------------------------------------


def is_factory(code: Any, arguments: Mapping[str, str]) -> bool:
    """Whether this is a class, a function with a first parameter called `task`, or a function with arguments."""
    if inspect.isclass(code):
        return True
    if not inspect.isroutine(code):
        return False
    return bool(arguments) or next(iter(_parameters(code)), None) == "task"


def made_by(code: Any, task: object, arguments: Mapping[str, str], home: Home, where: str) -> Any:
    """The policy: the result of a factory, or else the object itself."""
    if not is_factory(code, arguments):
        if arguments:
            raise UsageError(
                f"{type(code).__name__} is not a factory, so it takes no arguments",
                where=where,
                expected="a class, or a function whose first parameter is called task",
            )
        return code
    shown = getattr(code, "__name__", type(code).__name__)
    given = _converted(code, arguments, where)
    try:
        with home:
            made = code(task, **given) if _takes_task(code) else code(**given)
    except BaseException as error:
        if ends_work(error):
            raise
        call = ", ".join([*(["task"] if _takes_task(code) else []), *given])
        text = " ".join(in_words(error).split())
        raise InputFormatError(
            f"{shown}({call}) raises {text}", where=home.place(error) or where
        ) from error
    if not is_policy_code(made):
        raise InputFormatError(
            f"{shown}(task) makes {made!r:.60}", where=where, expected="an object with act"
        )
    return made


def _parameters(code: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(code).parameters)
    except (TypeError, ValueError):  # of a builtin
        return {}


def _takes_task(code: Any) -> bool:
    """Whether to pass the task: not to a class without parameters, but to code with unknown parameters."""
    try:
        parameters = inspect.signature(code).parameters.values()
    except (TypeError, ValueError):
        return True
    first = next(iter(parameters), None)
    return first is not None and first.kind not in (first.KEYWORD_ONLY, first.VAR_KEYWORD)


def _converted(code: Any, arguments: Mapping[str, str], where: str) -> dict[str, object]:
    """Convert texts for the parameters: by annotation, by the type of the default, or by their form."""
    if not arguments:
        return {}
    parameters = _parameters(code)
    names = list(parameters)[1 if _takes_task(code) else 0 :]
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    given: dict[str, object] = {}
    for name, text in arguments.items():
        if name not in names and not takes_any:
            raise UsageError(
                f"{getattr(code, '__name__', code)} takes no argument {name!r}",
                where=where,
                expected="one of " + ", ".join(names) if names else "the task alone",
            )
        given[name] = _value(name, text, parameters.get(name), where)
    return given


def _value(name: str, text: str, parameter: inspect.Parameter | None, where: str) -> object:
    kind: object = None
    if parameter is not None:
        kind = parameter.annotation
        if kind is parameter.empty and parameter.default not in (parameter.empty, None):
            kind = type(parameter.default)
    for wanted in (bool, int, float):
        if kind in (wanted, wanted.__name__):
            try:
                return _TRUTHS[text.lower()] if wanted is bool else wanted(text)
            except (KeyError, ValueError):
                raise UsageError(
                    f"the argument {name} is {text!r}", where=where, expected=f"{wanted.__name__}"
                ) from None
    free = parameter is None or kind in (parameter.empty, None)
    if free and _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    return text


# -- answers --------------------------------------------------------------------------------------


def plain(answer: object) -> object:
    """Convert a numpy or torch scalar, or an array with a single element, to a plain number."""
    if answer is None or isinstance(answer, (str, int)):
        return answer
    array: Any = answer
    item = getattr(array, "item", None)
    dimensions = getattr(array, "ndim", None)
    if callable(item) and (dimensions == 0 or (dimensions == 1 and len(array) == 1)):
        found: object = item()
        return found
    return answer


def is_number(answer: object) -> bool:
    return isinstance(answer, int) and not isinstance(answer, bool)


def answers_of(choices: object, count: int) -> Sequence[object] | np.ndarray[Any, Any]:
    """The answer of `act_batch`, one decision per state: a list, a tuple, an array or a tensor."""
    if isinstance(choices, np.ndarray) or not hasattr(choices, "detach"):
        listed: Any = choices
    else:  # a tensor of torch, on whatever device
        listed = choices.detach().cpu().numpy()
    if isinstance(listed, np.ndarray) and listed.shape == (count, 1):
        listed = listed[:, 0]
    if isinstance(listed, str) or not isinstance(listed, (Sequence, np.ndarray)):
        raise TypeError(
            f"act_batch answered {choices!r:.60}, not a list with a decision for each state"
        )
    if getattr(listed, "ndim", 1) == 0 or len(listed) != count:
        given = 1 if getattr(listed, "ndim", 1) == 0 else len(listed)
        raise TypeError(f"act_batch answered {given} decisions to {count} states")
    return listed


def collection_of(answer: object, method: str) -> Collection[object]:
    """The answer of `permitted` or `plan`."""
    if hasattr(answer, "tolist"):
        answer = answer.tolist()
    if isinstance(answer, (str, Mapping)) or not isinstance(answer, Collection):
        raise TypeError(f"{method} answered {answer!r:.60}, not a collection of operators")
    return answer


def mapping_of(answer: object, method: str) -> Mapping[object, object]:
    if not isinstance(answer, Mapping):
        raise TypeError(f"{method} answered {answer!r:.60}, not a dictionary from operators")
    return answer


def distribution(pairs: Sequence[tuple[int, object]]) -> dict[int, float]:
    """Checked probabilities of operators or labels, without zeros, in increasing order."""
    found: dict[int, float] = {}
    for number, given in pairs:
        weight = plain(given)
        if not isinstance(weight, (int, float)) or isinstance(weight, bool) or not 0 <= weight <= 1:
            raise ValueError(f"a probability is {given!r:.40}, not a number from 0 to 1")
        if weight > 0:
            found[number] = found.get(number, 0.0) + float(weight)
    total = sum(found.values())
    if found and abs(total - 1) > 1e-6:
        raise ValueError(f"the probabilities add up to {total:g}, not to 1")
    return {number: found[number] for number in sorted(found)}


__all__ = [
    "TAKES",
    "Roles",
    "answers_of",
    "collection_of",
    "distribution",
    "is_factory",
    "is_number",
    "is_policy_code",
    "made_by",
    "mapping_of",
    "plain",
    "roles_of",
]
