"""Rows that are planning domains: tasks of a built-in generator, or of the competitions' files, with policies.

`--tasks DIR` takes the real files: `competition` names the folder below DIR that a row stands for. Without it the row
has generated tasks, one for each entry of `sizes`, and a domain that no generator makes is missing.

`--policies DIR` has trained ASNets by the names of domains, which come before the row's own policies. A row with `gnn`
is about a published relational network: `--gnn DIR` has a folder of that name with `model.ckpt` and `tasks`. Such a row
may have generated tasks as well: those of `sizes` come first, then the files that `only` names, or all of them (`*`
stands for anything). With `--tasks DIR`, `of_competition` names files of the competition that take the place of the
generated ones. Where the network calls a predicate or type of the domain otherwise, `renamed` says how.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from misstep.errors import InputFileError, UnsupportedError
from misstep.experiments.kinds import MISSING, Json
from misstep.experiments.kinds.fitting import first_fitting
from misstep.experiments.schema import Key, table, text, texts, whole
from misstep.files import read_bytes
from misstep.policies.load import load_policy
from misstep.policies.shipped import shipped_names
from misstep.tasks.domains import DOMAINS, Instance, generate
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.suites import suite_files
from misstep.tasks.task import Task

TRAINED, BEST = ".safetensors", "best.safetensors"
CHECKPOINT = "model.ckpt"
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
    "of_competition": texts(None, None),
    "most_tasks": whole(100),
    "policies": texts(None, []),
    "gnn": text(None),
    "gnn_options": text(None),
    "only": texts(None, None),
    "renamed": table({}),
    "tags": table({}),
}


def subject(row: Json) -> Json:
    """The tasks of a row; each is told by what makes it, or by its files and their content."""
    if row.get("gnn") is not None:
        return _of_network(row)
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
        found = _generated(row)
    return {"tasks": found[: row["most_tasks"]], **_policies(row)}


def _generated(row: Json) -> list[Json]:
    about = {"domain": row["domain"]}
    if row.get("renamed"):
        about["renamed"] = row["renamed"]
    return [{**about, "sizes": sizes, "seed": place} for place, sizes in enumerate(row["sizes"])]


def _policies(row: Json) -> Json:
    """The policies of the row, and the digests of those that are files."""
    folder, domain = row.get("policies_folder"), row["domain"]
    names = () if folder is None else (f"{domain}{TRAINED}", f"{domain}/{BEST}")
    for path in (Path(str(folder)) / name for name in names):
        if path.is_file():
            spec = f"asnet:{path}"
            return {"policies": [spec, *row["policies"]], "digests": {spec: _digest([path])}}
    shipped = {f"shipped:{name}" for name in shipped_names("asnets")}
    if all(spec.startswith("shipped:") and spec not in shipped for spec in row["policies"]):
        raise UnsupportedError(
            f"no ASNet for {row['domain']} is shipped",
            hint=f"--policies DIR takes a trained one, DIR/{row['domain']}{TRAINED}",
        )
    return {"policies": row["policies"]}


def _of_network(row: Json) -> Json:
    """A published network and the tasks beside it."""
    if row.get("gnn_folder") is None:
        raise UnsupportedError(
            f"no relational network for {row['name']}", hint="--gnn DIR names a folder with them"
        )
    folder = Path(row["gnn_folder"]) / row["gnn"]
    checkpoint = folder / CHECKPOINT
    if not checkpoint.is_file():
        raise InputFileError(
            "no checkpoint",
            where=f"{row['gnn']}/{CHECKPOINT}",
            expected="a relational network",
        )
    device = row["device"]
    options = [] if device == "cpu" else [f"--device={device}"]
    options += [] if row["gnn_options"] is None else [row["gnn_options"]]
    spec = "gnn:" + " ".join([*options, str(checkpoint)])
    found = [*_beside(row), *_wanted(folder / "tasks", row["gnn"], row.get("only"))]
    digests = {spec: _digest([checkpoint])}
    return {"tasks": found[: row["most_tasks"]], "policies": [spec], "digests": digests}


def _beside(row: Json) -> list[Json]:
    """Tasks that are smaller than those published with a network: files of a competition, or generated ones."""
    if row.get("of_competition") is None or row.get("tasks_folder") is None:
        return _generated(row)
    folder = Path(row["tasks_folder"]) / row["competition"]
    return _wanted(folder, row["competition"], row["of_competition"])


def _wanted(folder: Path, label: str, patterns: Sequence[str] | None) -> list[Json]:
    """The files of a folder that are asked for, those with smaller numbers first."""
    found = sorted(_of_files(folder, label), key=_natural)
    if patterns is None:
        return found
    chosen = []
    for pattern in patterns:
        fits = [own for own in found if fnmatchcase(own["name"], f"{label}/{pattern}")]
        if not fits:
            raise InputFileError(
                f"no task {pattern}", where=str(folder), expected="the tasks of the row"
            )
        chosen += [own for own in fits if own not in chosen]
    return chosen


def _natural(own: Json) -> list[tuple[int, str]]:
    """Sorts numbers in names by their value, so that smaller tasks come first."""
    parts = re.split(r"(\d+)", str(own["name"]))
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _digest(paths: Sequence[Path]) -> str:
    contents = [read_bytes(path, _MOST_BYTES, "a file") for path in paths]
    return hashlib.sha256(b"\0".join(contents)).hexdigest()


def _of_files(folder: Path, label: str | None = None) -> list[Json]:
    if not folder.is_dir():
        raise InputFileError("no such folder", where=str(folder), expected="tasks of the domain")
    found = []
    for own in suite_files([folder]):
        name = f"{label or folder.name}/{own.name}"
        files = [str(path) for path in own.files]
        found.append({"name": name, "files": files, "digest": _digest(own.files)})
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
    made = generate(own["domain"], seed=own["seed"], **own["sizes"])
    for old, new in own.get("renamed", {}).items():
        word = rf"(?<![\w-]){re.escape(old)}(?![\w-])"
        both = (re.sub(word, new, own) for own in (made.domain_pddl, made.problem_pddl))
        made = Instance(made.name, *both)
    return load_planning_task(made)


def fitting(specs: Sequence[str], task: Task) -> str:
    """The first policy that can be loaded for the task."""
    hint = "--policies DIR takes trained ASNets"
    return first_fitting(specs, lambda spec: load_policy(spec, task).close(), "the task", hint)


def is_learned(spec: str) -> bool:
    """Whether a policy is a network that Misstep ships, and not a simple policy in its place."""
    return spec.startswith("shipped:")


__all__ = ["ROW_KEYS", "fitting", "is_learned", "open_task", "subject", "task_name"]
