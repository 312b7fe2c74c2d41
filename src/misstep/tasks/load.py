"""From files to a task."""

from __future__ import annotations

import os
from pathlib import Path

from misstep.errors import InputFileError, InputFormatError, UnsupportedError, UsageError
from misstep.files import read_bytes
from misstep.tasks.pddl.text import Source, read_source
from misstep.tasks.pddl.translate import translate_sources
from misstep.tasks.task import Task

# A SAS file is read in one pass, so it may be larger than what is sensible for PDDL.
MAX_SAS_BYTES = 512 * 2**20


def load_task(
    *paths: str | os.PathLike[str],
    keep_unimportant: bool = True,
    time_limit: float = 300,
    memory_limit_mb: int | None = 4096,
    use_cache: bool = True,
) -> Task:
    """Load a task from `(domain, problem)`, a `.sas` file, or a problem or folder with its `domain.pddl`.

    `keep_unimportant` keeps variables that do not matter for the goal, because a policy may look at them.
    The limits are those of the translator.
    """
    files = _resolve([Path(path) for path in paths])
    if files[0].suffix.lower() == ".jani":
        raise UnsupportedError(
            "a JANI model is no planning task",
            where=str(files[0]),
            hint="misstep test, census and train qlearning take models; in Python load_jani does",
        )
    if len(files) == 1:
        return _load_sas(files[0])
    domain, problem = files
    pddl = (read_source(domain), read_source(problem))
    sas = translate_sources(
        pddl,
        keep_unimportant=keep_unimportant,
        time_limit=time_limit,
        memory_limit_mb=memory_limit_mb,
        use_cache=use_cache,
    )
    return _build(sas, problem, pddl)


def _resolve(paths: list[Path]) -> list[Path]:
    """The SAS file alone, or domain and problem."""
    if len(paths) == 1:
        path = paths[0]
        if path.is_dir():
            return [path / "domain.pddl", path / "problem.pddl"]
        if path.suffix.lower() != ".pddl":
            return paths
        candidates = [path.with_name("domain.pddl"), path.with_name(f"{path.stem}-domain.pddl")]
        for domain in candidates:
            if domain.is_file() and domain != path:
                return [domain, path]
        if not path.exists():
            raise InputFileError("no such file", where=str(path))
        raise InputFileError(
            "a problem without its domain",
            where=str(path),
            expected=f"{candidates[0].name} in the same folder",
            hint="name the domain file first: DOMAIN.pddl PROBLEM.pddl",
        )
    if len(paths) == 2:
        return paths
    raise UsageError(
        f"{len(paths)} files do not make a task",
        expected="DOMAIN.pddl PROBLEM.pddl, or one TASK.sas",
    )


def _load_sas(path: Path) -> Task:
    return _build(read_bytes(path, MAX_SAS_BYTES, "a SAS file"), path)


def _build(sas: bytes, path: Path, pddl: tuple[Source, Source] | None = None) -> Task:
    try:
        return Task(sas, name=path.stem, pddl=pddl)
    except InputFormatError as error:
        line = (error.where or "").removeprefix("line ")
        raise InputFormatError(
            error.what,
            where=f"{path}:{line}",
            expected=error.expected,
            hint="the file is damaged or no SAS file of version 3",
        ) from None
    except UnsupportedError as error:
        raise UnsupportedError(
            error.what,
            where=str(path),
            hint="compile derived predicates away; an empty, disjunctive or quantified goal also becomes an axiom",
        ) from None


__all__ = ["load_task"]
