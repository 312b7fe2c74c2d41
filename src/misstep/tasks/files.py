"""Which files make a task: what a user may name, and the files that are meant by it."""

from __future__ import annotations

import os
from pathlib import Path

from misstep.errors import InputFileError, UsageError

StrPath = str | os.PathLike[str]
TAKES = (
    "DOMAIN.pddl PROBLEM.pddl, a problem or folder with its domain.pddl, a .sas file, a .jani file, "
    "what misstep.generate returns, or a task"
)


def task_files(*given: StrPath) -> list[Path]:
    """The SAS file or the model alone, or domain and problem."""
    for path in given:
        if not isinstance(path, (str, os.PathLike)):
            raise UsageError(f"{type(path).__name__} is no path", expected=TAKES)
    paths = [Path(path) for path in given]
    if len(paths) == 2:
        return paths
    if len(paths) != 1:
        raise UsageError(f"{len(paths)} files do not make a task", expected=TAKES)
    path = paths[0]
    if path.is_dir():
        return _in_folder(path)
    return paths if path.suffix.lower() != ".pddl" else [_domain_of(path), path]


def is_model(files: list[Path]) -> bool:
    return files[0].suffix.lower() == ".jani"


def _domain_of(problem: Path) -> Path:
    candidates = [
        problem.with_name("domain.pddl"),
        problem.with_name(f"{problem.stem}-domain.pddl"),
    ]
    for domain in candidates:
        if domain.is_file() and domain != problem:
            return domain
    if not problem.exists():
        raise InputFileError("no such file", where=str(problem))
    raise InputFileError(
        "a problem without its domain",
        where=str(problem),
        expected=f"{candidates[0].name} in the same folder",
        hint="name the domain file first: DOMAIN.pddl PROBLEM.pddl",
    )


def _in_folder(folder: Path) -> list[Path]:
    domain, problem = folder / "domain.pddl", folder / "problem.pddl"
    models = sorted(folder.glob("*.jani"))
    if len(models) == 1 and not domain.exists():
        return models
    if models:
        found = [path.name for path in (domain, problem, *models) if path.exists()]
        raise InputFileError(
            f"the folder has more than one task: {', '.join(found[:6])}",
            where=str(folder),
            expected="domain.pddl and problem.pddl, or one model",
            hint="name the files instead of the folder",
        )
    if not domain.exists():
        raise InputFileError(
            "there is no task in this folder",
            where=str(folder),
            expected="domain.pddl and problem.pddl, or a .jani file",
        )
    return [domain, problem]


__all__ = ["TAKES", "StrPath", "is_model", "task_files"]
