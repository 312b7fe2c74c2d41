"""Rows that are domains to learn in: training tasks, and easy, medium and hard test tasks, as in the learning track.

Each of the four is an ordered list that grows from small to large. A generator makes one from a ramp, which says where
each size begins and ends, and what it is in between where it does not grow evenly: `{ cars = [1, 20], trays = [1, 2, 2,
3] }`. `--tasks DIR` takes the files of the competition:
`competition` names the folder below DIR, with its own `training` and `testing/easy`, `testing/medium`, `testing/hard`.

As in P25, a training learns on the first tasks and validates on others that are spread over the range of the rest. A
task that cannot be made or loaded is left out and named, with the reason; it is not replaced.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from misstep.errors import InputFileError, MisstepError, UnsupportedError
from misstep.experiments.kinds import MISSING, Json
from misstep.experiments.kinds.tasks import open_task, task_name
from misstep.experiments.schema import Key, table, text, texts, whole
from misstep.files import read_bytes
from misstep.policies.asnet.weights import LAYERS
from misstep.tasks.domains import DOMAINS
from misstep.tasks.task import Task

DIFFICULTIES = ("easy", "medium", "hard")
GROUPS = ("training", *DIFFICULTIES)
LENGTHS = {
    "training": 99,
    "easy": 30,
    "medium": 30,
    "hard": 30,
}  # of generated lists, as in the track
_SEEDS = {"training": 0, "easy": 1000, "medium": 2000, "hard": 3000}  # of the first task of each
_MOST_BYTES = 64 * 2**20


def _is_ramp(own: Any) -> bool:
    return isinstance(own, dict) and all(
        isinstance(ends, list)
        and len(ends) > 1
        and all(isinstance(end, int) and not isinstance(end, bool) and end >= 0 for end in ends)
        for ends in own.values()
    )


def ramp() -> Key:
    return Key("a table of sizes, each [first, ..., last]", _is_ramp, None)


ROW_KEYS = {
    "name": text(),
    "domain": text(),
    "competition": text(None),
    **{group: ramp() for group in GROUPS},
    "layers": whole(LAYERS),  # of its networks: with more of them a decision sees further
    "tags": table({}),
}
# How many tasks a step takes.
TASK_KEYS = {
    "train": whole(),
    "validate": whole(),
    "of_training": whole(99),
    "test": whole(),
    "of_testing": whole(30),
    "difficulties": texts(DIFFICULTIES),
    "most_operators": whole(1_000_000),
}


def subject(row: Json) -> Json:
    """The four lists of a row."""
    if row["tasks_folder"] is not None and row["competition"] is not None:
        return _of_files(Path(row["tasks_folder"]) / row["competition"])
    if row["domain"] not in DOMAINS:
        raise UnsupportedError(
            f"no tasks of {row['domain']} can be generated",
            hint="--tasks DIR takes the files of the learning track",
        )
    return {group: _of_ramp(row["domain"], group, row[group]) for group in GROUPS}


def _of_ramp(domain: str, group: str, ends: Json | None) -> list[Json]:
    if ends is None:
        return []
    count = LENGTHS[group]
    return [
        {
            "domain": domain,
            "sizes": {name: _along(own, place / (count - 1)) for name, own in ends.items()},
            "seed": _SEEDS[group] + place,
        }
        for place in range(count)
    ]


def _along(points: Sequence[int], share: float) -> int:
    """The size at that share of the list, by interpolation between evenly spaced points."""
    at = share * (len(points) - 1)
    before = min(int(at), len(points) - 2)
    first, last = points[before], points[before + 1]
    return first + round((last - first) * (at - before))


def _of_files(folder: Path) -> Json:
    domain = folder / "domain.pddl"
    if not domain.is_file():
        raise InputFileError(
            "no such file", where=str(domain), expected="a domain of the learning track"
        )
    found = {}
    for group in GROUPS:
        own = folder / ("training" if group == "training" else f"testing/{group}")
        files = sorted(own.rglob("*.pddl")) if own.is_dir() else []
        found[group] = [
            {"name": f"{folder.name}/{group}/{file.stem}", "files": [str(domain), str(file)]}
            for file in files
        ]
    return found


def spread(own: Sequence[Json], count: int) -> list[Json]:
    """So many of them, evenly over the whole range, the last one included if there are several."""
    if count >= len(own):
        return list(own)
    if count == 1:
        return [own[len(own) // 2]]
    return [own[round(place * (len(own) - 1) / (count - 1))] for place in range(count)]


@dataclass(frozen=True)
class Split:
    """The tasks of a training, as plain data; each test task with its difficulty."""

    train: list[Json]
    validate: list[Json]
    test: list[list[Any]]  # difficulty and task
    missing: list[list[str]]  # difficulty and why


def split(step: Json, found: Json) -> Split:
    if MISSING in found:
        return Split([found], [], [], [])
    training = found["training"]
    test: list[list[Any]] = []
    missing = []
    for difficulty in DIFFICULTIES:
        if difficulty not in step["difficulties"]:
            missing.append([difficulty, "not asked for at this scale"])
            continue
        own = spread(found[difficulty][: step["of_testing"]], step["test"])
        if len(own) < step["test"]:
            missing.append([difficulty, f"{len(own)} tasks, and {step['test']} are asked for"])
        test += [[difficulty, pinned(task)] for task in own]
    rest = training[step["train"] : step["of_training"]]
    return Split(
        [pinned(task) for task in training[: step["train"]]],
        [pinned(task) for task in spread(rest, step["validate"])],
        test,
        missing,
    )


def pinned(own: Json) -> Json:
    """Files with their content, since files of the same name may be another task."""
    if "files" not in own:
        return own
    return {**own, "digest": _digest(tuple(own["files"]))}


@lru_cache(10_000)
def _digest(files: tuple[str, ...]) -> str:
    contents = [read_bytes(Path(path), _MOST_BYTES, "a task") for path in files]
    return hashlib.sha256(b"\0".join(contents)).hexdigest()


@dataclass
class Opened:
    """Tasks that could be loaded, and those that could not."""

    tasks: list[Task] = field(default_factory=list)
    left_out: list[list[str]] = field(default_factory=list)  # task and why
    places: list[int] = field(default_factory=list)  # of the tasks in what was asked for


def open_tasks(specs: Sequence[Json], most_operators: int) -> Opened:
    """Leaves out tasks that are too large, or that cannot be grounded in the available memory, as in P25."""
    found = Opened()
    for place, spec in enumerate(specs):
        if MISSING in spec:
            raise InputFileError(spec[MISSING])
        name = task_name(spec)
        try:
            task = open_task(spec)
        except MisstepError as error:
            found.left_out.append([name, str(error)])
            continue
        except MemoryError:
            found.left_out.append([name, "out of memory"])
            continue
        if not 0 < task.operator_count <= most_operators:
            why = f"{task.operator_count:,} operators, and at most {most_operators:,} are allowed"
            found.left_out.append([name, why])
            continue
        task.name = name
        found.tasks.append(task)
        found.places.append(place)
    return found


__all__ = [
    "DIFFICULTIES",
    "ROW_KEYS",
    "TASK_KEYS",
    "Opened",
    "Split",
    "open_tasks",
    "split",
    "spread",
    "subject",
]
