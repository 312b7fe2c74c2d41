"""Rows of the tables as plain data, and how they are written and read.

A worker returns rows, the coordinator stores them, everybody else reads them. States and operators are tuples; an
infinite number is None.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, MisstepError

Value = bool | int | float
Values = tuple[Value, ...]
"""A state: one value for each variable."""
Ids = tuple[int, ...]
"""Operators, or labels of a model, by id."""
T = TypeVar("T")

# SQLite keeps integers in 64 bits, and so does the core.
LARGEST = 2**63 - 1
# Before the first round of judging: of verdicts that need no oracle, as the witnesses of another campaign decide.
LENT_ROUND = -1
MOST_LETTERS = 2000  # of a message that is kept: a screen, not a book
OUTCOMES = ("goal", "loop", "stuck", "inapplicable", "error", "cut", "timeout", "unsafe", "safe")
VERDICTS = ("BUG", "OPTIMAL", "NOT A BUG", "UNKNOWN", "FLAKY")
KINDS = (
    "fails",
    "costly",
    "crash",
    "fails-all",
    "fails-some",
    "costly-best",
    "costly-some",
    "unsafe",
    "unclassified",
)


class StateRow(NamedTuple):
    """A state to test and how it was found: by a walk from another one, or as a step of a run."""

    number: int
    state: Values
    reference: int | None = None
    walk: Ids = ()
    iteration: int = 0
    run: int = 0
    step: int = 0
    seconds: float = 0.0

    def checked(self) -> StateRow:
        """The row itself; an error if it makes no sense."""
        _check_counts(self.number, self.iteration, self.run, self.step)
        _check_seconds(self.seconds)
        # Also lets every walk through reference states come to an end.
        if self.reference is not None and not 0 <= self.reference < self.number:
            raise ValueError(f"state {self.number} refers to state {self.reference}")
        return self

    def encoded(self) -> tuple[Any, ...]:
        self.checked()
        return (
            self.number,
            to_json(self.state),
            self.reference,
            to_json(self.walk),
            self.iteration,
            self.run,
            self.step,
            self.seconds,
        )

    @staticmethod
    def decoded(row: Sequence[Any]) -> StateRow:
        number, state, reference, walk, *rest = row
        return StateRow(number, values_of(state), reference, ids_of(walk), *rest).checked()


class PermittedRow(NamedTuple):
    """Of a set-valued policy: what is known of all permitted runs from a state."""

    closed: bool
    least: int | None
    most: int | None
    risk: tuple[float, float] | None = None

    def checked(self) -> PermittedRow:
        if type(self.closed) is not bool:
            raise ValueError("expected whether all permitted runs are known")
        _check_counts(self.least, self.most)
        if self.risk is not None:
            low, high = self.risk
            _check_seconds(low, high)
            if not low <= high <= 1:
                raise ValueError(f"no probabilities: {low} to {high}")
        return self

    def encoded(self) -> str:
        return json.dumps(self.checked()._asdict(), separators=(",", ":"))

    @staticmethod
    def decoded(text: str) -> PermittedRow:
        given = parse_json(text)
        if not isinstance(given, dict) or given.keys() != set(PermittedRow._fields):
            raise ValueError("expected what is known of the permitted runs")
        risk = given["risk"]
        own = None if risk is None else (risk[0], risk[1])
        return PermittedRow(given["closed"], given["least"], given["most"], own).checked()


class SetRow(NamedTuple):
    """What a set-valued policy permits in a state, and with which probabilities, if it has any."""

    state: Values
    operators: Ids
    probabilities: tuple[float, ...] | None = None

    def encoded(self) -> tuple[Any, ...]:
        own = None if self.probabilities is None else to_json(self.probabilities)
        return to_json(self.state), to_json(self.operators), own

    @staticmethod
    def decoded(row: Sequence[Any]) -> SetRow:
        state, operators, own = row
        probabilities = None if own is None else tuple(map(float, _list(own)))
        return SetRow(values_of(state), ids_of(operators), probabilities)


class RunRow(NamedTuple):
    """What the policy did. `states` is there where outcomes are not determined; `named` did not apply."""

    number: int
    outcome: str
    cost: int | None
    operators: Ids
    states: tuple[Values, ...] | None = None
    named: int | None = None
    message: str | None = None
    seconds: float = 0.0
    permitted: PermittedRow | None = None

    def checked(self) -> RunRow:
        """The row itself; an error if it makes no sense."""
        _check_counts(self.number, self.cost, self.named)
        _check_word("outcome", self.outcome, OUTCOMES)
        _check_text(self.message)
        _check_seconds(self.seconds)
        return self

    def encoded(self) -> tuple[Any, ...]:
        self.checked()
        return (
            self.number,
            self.outcome,
            self.cost,
            to_json(self.operators),
            None if self.states is None else to_json(self.states),
            self.named,
            clean(self.message),
            self.seconds,
            None if self.permitted is None else self.permitted.encoded(),
        )

    @staticmethod
    def decoded(row: Sequence[Any]) -> RunRow:
        number, outcome, cost, operators, states, named, message, seconds, permitted = row
        passed = None if states is None else _states_of(states)
        known = None if permitted is None else PermittedRow.decoded(permitted)
        own = (number, outcome, cost, ids_of(operators), passed, named, message, seconds, known)
        return RunRow(*own).checked()


class VerdictRow(NamedTuple):
    """What an oracle says about a state."""

    number: int
    oracle: str
    round: int  # of judging; later rounds may read it, and all of them what comes before the first (LENT_ROUND)
    verdict: str
    kind: str | None = None
    low: int | None = 0
    high: int | None = None
    lower: int | None = None
    upper: int | None = None
    source: str | None = None
    plan: Ids | None = None
    derivation: tuple[dict[str, Any], ...] | None = None
    strategy: int | None = None  # the row of `strategies`
    size: int | None = None  # of a strategy that is too large to be kept
    expansions: int = 0
    evaluations: int = 0
    seconds: float = 0.0
    at: float = 0.0

    @property
    def is_bug(self) -> bool:
        return self.verdict == "BUG"

    @property
    def is_unsolvable(self) -> bool:
        """A state that is proven to have no plan: that is so whatever the policy does."""
        return self.verdict == "OPTIMAL" and self.lower is None

    def later(self, seconds: float) -> VerdictRow:
        """The same, so much later. (`_replace` takes three times as long.)"""
        return VerdictRow._make((*self[:-1], self.at + seconds))

    def placed(self, number: int, strategy: int | None, seconds: float) -> VerdictRow:
        """The same of the state with that number, resting on that strategy, so much later."""
        own = (number, *self[1:12], strategy, *self[13:-1], self.at + seconds)
        return VerdictRow._make(own)

    def checked(self) -> VerdictRow:
        """The row itself; an error if it makes no sense."""
        judged_in = 0 if self.round == LENT_ROUND else self.round
        _check_counts(
            self.number,
            judged_in,
            self.strategy,
            self.size,
            self.expansions,
            self.evaluations,
        )
        _check_name("oracle", self.oracle)
        _check_interval(self.low, self.high)
        _check_interval(self.lower, self.upper)
        _check_word("verdict", self.verdict, VERDICTS)
        if self.kind is not None:
            _check_word("kind", self.kind, KINDS)
        if (self.kind is None) == self.is_bug:
            raise ValueError(f"verdict {self.verdict} with kind {self.kind}")
        _check_text(self.source)
        _check_seconds(self.seconds, self.at)
        return self

    def encoded(self) -> tuple[Any, ...]:
        self.checked()
        lists = (self.plan, self.derivation)
        plan, derivation = (None if part is None else to_json(part) for part in lists)
        return (*self[:9], clean(self.source), plan, derivation, *self[12:])

    @staticmethod
    def decoded(row: Sequence[Any]) -> VerdictRow:
        plan, derivation = row[10:12]
        read: list[Any] = list(row)
        read[10] = None if plan is None else ids_of(plan)
        read[11] = None if derivation is None else tuple(map(dict, _list(derivation)))
        return VerdictRow._make(read).checked()


class FaultRow(NamedTuple):
    """A decision on a run that loses something."""

    run: int
    step: int
    state: Values
    decision: int | None
    better: int | None
    low: int | None
    high: int | None
    share: float | None = None
    recurring: bool = False
    outcome: Values | None = None

    def checked(self) -> FaultRow:
        """The row itself; an error if it makes no sense."""
        _check_counts(self.run, self.step, self.decision, self.better)
        _check_interval(self.low, self.high)
        if self.share is not None:
            _check_seconds(self.share)
        return self

    def encoded(self) -> tuple[Any, ...]:
        self.checked()
        outcome = None if self.outcome is None else to_json(self.outcome)
        # As SQLite keeps a real number, which has no other zero.
        share = None if self.share is None else abs(float(self.share))
        return (*self[:2], to_json(self.state), *self[3:7], share, int(self.recurring), outcome)

    @staticmethod
    def decoded(row: Sequence[Any]) -> FaultRow:
        read: list[Any] = list(row)
        read[2] = values_of(row[2])
        read[8] = bool(row[8])
        read[9] = None if row[9] is None else values_of(row[9])
        return FaultRow._make(read).checked()


class ContradictionRow(NamedTuple):
    """A state where the policy gave two answers: operators or labels, or below 0 what stands in their place."""

    state: Values
    first: int
    second: int
    asked: int  # times, until then

    def checked(self) -> ContradictionRow:
        """The row itself; an error if it makes no sense."""
        for answer in (self.first, self.second):
            if type(answer) is not int or not -4 <= answer <= LARGEST:
                raise ValueError(f"{answer!r} is no answer of a policy")
        _check_counts(self.asked)
        if self.first == self.second:
            raise ValueError("a contradiction of two equal answers")
        return self

    def encoded(self) -> tuple[Any, ...]:
        self.checked()
        return (to_json(self.state), *self[1:])

    @staticmethod
    def decoded(row: Sequence[Any]) -> ContradictionRow:
        return ContradictionRow(values_of(row[0]), *row[1:]).checked()


class Event(NamedTuple):
    """Something that happened: a remark, a limit that bit, a stage that ended."""

    time: float
    kind: str
    task: str | None
    text: str

    @staticmethod
    def decoded(row: Sequence[Any]) -> Event:
        event = Event._make(row)
        _check_seconds(event.time)
        _check_name("kind of an event", event.kind)
        _check_text(event.task)
        if not isinstance(event.text, str):
            raise ValueError("an event without a text")
        return event


_IDS = re.compile(r"\[(?:-?(?:0|[1-9]\d{0,17})(?:,-?(?:0|[1-9]\d{0,17}))*)?\]", re.ASCII)


_NUMBER = r"-?(?:0|[1-9]\d{0,17})"
_STATE = rf"\[{_NUMBER}(?:,{_NUMBER})*\]"
_STATES = re.compile(rf"\[{_STATE}(?:,{_STATE})*\]", re.ASCII)


def _is_plain(text: object) -> bool:
    """Whether a list is written as we write it, so that nothing strange needs to be looked for."""
    return isinstance(text, str) and _IDS.fullmatch(text) is not None


# Made once: a campaign reads and writes a hundred thousand lists.
_decode = json.JSONDecoder().raw_decode
_encode = json.JSONEncoder(separators=(",", ":")).encode


def to_json(value: Iterable[Any]) -> str:
    own = list(value)
    if set(map(type, own)) <= {int}:
        return f"[{','.join(map(str, own))}]"  # what the encoder would say, in half the time
    return _encode(own)


def values_of(text: str) -> Values:
    if _is_plain(text) and len(text) > 2:
        return tuple(_decode(text)[0])
    return _values(_list(text))


def _states_of(text: Any) -> tuple[Values, ...]:
    if isinstance(text, str) and _STATES.fullmatch(text) is not None:
        return tuple(map(tuple, _decode(text)[0]))
    return tuple(_values(state) for state in _list(text))


def ids_of(text: str) -> Ids:
    if _is_plain(text):
        return tuple(_decode(text)[0])
    ids = _list(text)
    if not _are_integers(ids):
        raise ValueError("expected a list of ids")
    return tuple(ids)


def _are_integers(values: list[Any]) -> bool:
    """Whether all are whole numbers of 64 bits. Large campaigns are read faster without a loop in Python."""
    return not values or (
        set(map(type, values)) == {int} and min(values) >= -LARGEST and max(values) <= LARGEST
    )


def _values(values: Any) -> Values:
    if not isinstance(values, list) or not values:
        raise ValueError("expected the values of a state")
    if _are_integers(values):
        return tuple(values)
    if not all(isinstance(value, (bool, int, float)) for value in values):
        raise ValueError("expected numbers and truth values")
    if not all(abs(value) <= LARGEST for value in values if type(value) is int):
        raise ValueError("expected numbers of 64 bits")
    return tuple(values)


def _list(text: str) -> list[Any]:
    found = parse_json(text)
    if not isinstance(found, list):
        raise ValueError("expected a list")
    return found


def clean(text: str | None) -> str | None:
    """Text that SQLite takes: half characters, as broken programs print them, become question marks."""
    if text is not None and len(text) > MOST_LETTERS:
        text = f"{text[:MOST_LETTERS]}... ({len(text):,} characters)"
    return None if text is None else text.encode(errors="replace").decode()


def decoded(decode: Callable[[Sequence[Any]], T], row: Sequence[Any], where: str) -> T:
    """What a row means, or the news that it means nothing."""
    try:
        return decode(row)
    except (MisstepError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise InputFormatError(f"a damaged row: {str(error)[:200]}", where=where) from error


# What comes from a file may be of any type, whatever the annotations say.


def _check_counts(*numbers: int | None) -> None:
    for value in numbers:
        if value is not None and not (type(value) is int and 0 <= value <= LARGEST):
            raise ValueError(f"{value!r} is no whole number between 0 and 2^63 - 1")


def _check_interval(low: int | None, high: int | None) -> None:
    """None is infinite."""
    _check_counts(low, high)
    if high is not None and (low is None or low > high):
        raise ValueError(f"nothing lies between {'infinity' if low is None else low} and {high}")


def _check_word(what: str, word: str, known: Sequence[str]) -> None:
    if word not in known:
        raise ValueError(f"the {what} {word!r} does not exist")


def _check_name(what: str, name: object) -> None:
    if not isinstance(name, str) or not name:
        raise ValueError(f"the {what} is {name!r:.40}")


def _check_text(text: str | None) -> None:
    if text is not None and not isinstance(text, str):
        raise ValueError(f"{text!r} is no text")


def _check_seconds(*numbers: object) -> None:
    for number in numbers:
        if not isinstance(number, (int, float)) or not 0 <= number < math.inf:
            raise ValueError(f"{number!r} is no number from 0 on")


__all__ = [
    "KINDS",
    "LENT_ROUND",
    "VERDICTS",
    "ContradictionRow",
    "Event",
    "FaultRow",
    "Ids",
    "PermittedRow",
    "RunRow",
    "SetRow",
    "StateRow",
    "Value",
    "Values",
    "VerdictRow",
    "clean",
    "decoded",
    "to_json",
]
