"""The census of one task of many, as a piece of the command `census`."""

from __future__ import annotations

import faulthandler
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from misstep.campaigns.alarm import Alarm, OutOfTime
from misstep.errors import MemoryLimitError, MisstepError, TimeLimitError
from misstep.experiments.apart import at_hand_here, failure, files_at_hand
from misstep.experiments.kinds import Json
from misstep.faults.census import census, counted
from misstep.tasks.jani.load import load_jani
from misstep.tasks.load import AnyTask
from misstep.tasks.pddl.load import load_planning_task

OVERDUE = 10.0  # seconds after the limit, in which native code has to notice it


def run(payload: Json) -> Json:
    """The census of a task. An error in a task or its policy is a result, so that the others continue."""
    seconds = payload["time_limit"]
    try:
        with tempfile.TemporaryDirectory(prefix="misstep-census-") as folder, _limited(seconds):
            task = _read(payload, folder)
            policy = payload["policy"]
            if policy is not None:
                policy = at_hand_here(policy, payload["carried"], folder)
            found = census(
                task,
                policy,
                inapplicable=payload["inapplicable"],
                max_states=payload["max_states"],
                time_limit=seconds,
                memory_limit_mb=payload["memory_limit"],
            )
            counts, bugs = counted(task.name, payload["policy"], found)
            return {"counts": counts, "bugs": bugs}
    except OutOfTime:
        return failure(TimeLimitError(f"the time limit of {seconds:g} seconds was reached"))
    except MemoryError:
        return failure(MemoryLimitError("there was too little memory"))
    except MisstepError as error:
        return failure(error)


@contextmanager
def _limited(seconds: float | None) -> Iterator[None]:
    """Stops Python code by an alarm, and ends the process if native code does not return."""
    if seconds is None:
        yield
        return
    faulthandler.dump_traceback_later(seconds + OVERDUE, exit=True)
    try:
        with Alarm(seconds):
            yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _read(payload: Json, folder: str) -> AnyTask:
    files = files_at_hand(payload["files"], payload["carried"], folder)
    task: AnyTask
    if payload["model"] is not None:
        task = load_jani(files[0], **payload["model"])
    else:
        task = load_planning_task(*files, keep_unimportant=payload["keep_unimportant"])
    task.name = payload["name"]
    return task


__all__ = ["run"]
