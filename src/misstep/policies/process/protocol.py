"""The lines exchanged with a policy program; docs/policy-protocol.md is for its author."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from misstep.decoding import parse_json
from misstep.errors import UsageError
from misstep.policies.policy import FAILED, NO_ACTION, States
from misstep.policies.process.channel import ProgramError
from misstep.tasks.task import State, Task

VERSION = 1


class MalformedError(ProgramError):
    """The program answered, but not as the protocol has it."""

    def __init__(self, message: str, *, in_step: bool = False) -> None:
        super().__init__(message)
        self.in_step = in_step


class Greeting(NamedTuple):
    """What a program says of itself."""

    name: str
    digest: str | None
    deterministic: bool
    batch_size: int | None


class Choices(NamedTuple):
    """The checked answer to a batch."""

    operators: list[int]
    messages: dict[int, str]


def line_of(content: dict[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def hello(task: Task, sas_file: Path) -> bytes:
    """The first line, which describes the task."""
    pddl = task.pddl
    return line_of(
        {
            "protocol": VERSION,
            "task": task.name,
            "digest": task.digest,
            "sas": str(sas_file),
            "domain": None if pddl is None else str(Path(pddl[0].path).absolute()),
            "problem": None if pddl is None else str(Path(pddl[1].path).absolute()),
            "variables": task.fact_names,
            "operators": task.operator_names,
            "preconditions": [task.preconditions(op) for op in range(task.operator_count)],
            "initial": task.initial_state.values,
            "goal": task.goal,
        }
    )


def question(number: int, states: States) -> bytes:
    return line_of({"id": number, "states": states.tolist()})


def object_of(line: bytes, what: str) -> dict[str, Any]:
    try:
        content = parse_json(line)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise MalformedError(
            f"{_shown(line)} where {what} was expected, a JSON object in one line; "
            "standard output is for answers only, remarks go to standard error"
        )
    return content


def _shown(line: bytes) -> str:
    text = line[:80].decode(errors="replace")
    return repr(text + "..." if len(line) > 80 else text)


def parse_greeting(line: bytes) -> Greeting:
    content = object_of(line, "the greeting")
    if content.get("protocol") != VERSION or isinstance(content.get("protocol"), bool):
        raise MalformedError(
            f"the greeting has protocol {json.dumps(content.get('protocol'))[:40]}, "
            f"not {VERSION}, which is spoken here"
        )
    _require(content, "name", lambda x: isinstance(x, str) and x != "", "a string")
    for field, check, kind in _OPTIONAL:
        if content.get(field) is not None:
            _require(content, field, check, kind)
    return Greeting(
        content["name"],
        content.get("digest"),
        content.get("deterministic") is not False,
        content.get("batch_size"),
    )


_OPTIONAL: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("digest", lambda x: isinstance(x, str), "a string"),
    ("deterministic", lambda x: isinstance(x, bool), "true or false"),
    ("batch_size", lambda x: type(x) is int and x > 0, "a positive number"),
)


def _require(content: dict[str, Any], field: str, check: Callable[[Any], bool], kind: str) -> None:
    value = content.get(field)
    if not check(value):
        raise MalformedError(f"the greeting has {field} {json.dumps(value)[:40]}, not {kind}")


class AnswerReader:
    """Checks answers; operators may be named by number or by name."""

    def __init__(self, task: Task, says: str = "the program says: ") -> None:
        self._task = task
        self._says = says  # in front of what it reports itself
        self._count = task.operator_count

    def read(self, line: bytes, number: int, states: States) -> Choices:
        content = object_of(line, "an answer")
        if type(content.get("id")) is not int or content["id"] != number:
            raise MalformedError(
                f"the answer has id {json.dumps(content.get('id'))[:40]} where {number} was asked"
            )
        given = content.get("operators")
        if not isinstance(given, list) or len(given) != len(states):
            what = f"{len(given)} operators" if isinstance(given, list) else "no list of operators"
            raise MalformedError(f"the answer has {what} for {len(states)} states", in_step=True)
        messages = self._errors(content.get("errors"), len(states))
        operators = []
        for row, choice in enumerate(given):
            if row in messages:
                operators.append(FAILED)
            elif type(choice) is int and 0 <= choice < self._count:
                operators.append(choice)
            elif choice is None or (type(choice) is int and choice == NO_ACTION):
                operators.append(NO_ACTION)
            else:
                operators.append(self._by_name(choice, row, states, messages))
        return Choices(operators, messages)

    def _errors(self, given: Any, count: int) -> dict[int, str]:
        if not given:
            return {}
        rows = {str(row): row for row in range(count)}
        if not isinstance(given, dict) or not given.keys() <= rows.keys():
            raise MalformedError(
                'the answer has errors that are not an object such as {"0": "why"}, '
                "keyed by the position of the state in the batch",
                in_step=True,
            )
        return {rows[key]: f"{self._says}{str(why)[:400]}" for key, why in given.items()}

    def _by_name(self, choice: Any, row: int, states: States, messages: dict[int, str]) -> int:
        if not isinstance(choice, str):
            messages[row] = (
                f"the program chose {json.dumps(choice)[:80]}, "
                f"not an operator from 0 to {self._count - 1}, its name, or null"
            )
            return FAILED
        try:
            return self._task.resolve(choice, State(states[row].tolist()))
        except UsageError:
            messages[row] = (
                f"the program chose {choice[:80]!r}, which is not an operator of the task"
            )
            return FAILED


__all__ = [
    "VERSION",
    "AnswerReader",
    "Choices",
    "Greeting",
    "MalformedError",
    "hello",
    "line_of",
    "object_of",
    "parse_greeting",
    "question",
]
