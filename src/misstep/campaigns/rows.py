"""Records to rows of the tables and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from misstep.campaigns.records import (
    Event,
    Names,
    PoolRecord,
    RunRecord,
    Values,
    VerdictRecord,
)
from misstep.errors import InputFormatError, MisstepError

Row = Sequence[Any]
T = TypeVar("T")


def state_text(state: Values) -> str:
    return " ".join(map(str, state))


def state_of(text: str) -> Values:
    return tuple(map(int, text.split(" ")))


def names_text(names: Iterable[str]) -> str:
    return json.dumps(list(names), separators=(",", ":"))


def names_of(text: str) -> Names:
    names = json.loads(text)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("expected a list of names")
    return tuple(names)


def clean(text: str | None) -> str | None:
    """Text that SQLite takes: half characters, as broken programs print them, become question marks."""
    return None if text is None else text.encode(errors="replace").decode()


def decoded(decode: Callable[..., T], where: str, *row: Any) -> T:
    """What a row means, or the news that it means nothing."""
    try:
        return decode(*row)
    except (MisstepError, ValueError, TypeError, AttributeError) as error:
        raise InputFormatError(f"a damaged row: {error}", where=where) from error


def pool_row(record: PoolRecord) -> Row:
    return (
        record.index,
        state_text(record.state),
        record.reference,
        names_text(record.walk),
        record.iteration,
        record.seconds,
    )


def pool_record(task: str, row: Row) -> PoolRecord:
    index, state, reference, walk, iteration, seconds = row
    return PoolRecord(task, index, state_of(state), reference, names_of(walk), iteration, seconds)


def run_row(record: RunRecord) -> Row:
    return (
        record.outcome,
        record.steps,
        record.cost,
        names_text(record.operators),
        clean(record.message),
    )


def run_record(task: str, state: str, row: Row) -> RunRecord:
    outcome, steps, cost, operators, message = row
    return RunRecord(task, state_of(state), outcome, steps, cost, names_of(operators), message)


def verdict_row(record: VerdictRecord) -> Row:
    return (
        record.verdict,
        record.kind,
        record.gap_low,
        record.gap_high,
        record.upper_bound,
        record.lower_bound,
        clean(record.oracle),
        None if record.witness is None else names_text(record.witness),
        record.seconds,
        record.expansions,
        record.evaluations,
        None if record.derivation is None else json.dumps(list(map(dict, record.derivation))),
    )


def verdict_record(task: str, state: str, row: Row) -> VerdictRecord:
    *bounds, oracle, witness, seconds, expansions, evaluations, derivation = row
    verdict, kind, low, high, upper, lower = bounds
    return VerdictRecord(
        task,
        state_of(state),
        verdict,
        kind,
        low,
        high,
        upper,
        lower,
        oracle,
        None if witness is None else names_of(witness),
        seconds,
        expansions,
        evaluations,
        None if derivation is None else tuple(json.loads(derivation)),
    )


def event_row(event: Event) -> Row:
    numbers = json.dumps(dict(event.numbers), sort_keys=True)
    return event.time, clean(event.kind), clean(event.task), clean(event.text), numbers


def event_of(row: Row) -> Event:
    time, kind, task, text, numbers = row
    return Event(time, kind, text, json.loads(numbers), task)


POOL_COLUMNS = "idx, state, reference, walk, iteration, seconds"
RUN_COLUMNS = "outcome, steps, cost, operators, message"
VERDICT_COLUMNS = (
    "verdict, kind, gap_low, gap_high, upper_bound, lower_bound, "
    "oracle, witness, seconds, expansions, evaluations, derivation"
)
EVENT_COLUMNS = "time, kind, task, text, numbers"
