"""Find the files of a task from what the user has named.

The domain of a problem is found automatically: a file beside it with the same number (`p01-domain.pddl`,
`domain_p01.pddl`, `domain01.pddl` and similar names), or `domain.pddl` in its folder or up to three folders up, as for
`ferry/testing/easy/p01.pddl`. A pattern such as `tasks/p0*.pddl` stands for the one file that matches; if several
match, they are a suite (`misstep.tasks.suites`).
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NoReturn

from misstep.errors import InputFileError, UsageError
from misstep.files import reason
from misstep.tasks.patterns import files_matching

StrPath = str | os.PathLike[str]
TAKES = (
    "DOMAIN.pddl PROBLEM.pddl, a problem or folder with its domain.pddl, a .sas file, a .jani or .prism "
    "file, what misstep.generate returns, or a task"
)
MODELS = (".jani", ".prism", ".nm", ".pm", ".sm")
_LOOKED_INTO = 1000  # folders
FOLDERS_UP = 3  # in which the domain of a problem is looked for
WAYS = (
    "name the domain file first: DOMAIN.pddl PROBLEM.pddl, or DOMAIN.pddl --suite FOLDER for all problems "
    "of a folder"
)
ALL_OF_THEM = "name one of them, or test on all with --suite; in Python load_suite loads all"


def task_files(*given: StrPath) -> list[Path]:
    """The files of the task: one SAS file or model, or domain and problem."""
    for path in given:
        if not isinstance(path, (str, os.PathLike)):
            raise UsageError(f"{type(path).__name__} is not a path", expected=TAKES)
    paths = [_only(Path(path)) for path in given]
    if len(paths) == 2:
        return paths
    if len(paths) != 1:
        raise UsageError(f"{len(paths)} files do not make a task", expected=TAKES)
    path = paths[0]
    if path.is_dir():
        return _in_folder(path)
    return paths if path.suffix.lower() != ".pddl" else [domain_of(path), path]


def is_model(files: list[Path]) -> bool:
    return files[0].suffix.lower() in MODELS


def is_domain(path: Path) -> bool:
    """Whether this is a PDDL domain, judged by its content."""
    return _defines(path, "domain")


def is_problem(path: Path) -> bool:
    """Whether this is a PDDL problem, judged by its content."""
    return _defines(path, "problem")


def _defines(path: Path, what: str) -> bool:
    try:
        if not path.is_file():  # opening a pipe that nobody writes to would wait forever
            return False
        with path.open(errors="replace") as file:
            text = file.read(100_000)
    except (OSError, ValueError):
        return False  # loading it reports the error
    return re.search(rf"\(\s*define\s*\(\s*{what}\b", text, re.I) is not None


def check_name(path: Path) -> None:
    """Raise an error if no file can have this name: it is too long, or has a null character."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass  # whoever opens it reports that
    except OSError as error:
        raise InputFileError(f"cannot read: {reason(error)}", where=str(path)[:200]) from error
    except ValueError as error:  # a null character
        raise InputFileError(f"not a path: {error}", where=repr(str(path))[:200]) from error


def matching(pattern: Path) -> list[Path] | None:
    """The files that match a pattern, in order; None if it is the name of a file, or not a pattern."""
    text = str(pattern)
    check_name(pattern)
    if not glob.has_magic(text) or pattern.exists():
        return None
    found = files_matching(pattern)
    if not found:
        raise InputFileError("no file matches this pattern", where=text)
    return found


def _only(path: Path) -> Path:
    found = matching(path)
    if found is None:
        return path
    if len(found) > 1:
        found = [file for file in found if not is_domain(file)] or found
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} files match this pattern, such as {found[0].name} and {found[1].name}",
            where=str(path),
            expected="one task",
            hint=ALL_OF_THEM,
        )
    return found[0]


# -- domains --------------------------------------------------------------------------------------


def domain_of(problem: Path) -> Path:
    """The domain file of a problem."""
    for domain in _possible_domains(problem):
        if domain.is_file() and domain != problem:
            return domain
    if not problem.exists():
        raise InputFileError("no such file", where=str(problem))
    if is_domain(problem):
        raise InputFileError(
            "this is a domain, and the problem is missing",
            where=str(problem),
            hint="name the problem after it: DOMAIN.pddl PROBLEM.pddl",
        )
    raise InputFileError(
        "the domain of this problem was not found",
        where=str(problem),
        expected=f"domain.pddl in the same folder or up to {FOLDERS_UP} folders up, "
        f"or {problem.stem}-domain.pddl in the same folder",
        hint=WAYS,
    )


def _possible_domains(problem: Path) -> Iterator[Path]:
    """Possible domain files by priority: those for one problem come before those that many problems share."""
    number = re.search(r"\d+$", problem.stem)
    for own in (problem.stem, *((number[0],) if number else ())):
        for name in (f"{own}-domain", f"{own}_domain", f"domain-{own}", f"domain_{own}"):
            yield problem.with_name(f"{name}.pddl")
        yield problem.with_name(f"domain{own}.pddl")
    folder = problem.absolute().parent
    # Near files are named as the user has named the problem.
    yield problem.with_name("domain.pddl")
    for up in list(folder.parents)[:FOLDERS_UP]:
        yield up / "domain.pddl"


# -- folders --------------------------------------------------------------------------------------


def problems_in(folder: Path, *, below: bool = False) -> list[Path]:
    """The problem files of a folder, in order; with `below`, also those of its subfolders."""
    files = files_in(folder, ".pddl", below=below)
    return [file for file in files if not is_domain(file)]


def files_in(folder: Path, end: str, *, below: bool = False) -> list[Path]:
    """Files whose names end so, in order. A folder that cannot be read is an error: its tasks would be missing."""

    def refuse(error: OSError) -> NoReturn:
        raise InputFileError(f"cannot read this folder: {reason(error)}", where=str(error.filename))

    found = []
    for place, _, names in os.walk(folder, onerror=refuse):
        found += [Path(place, name) for name in names if name.endswith(end)]
        if not below:
            break
    return sorted(file for file in found if file.is_file())


def _are_below(folder: Path) -> bool:
    """Whether there are problems below. It only makes a message better, so a whole disk is not searched for it."""
    for place, _, names in islice(os.walk(folder), _LOOKED_INTO):
        if any(name.endswith(".pddl") and not is_domain(Path(place, name)) for name in names):
            return True
    return False


def _in_folder(folder: Path) -> list[Path]:
    problems, models = problems_in(folder), files_in(folder, ".jani")
    if len(problems) + len(models) == 1:
        return models or [domain_of(problems[0]), problems[0]]
    named = folder / "problem.pddl"
    if not models and named in problems:
        return [domain_of(named), named]
    if problems or models:
        found = [path.name for path in (*problems, *models)]
        raise InputFileError(
            f"the folder has more than one task: {', '.join(found[:6])}",
            where=str(folder),
            expected="domain.pddl and problem.pddl, or one model",
            hint=ALL_OF_THEM,
        )
    if _are_below(folder):
        raise InputFileError(
            "the problems are in the folders below this one", where=str(folder), hint=ALL_OF_THEM
        )
    raise InputFileError(
        "there is no task in this folder",
        where=str(folder),
        expected="domain.pddl and problem.pddl, or a .jani file",
    )


__all__ = [
    "TAKES",
    "StrPath",
    "check_name",
    "domain_of",
    "files_in",
    "is_domain",
    "is_model",
    "is_problem",
    "matching",
    "problems_in",
    "task_files",
]
