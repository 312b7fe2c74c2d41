"""Planning tasks as the Fast Downward translator writes them: SAS files, version 3.

The meaning of numbers where the format is ambiguous, checked against Fast Downward:

* An effect line is `n cond_1 ... cond_n var pre post`. `pre` is a precondition of the *operator*,
  also when the effect is conditional: Fast Downward's search moves every `pre` other than -1
  into the operator's preconditions. The translator fills `pre` from the action's precondition
  and then leaves that fact out of the prevail conditions, so reading it as a condition of
  the effect alone would let inapplicable operators through.
* An operator may list a precondition more than once (several effects on one variable repeat
  their `pre`), but a variable with two different required values is refused.
* Operators may have no effect at all (translator option `--keep-no-ops`).
* With metric 0 every operator costs 1, whatever its cost line says.

The reader is strict, because a checker that guesses at a damaged file checks some other task.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from misstep.checking.files import read_text
from misstep.errors import InputFormatError

Fact = tuple[int, int]
"""A variable and one of its values."""

State = tuple[int, ...]
"""One value for each variable."""

VERSION = 3
_LARGEST = 2**31 - 1  # Fast Downward reads every number into an int.
_LARGEST_COST = 2**30 - 1  # what the search engine can add up
# int() alone would also accept 1_0, +1 and digits of other scripts. Zeros in front are allowed, blanks are not.
_NUMBERS = re.compile(r"-?[0-9]+(?: +-?[0-9]+)*")
_TOO_LONG = re.compile(r"(?<![0-9])0*[1-9][0-9]{10}")
# Of a line of numbers: each of them takes thirty times its two bytes in memory.
_LONGEST_LINE = 2**22
# What the format takes for blanks: at the end of a line, and within names. Python knows many more.
_BLANK_ENDS = " \r"
_BLANKS = re.compile(r"[ \t\r]+")
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    axiom_layer: int
    """-1 for the variables operators change; derived variables have a layer of 0 or more."""
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Effect:
    conditions: tuple[Fact, ...]
    var: int
    pre: int
    """A precondition of the whole operator on `var`, or -1 for none."""
    post: int


@dataclass(frozen=True, slots=True)
class Operator:
    name: str
    prevail: tuple[Fact, ...]
    effects: tuple[Effect, ...]
    cost: int
    """The cost of applying it: 1 if the task has no metric, else the number in the file."""

    def preconditions(self) -> tuple[Fact, ...]:
        """Everything that must hold before, each fact once, in the order of the file."""
        pre = [(effect.var, effect.pre) for effect in self.effects if effect.pre != -1]
        return tuple(dict.fromkeys([*self.prevail, *pre]))


@dataclass(frozen=True, slots=True)
class Axiom:
    conditions: tuple[Fact, ...]
    var: int
    pre: int
    post: int


@dataclass(frozen=True, slots=True)
class SasTask:
    metric: bool
    variables: tuple[Variable, ...]
    mutex_groups: tuple[tuple[Fact, ...], ...]
    initial_state: State
    goal: tuple[Fact, ...]
    operators: tuple[Operator, ...]
    axioms: tuple[Axiom, ...]

    def value_name(self, fact: Fact) -> str:
        var, value = fact
        return self.variables[var].values[value]


def read_sas(path: str | os.PathLike[str]) -> SasTask:
    return parse_sas(read_text(path), os.fspath(path))


def parse_sas(text: str, source: str = "<sas>") -> SasTask:
    """The task in `text`; errors name `source` and the line."""
    return _Reader(text, source).task()


class _Reader:
    """Reads line by line; `_line` counts the lines read, so it is the number of the last one."""

    def __init__(self, text: str, source: str) -> None:
        # Not splitlines(): that also splits at characters that may be part of a name.
        self._lines = text.split("\n")
        if not self._lines[-1]:
            del self._lines[-1]  # what follows the last newline is not a line
        self._source = source
        self._line = 0
        self._variables: list[Variable] = []

    # Lines and numbers

    def _fail(self, what: str, expected: str, line: int | None = None) -> NoReturn:
        where = f"{self._source}:{self._line if line is None else line}"
        raise InputFormatError(what, where=where, expected=expected)

    def _next(self, expected: str) -> str:
        if self._line == len(self._lines):
            self._fail("the file ends too early", expected, self._line + 1)
        line = self._lines[self._line]
        self._line += 1
        return line

    def _marker(self, marker: str) -> None:
        line = self._next(marker)
        if line.rstrip(_BLANK_ENDS) != marker:
            self._fail(f"found {_quote(line)}", marker)

    def _text(self, what: str) -> str:
        # The translator writes a trailing space after the name of an action without parameters.
        line = _BLANKS.sub(" ", self._next(what)).strip(" ")
        if not line:
            self._fail("found an empty line", what)
        return line

    def _numbers(self, what: str) -> list[int]:
        line = self._next(what).rstrip(_BLANK_ENDS)
        if len(line) > _LONGEST_LINE:
            self._fail(f"found a line of {len(line)} characters", what)
        if _NUMBERS.fullmatch(line) is None or _TOO_LONG.search(line) is not None:
            self._fail(f"found {_quote(line)}", what)
        # Without the zeros in front, which may be thousands, more than int() takes.
        numbers = [int(re.sub("^(-?)0+(?=[0-9])", r"\1", token)) for token in line.split()]
        if max(numbers) > _LARGEST:
            self._fail(f"{max(numbers)} is too large", f"{what}, up to {_LARGEST}")
        return numbers

    def _number(self, what: str, least: int = 0, most: int = _LARGEST) -> int:
        numbers = self._numbers(what)
        if len(numbers) != 1:
            self._fail(f"found {len(numbers)} numbers", what)
        if not least <= numbers[0] <= most:
            bounds = f"at least {least}" if most == _LARGEST else f"{least} to {most}"
            self._fail(f"{numbers[0]} is out of range", f"{what} ({bounds})")
        return numbers[0]

    def _repeat(self, what: str, read: Callable[[], _Item]) -> tuple[_Item, ...]:
        count = self._number(f"the number of {what}")
        return tuple(read() for _ in range(count))

    def _check_fact(self, var: int, value: int) -> Fact:
        if not 0 <= var < len(self._variables):
            self._fail(f"there is no variable {var}", f"0 to {len(self._variables) - 1}")
        size = len(self._variables[var].values)
        if not 0 <= value < size:
            self._fail(f"variable {var} has no value {value}", f"0 to {size - 1}")
        return var, value

    def _fact(self) -> Fact:
        numbers = self._numbers("a variable and a value")
        if len(numbers) != 2:
            self._fail(f"found {len(numbers)} numbers", "a variable and a value")
        return self._check_fact(numbers[0], numbers[1])

    def _facts_of_condition(self, what: str) -> tuple[Fact, ...]:
        seen: set[int] = set()

        def read() -> Fact:
            fact = self._fact()
            if fact[0] in seen:
                self._fail(f"variable {fact[0]} occurs twice", f"each variable once in the {what}")
            seen.add(fact[0])
            return fact

        return self._repeat(f"facts in the {what}", read)

    # Sections, in the order of the file

    def task(self) -> SasTask:
        self._version()
        metric = self._metric()
        self._repeat("variables", self._variable)
        mutex_groups = self._repeat("mutex groups", self._mutex_group)
        initial_state = self._initial_state()
        goal = self._goal()
        operators = self._repeat("operators", lambda: self._operator(metric))
        axioms = self._repeat("axioms", self._axiom)
        for line, text in enumerate(self._lines[self._line :], self._line + 1):
            if text.rstrip(_BLANK_ENDS):
                self._fail(f"found {_quote(text)} after the last section", "the end", line)
        return SasTask(
            metric,
            tuple(self._variables),
            mutex_groups,
            initial_state,
            goal,
            operators,
            axioms,
        )

    def _version(self) -> None:
        self._marker("begin_version")
        version = self._number("the version of the format")
        if version != VERSION:
            self._fail(f"version {version} of the SAS format", f"version {VERSION}")
        self._marker("end_version")

    def _metric(self) -> bool:
        self._marker("begin_metric")
        metric = self._number("the metric flag", 0, 1)
        self._marker("end_metric")
        return metric == 1

    def _variable(self) -> None:
        self._marker("begin_variable")
        name = self._text("the name of a variable")
        layer = self._number("an axiom layer", -1)
        size = self._number("the number of values", 1)
        values = tuple(self._text("the name of a value") for _ in range(size))
        self._marker("end_variable")
        self._variables.append(Variable(name, layer, values))

    def _mutex_group(self) -> tuple[Fact, ...]:
        self._marker("begin_mutex_group")
        facts = self._repeat("facts in the mutex group", self._fact)
        self._marker("end_mutex_group")
        return facts

    def _initial_state(self) -> State:
        self._marker("begin_state")
        state = tuple(
            self._number(f"the initial value of variable {var}", 0, len(variable.values) - 1)
            for var, variable in enumerate(self._variables)
        )
        self._marker("end_state")
        return state

    def _goal(self) -> tuple[Fact, ...]:
        self._marker("begin_goal")
        line = self._line + 1
        goal = self._facts_of_condition("goal")
        if not goal:
            # Fast Downward refuses these too; the translator writes a dummy goal instead.
            self._fail("the goal is empty", "at least one goal fact", line)
        self._marker("end_goal")
        return goal

    def _operator(self, metric: bool) -> Operator:
        self._marker("begin_operator")
        name = self._text("the name of an operator")
        prevail = self._facts_of_condition("prevail condition")
        required = dict(prevail)
        effects = self._repeat("effects", lambda: self._effect(required))
        cost = self._number("the cost of the operator", 0, _LARGEST_COST)
        self._marker("end_operator")
        return Operator(name, prevail, effects, cost if metric else 1)

    def _effect(self, required: dict[int, int]) -> Effect:
        what = "an effect: count, conditions, variable, pre, post"
        numbers = self._numbers(what)
        # The count comes from the file: compare it before trusting it.
        if numbers[0] < 0 or len(numbers) != 2 * numbers[0] + 4:
            self._fail(f"found {len(numbers)} numbers", what)
        *flat, var, pre, post = numbers[1:]
        conditions = tuple(self._check_fact(*pair) for pair in _pairs(flat))
        if len(dict(conditions)) != len(conditions):
            self._fail("a variable occurs twice", "each variable once in an effect condition")
        self._check_fact(var, post)
        if pre != -1:
            self._check_fact(var, pre)
            if required.setdefault(var, pre) != pre:
                self._fail(
                    f"variable {var} must be both {required[var]} and {pre}",
                    "one required value for a variable",
                )
        if self._variables[var].axiom_layer != -1:
            self._fail(f"an operator sets the derived variable {var}", "a variable of layer -1")
        return Effect(conditions, var, pre, post)

    def _axiom(self) -> Axiom:
        self._marker("begin_rule")
        conditions = self._facts_of_condition("axiom condition")
        what = "the head of an axiom: variable, pre, post"
        numbers = self._numbers(what)
        if len(numbers) != 3:
            self._fail(f"found {len(numbers)} numbers", what)
        var, pre, post = numbers
        self._check_fact(var, post)
        if pre != -1:
            self._check_fact(var, pre)
        if self._variables[var].axiom_layer == -1:
            self._fail(f"an axiom sets variable {var}, which is not derived", "a derived variable")
        self._marker("end_rule")
        return Axiom(conditions, var, pre, post)


def _pairs(numbers: list[int]) -> Iterator[Fact]:
    return zip(numbers[::2], numbers[1::2], strict=True)


def _quote(line: str) -> str:
    """The line for an error message: short, and with strange characters made visible."""
    return ascii(line if len(line) <= 40 else line[:37] + "...")
