"""Load planning tasks and models from files, and rebuild them from the stored data of a campaign."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any, overload

from misstep.errors import UsageError
from misstep.tasks.domains.model import Instance
from misstep.tasks.files import TAKES, StrPath, is_model, task_files
from misstep.tasks.jani.load import load_jani, rebuild
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.models.model import ModelInstance
from misstep.tasks.parameters import did_you_mean
from misstep.tasks.pddl.load import load_planning_task
from misstep.tasks.pddl.text import Source
from misstep.tasks.suites import suite_files
from misstep.tasks.task import Task

AnyTask = Task | JaniTask


def _keywords(function: Callable[..., object]) -> list[str]:
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return ["constants" if p.name == "parameters" else p.name for p in parameters]


PLANNING_OPTIONS = _keywords(load_planning_task)
MODEL_OPTIONS = _keywords(load_jani)


@overload
def load_task(task: Task | Instance, /, **options: Any) -> Task: ...
@overload
def load_task(task: JaniTask | ModelInstance, /, **options: Any) -> JaniTask: ...
@overload
def load_task(domain: StrPath, problem: StrPath, /, **options: Any) -> Task: ...
@overload
def load_task(path: StrPath, /, **options: Any) -> Task | JaniTask: ...
def load_task(*given: Any, **options: Any) -> Task | JaniTask:
    """Load a planning task or a model.

    A planning task is `(domain, problem)`, a problem or folder with its `domain.pddl`, or a `.sas` file; a model is
    a `.jani` file, a folder with one, or a `.prism` file (which needs stormpy). The result of `misstep.generate` is
    accepted too, and a task that is loaded already is returned unchanged.

    Options for planning tasks: `keep_unimportant=True` keeps variables that do not matter for the goal, because a
    policy may use them; `time_limit=300` (seconds), `memory_limit_mb=4096` and `use_cache=True` are options of the
    translator. Options for models: `property` (NAME, FILE or FILE#NAME; default: the first), `constants` (values of
    constants that the model leaves open), `out_of_bounds` ("error" or "disable"), `silent` ("refuse", "as_action" or
    "step") and `scale` ("none" or "l1"), see `load_jani`.
    """
    if len(given) == 1 and isinstance(given[0], (Task, JaniTask)):
        for option in options:
            raise UsageError(
                f"{option} has no effect: the task is loaded already", where=given[0].name
            )
        task: Task | JaniTask = given[0]
        return task
    if len(given) == 1 and isinstance(given[0], Instance):
        _check_options(options, PLANNING_OPTIONS, "planning tasks")
        return load_planning_task(given[0], **options)
    if len(given) == 1 and isinstance(given[0], ModelInstance):
        return _load_model(given[0], options)
    for path in given:
        if not isinstance(path, (str, os.PathLike)):
            raise UsageError(f"{path!r:.80} is not a task", expected=TAKES)
    files = task_files(*given)
    if not is_model(files):
        _check_options(options, PLANNING_OPTIONS, "planning tasks")
        return load_planning_task(*files, **options)
    if len(files) > 1:
        raise UsageError(
            f"{files[1]} is one file too many",
            where=str(files[0]),
            expected="one model, with its property in it or named by property=",
        )
    return _load_model(files[0], options)


def load_suite(
    *given: StrPath, domain: StrPath | None = None, **options: Any
) -> list[Task | JaniTask]:
    """Load many tasks: all problems, or all models, in folders and their subfolders.

    Arguments may also be patterns (`"tasks/p0*.pddl"`), lists (`"tasks.txt"`, one task per line) and single files. The
    domain of each problem is found beside it or up to three folders up, unless `domain` names one for all. The options
    are those of `load_task`. Tasks are named after their files, with as much of the folders as makes names different.
    """
    for path in (*given, *(() if domain is None else (domain,))):
        if not isinstance(path, (str, os.PathLike)):
            raise UsageError(f"{path!r:.80} is not a path", expected="folders, files or patterns")
    tasks: list[Task | JaniTask] = []
    for name, files in suite_files(given, domain):
        task: Task | JaniTask = load_task(*files, **options)
        task.name = name
        tasks.append(task)
    return tasks


def _load_model(model: StrPath | ModelInstance, options: Mapping[str, Any]) -> JaniTask:
    _check_options(options, MODEL_OPTIONS, "models")
    renamed = {("parameters" if k == "constants" else k): v for k, v in options.items()}
    return load_jani(model, **renamed)


def _check_options(options: Mapping[str, Any], known: list[str], kind: str) -> None:
    for option in options:
        if option not in known:
            raise UsageError(
                f"{option} is not an option of {kind}",
                expected="one of " + ", ".join(known),
                hint=did_you_mean(option, known),
            )


def rebuild_task(source: Mapping[str, Any]) -> Task | JaniTask:
    """Rebuild a task from its `source`, which has the content of its files; no file is read."""
    if source["world"] == JaniTask.world:
        return rebuild(source)
    files = source["files"]
    pddl = None
    if "domain" in files:
        paths = source["paths"]
        domain, problem = (Source(paths[part], files[part]) for part in ("domain", "problem"))
        pddl = (domain, problem)
    return Task(files["task.sas"], name=source["name"], pddl=pddl)


__all__ = ["AnyTask", "load_suite", "load_task", "rebuild_task"]
