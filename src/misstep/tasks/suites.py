"""Load many tasks at once: folders, patterns, lists in a file, and several problems of one domain.

FOLDER            every problem in it and below, each with its domain; or every .jani model
'tasks/p0*.pddl'  every file that the pattern fits; ** stands for any folders
tasks.txt         a list: a problem, DOMAIN PROBLEM, folder or pattern on each line, seen from the list's folder;
                  what follows a # at the start of a line or after a space says nothing
DOMAIN.pddl ...   a domain file first, or named as the domain: that of all problems after it
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from typing import NamedTuple

from misstep.errors import InputFileError, InputFormatError, UsageError
from misstep.files import read_bytes
from misstep.tasks.files import (
    StrPath,
    check_name,
    files_in,
    is_domain,
    is_model,
    is_problem,
    matching,
    problems_in,
    task_files,
)

LISTS = (".txt", ".list")
MAX_LIST_BYTES = 16 * 2**20
MAX_LINE = 20_000  # letters: two paths as long as they may be, each in quotes
# What stands before a comment. A # inside of quotes, or of a name, begins none.
_BEFORE_COMMENT = re.compile(
    r"""(?!\s*\#) (?: "(?:[^"\\]|\\.)*" | '[^']*' | \\. | [^\s"'\\] | \s+(?!\s*\#) )*""", re.VERBOSE
)
WAYS = "a folder with problems or models, a pattern such as 'tasks/p0*.pddl', or a list of tasks in a .txt file"


class TaskFiles(NamedTuple):
    """A task of a suite: its unique name, and its files."""

    name: str
    files: tuple[Path, ...]


def is_suite(paths: Sequence[Path]) -> bool:
    """Whether these are several tasks, and not the files of a single one."""
    if len(paths) > 2 or any(_is_list(path) or matching(path) is not None for path in paths):
        return True
    # Two files are domain and problem, unless the first is a task itself.
    return len(paths) == 2 and (is_problem(paths[0]) or paths[0].suffix.lower() == ".sas")


def suite_files(given: Sequence[StrPath], domain: StrPath | None = None) -> list[TaskFiles]:
    """The tasks that these paths stand for, in order, with unique names."""
    paths = [Path(path) for path in given]
    if domain is None and len(paths) > 1 and is_domain(paths[0]):
        domain, *paths = paths
    if domain is not None and not Path(domain).is_file():
        raise InputFileError("no such file", where=str(domain), expected="a PDDL domain")
    shared = None if domain is None else Path(domain)
    found = [files for path in paths for files in _tasks(path, shared)]
    if not found:
        raise UsageError("no tasks", expected=WAYS)
    _check_worlds(found, paths)
    if len(paths) == 1 and paths[0].is_dir() and not _is_single(paths[0]):
        names = [str(_named(files).relative_to(paths[0]).with_suffix("")) for files in found]
    else:
        names = _distinct([_named(files) for files in found])
    return [TaskFiles(name, files) for name, files in zip(names, found, strict=True)]


def _tasks(path: Path, domain: Path | None, *, listed: bool = False) -> Iterator[tuple[Path, ...]]:
    """The tasks of a path; one that a list names is no list itself, because a pattern may fit the list it is in."""
    fitting = matching(path)
    if fitting is not None:
        for file in fitting:
            if file.is_dir() or not (is_domain(file) or (listed and _is_list(file))):
                yield from _tasks(file, domain, listed=listed)
    elif _is_list(path):
        yield from _listed(path, domain)
    elif path.is_dir():
        yield from _in_folder(path, domain)
    elif domain is not None and path.suffix.lower() == ".pddl":
        yield domain, path
    elif not path.exists():
        raise InputFileError("no such file or folder", where=str(path), expected=WAYS)
    else:
        yield tuple(task_files(path))


def _in_folder(folder: Path, domain: Path | None) -> Iterator[tuple[Path, ...]]:
    problems = problems_in(folder, below=True)
    models = files_in(folder, ".jani", below=True)
    if problems and models:
        raise InputFileError(
            f"the folder has problems and models, such as {problems[0].name} and {models[0].name}",
            where=str(folder),
            expected="problems, or models",
        )
    if not problems and not models:
        raise InputFileError(
            "the folder has neither problem files nor models",
            where=str(folder),
            expected=WAYS,
        )
    for file in problems:
        yield tuple(task_files(file)) if domain is None else (domain, file)
    for file in models:
        yield (file,)


def _listed(path: Path, domain: Path | None) -> Iterator[tuple[Path, ...]]:
    try:
        lines = read_bytes(path, MAX_LIST_BYTES, "a list of tasks").decode().splitlines()
    except UnicodeDecodeError:
        raise InputFormatError(
            "not a text file", where=str(path), expected="tasks, one a line"
        ) from None
    tasks = 0
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        try:
            # Splitting it would take time with the square of its length.
            if len(line) > MAX_LINE and not line.lstrip().startswith("#"):
                raise ValueError(f"it has more than {MAX_LINE:,} letters")
            words = _words(line)
        except ValueError as error:
            raise InputFormatError(f"cannot read the line: {error}", where=where) from None
        files = [path.parent / word for word in words]
        if len(files) > 2 or any(_is_list(file) for file in files):
            raise InputFormatError(
                f"{line.strip()!r:.80} is not a task",
                where=where,
                expected="a problem, DOMAIN PROBLEM, a folder or a pattern",
                hint="put names with spaces in quotes" if len(files) > 2 else None,
            )
        for file in files:
            check_name(file)
        tasks += len(files)
        if len(files) == 2:
            yield tuple(files)
        elif files:
            yield from _tasks(files[0], domain, listed=True)
    if not tasks:
        raise InputFormatError("the list is empty", where=str(path), expected="tasks, one a line")


def _words(line: str) -> list[str]:
    """The words of a line of a list, as in a shell."""
    found = _BEFORE_COMMENT.match(line)
    before = "" if found is None else found[0]
    is_comment = line[len(before) :].lstrip().startswith("#")
    return shlex.split(before if is_comment else line)


def _check_worlds(found: Sequence[tuple[Path, ...]], paths: Sequence[Path]) -> None:
    models = [files[0] for files in found if is_model(list(files))]
    if models and len(models) < len(found):
        raise InputFileError(
            f"problems and models, such as {models[0].name}, are not tested together",
            where=str(paths[0]),
            expected="problems, or models",
        )


def _is_list(path: Path) -> bool:
    return path.suffix.lower() in LISTS


def _is_single(folder: Path) -> bool:
    """Whether a folder is one task, as `misstep generate` makes them: its name is that of the task."""
    return [file.name for file in problems_in(folder, below=True)] == ["problem.pddl"]


def _named(files: tuple[Path, ...]) -> Path:
    """The file that gives a task its name."""
    return files[-1]


def _distinct(files: Sequence[Path]) -> list[str]:
    """The names of the files, with as much of their folders as makes them unique."""
    parts = [_telling(file.resolve().with_suffix("").parts) for file in files]
    seen: set[tuple[str, ...]] = set()
    for file, own in zip(files, parts, strict=True):
        if own in seen:
            raise UsageError("a problem is given twice", where=str(file))
        seen.add(own)
    # In the order of their ends, those that share the longest one are neighbours.
    neighbours = pairwise(sorted(own[::-1] for own in parts))
    shared = max((_shared(one, other) for one, other in neighbours), default=0)
    return ["/".join(own[-shared - 1 :]) for own in parts]


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many parts two paths begin with alike."""
    both = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))


def _telling(parts: tuple[str, ...]) -> tuple[str, ...]:
    """A `problem.pddl` is named after its folder."""
    return parts[:-1] if parts[-1] == "problem" and len(parts) > 1 else parts


__all__ = ["TaskFiles", "is_suite", "suite_files"]
