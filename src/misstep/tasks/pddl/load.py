"""Loads a planning task from PDDL or SAS files."""

from __future__ import annotations

from pathlib import Path

from misstep.errors import InputFormatError, UnsupportedError
from misstep.files import read_bytes
from misstep.tasks.domains.model import Instance
from misstep.tasks.files import StrPath, is_model, task_files
from misstep.tasks.pddl.text import Source, read_source
from misstep.tasks.pddl.translate import translate_sources
from misstep.tasks.task import Task

# A SAS file is read in one pass, so it may be larger than what is sensible for PDDL.
MAX_SAS_BYTES = 512 * 2**20


def load_planning_task(
    *given: StrPath | Instance,
    keep_unimportant: bool = True,
    time_limit: float = 300,
    memory_limit_mb: int | None = 4096,
    use_cache: bool = True,
) -> Task:
    """A task from its files or from a generated instance; `load_task` says which, and it takes models too.

    `keep_unimportant` keeps variables that do not matter for the goal, because a policy may look at them.
    The limits are those of the translator.
    """
    name, pddl = None, None
    if len(given) == 1 and isinstance(given[0], Instance):
        name, pddl = given[0].name, _generated(given[0])
    else:
        files = task_files(*(path for path in given if not isinstance(path, Instance)))
        if is_model(files):
            raise UnsupportedError(
                "a JANI model is not a planning task",
                where=str(files[0]),
                hint="misstep test, census, risk, prove, shield, train qlearning and train loop take models; in Python "
                "load_task does",
            )
        if len(files) == 1:
            return _build(read_bytes(files[0], MAX_SAS_BYTES, "a SAS file"), files[0])
        pddl = (read_source(files[0]), read_source(files[1]))
    sas = translate_sources(
        pddl,
        keep_unimportant=keep_unimportant,
        time_limit=time_limit,
        memory_limit_mb=memory_limit_mb,
        use_cache=use_cache,
    )
    return _build(sas, Path(pddl[1].path), pddl, name)


def _generated(instance: Instance) -> tuple[Source, Source]:
    domain, problem = (
        Source(f"{instance.name}/{file}", text.encode()) for file, text in instance.files.items()
    )
    return domain, problem


def _build(
    sas: bytes, path: Path, pddl: tuple[Source, Source] | None = None, name: str | None = None
) -> Task:
    try:
        return Task(sas, name=path.stem if name is None else name, pddl=pddl)
    except InputFormatError as error:
        line = (error.where or "").removeprefix("line ")
        translated = pddl is not None  # then the line is not one of the user's files
        raise InputFormatError(
            error.what,
            where=f"the translation of {path}" if translated else f"{path}:{line}",
            expected=error.expected,
            hint=None if translated else _hint(sas),
        ) from None
    except UnsupportedError as error:
        raise UnsupportedError(
            error.what,
            where=str(path),
            hint="compile derived predicates away; an empty, disjunctive or quantified goal also becomes an axiom",
        ) from None


def _hint(content: bytes) -> str:
    if content.lstrip().startswith(b"{"):
        return "is this a model? The name of its file has to end in .jani"
    return "the file is damaged or no SAS file of version 3"


__all__ = ["load_planning_task"]
