"""Rows that are planning domains: tasks of a built-in generator, or of the competitions' files, with policies.

`--tasks DIR` takes the real files: `competition` names the folder below DIR that a row stands for. Without it the row
has generated tasks, one for each entry of `sizes`, and a domain that no generator makes is missing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from misstep.errors import InputFileError, MisstepError, PolicyAwayError, UnsupportedError
from misstep.experiments.kinds import MISSING, Json
from misstep.experiments.schema import Key, table, text, texts, whole
from misstep.files import read_bytes
from misstep.policies.load import load_policy
from misstep.tasks.domains import DOMAINS, generate
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.suites import suite_files
from misstep.tasks.task import Task

_KEPT = 2
_MOST_BYTES = 64 * 2**20

ROW_KEYS = {
    "name": text(),
    "domain": text(),
    "sizes": Key(
        "a list of tables of sizes",
        lambda own: isinstance(own, list) and all(isinstance(x, dict) for x in own),
        [],
        True,
    ),
    "competition": text(None),
    "most_tasks": whole(100),
    "policies": texts(),
    "tags": table({}),
}


def subject(row: Json) -> Json:
    """The tasks of a row; each is told by what makes it, or by its files and their content."""
    if row["tasks_folder"] is not None and row["competition"] is not None:
        found = _of_files(Path(row["tasks_folder"]) / row["competition"])
    else:
        if row["domain"] not in DOMAINS or not row["sizes"]:
            raise UnsupportedError(
                f"no tasks of {row['domain']} can be generated",
                hint="--tasks DIR takes the files of the competitions"
                if row["competition"] is not None
                else None,
            )
        found = [
            {"domain": row["domain"], "sizes": sizes, "seed": place}
            for place, sizes in enumerate(row["sizes"])
        ]
    return {"tasks": found[: row["most_tasks"]], "policies": row["policies"]}


def _of_files(folder: Path) -> list[Json]:
    if not folder.is_dir():
        raise InputFileError("no such folder", where=str(folder), expected="tasks of the domain")
    found = []
    for own in suite_files([folder]):
        contents = [read_bytes(path, _MOST_BYTES, "a task") for path in own.files]
        digest = hashlib.sha256(b"\0".join(contents)).hexdigest()
        name = f"{folder.name}/{own.name}"
        found.append({"name": name, "files": [str(p) for p in own.files], "digest": digest})
    return found


def task_name(own: Json) -> str:
    if "files" in own:
        return str(own["name"])
    sizes = ", ".join(f"{name} {size}" for name, size in own["sizes"].items())
    return f"{own['domain']}, {sizes}, task {own['seed']}"


def open_task(own: Json) -> Task:
    if MISSING in own:
        raise InputFileError(own[MISSING])
    return _open(json.dumps(own, sort_keys=True))


@lru_cache(_KEPT)
def _open(text: str) -> Task:
    own: dict[str, Any] = json.loads(text)
    if "files" in own:
        return load_planning_task(*map(Path, own["files"]))
    return load_planning_task(generate(own["domain"], seed=own["seed"], **own["sizes"]))


def fitting(specs: Sequence[str], task: Task) -> str:
    """The first policy that can be loaded for the task."""
    refused = []
    for spec in specs:
        try:
            load_policy(spec, task).close()
        except PolicyAwayError:
            raise
        except MisstepError as error:
            refused.append(f"{spec}: {error}")
        else:
            return spec
    raise UnsupportedError(f"no policy fits the task; {'; '.join(refused)}"[:500])


def is_learned(spec: str) -> bool:
    """Whether a policy is a network that Misstep ships, and none that stands in for one."""
    return spec.startswith("shipped:")


__all__ = ["ROW_KEYS", "fitting", "is_learned", "open_task", "subject", "task_name"]
