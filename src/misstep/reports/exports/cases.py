"""The data of exported tests: one file with the bugs of a campaign, from which pytest makes a test for each bug.

Reading it does not load the native core, so collecting tests is fast. The file contains a digest of its content, so
that a file that was changed by hand is never overwritten. `expected_to_fail` is not part of the digest, because a
person who has fixed a bug may want to change it by hand.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from misstep.decoding import parse_json
from misstep.errors import InputFormatError
from misstep.files import read_bytes

FORMAT, VERSION = "misstep-tests", 1
DATA_NAME, MODULE_NAME, TASKS_NAME = "misstep_bugs.json", "test_misstep.py", "misstep_tasks"
_MOST_BYTES = 2**30
JSON = dict[str, Any]


@dataclass(frozen=True)
class TaskFiles:
    """A task or model beside the data file."""

    name: str
    world: str
    # Domain and problem, and a SAS file where the translator would make another; a SAS file alone; or a model, and the
    # interface of networks where its property names one.
    files: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)  # of `load_task`


@dataclass(frozen=True)
class Case:
    """One bug: the state, the policy's run, and a better one."""

    key: str  # of task and state; names the test
    id: str  # of the record, in the campaign that it was last exported from
    task: str  # key in the tasks of the file
    kind: str | None
    headline: str
    state: Any  # facts that are true; values of a SAS task; named values of a model
    before: JSON  # the policy's run: outcome, operators, cost; of a model also states
    witness: JSON  # operators and cost of a plan, a bound, or a strategy
    settings: JSON  # how the policy is run
    expected_to_fail: bool = True


@dataclass(frozen=True)
class Cases:
    """The content of a data file."""

    policy: str | None  # the spec of the policy that the bugs were found in
    tasks: dict[str, TaskFiles]
    files: dict[str, str]  # SHA-256 of each file that was written beside it
    cases: tuple[Case, ...]

    def text(self) -> str:
        """The text of the file: one line for each task and file, and for each part of a case."""
        body = self._body()
        lines = [
            f'"format": "{FORMAT}"',
            f'"version": {VERSION}',
            f'"digest": "{_digest(body)}"',
            f'"policy": {_line(body["policy"])}',
            '"tasks": ' + _block(body["tasks"]),
            '"files": ' + _block(body["files"]),
            '"cases": [' + ",".join(f"\n {_block(case, 2)}" for case in body["cases"]) + "\n]",
        ]
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def _body(self) -> JSON:
        return {
            "policy": self.policy,
            "tasks": {key: _fields(task) for key, task in self.tasks.items()},
            "files": self.files,
            "cases": [_fields(case) for case in self.cases],
        }


def _fields(own: TaskFiles | Case) -> JSON:
    """As `dataclasses.asdict`, without a copy of every number; nobody changes what is inside."""
    return {part.name: getattr(own, part.name) for part in dataclasses.fields(own)}


def read_cases(path: Path) -> Cases:
    """The content of a data file, even if it was changed by hand."""
    return _parsed(path)[0]


def read_own_cases(path: Path) -> Cases | None:
    """The content of a data file; None if it was changed by hand."""
    cases, digest = _parsed(path)
    return cases if digest == _digest(cases._body()) else None


def _parsed(path: Path) -> tuple[Cases, str]:
    try:
        found = parse_json(read_bytes(path, _MOST_BYTES, "the data of exported tests"))
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise ValueError("the mark of such a file is missing")
        if found["version"] != VERSION:
            raise ValueError(
                f"it has version {found['version']!r:.20}, but this Misstep reads {VERSION}"
            )
        tasks = {
            str(key): TaskFiles(**{**own, "files": tuple(map(str, own["files"]))})
            for key, own in found["tasks"].items()
        }
        cases = tuple(_case(own, tasks) for own in found["cases"])
        files = {str(name): str(own) for name, own in found["files"].items()}
        return Cases(found["policy"], tasks, files, cases), str(found["digest"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        said = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputFormatError(
            f"this is not the data of exported tests: {said}",
            where=str(path),
            expected="a file written by 'misstep export tests'",
        ) from None


def _case(own: JSON, tasks: dict[str, TaskFiles]) -> Case:
    case = Case(**own)
    if case.task not in tasks:
        raise ValueError(f"no task {case.task!r:.80}")
    for part in (case.before, case.witness, case.settings):
        if not isinstance(part, dict):
            raise ValueError(f"the case {case.key!r:.80} is incomplete")
    return case


def _digest(body: JSON) -> str:
    cases = [{k: v for k, v in own.items() if k != "expected_to_fail"} for own in body["cases"]]
    text = json.dumps({**body, "cases": cases}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _line(value: Any) -> str:
    return json.dumps(value)


def _block(own: JSON, indent: int = 1) -> str:
    if not own:
        return "{}"
    inside = ",".join(f"\n{' ' * indent}{_line(key)}: {_line(value)}" for key, value in own.items())
    return f"{{{inside}\n{' ' * (indent - 1)}}}"


__all__ = [
    "DATA_NAME",
    "MODULE_NAME",
    "TASKS_NAME",
    "Case",
    "Cases",
    "TaskFiles",
    "read_cases",
    "read_own_cases",
]
