"""One of several trainings that differ only in their seed, as a piece of the command `train --repeats`.

If the worker sees the folder of the command, the training runs there and continues from the files of a killed one.
Otherwise it runs in a folder of its own, whose files are the result.
"""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from misstep.errors import InputFileError, InputFormatError, MisstepError
from misstep.experiments.apart import FAILURE, failure, files_at_hand
from misstep.experiments.kinds import Json
from misstep.files import reason, write_bytes
from misstep.tasks.jani.load import load_jani
from misstep.tasks.pddl.load import load_planning_task
from misstep.training.api import train
from misstep.training.resumable import SETTINGS
from misstep.training.score import Parts, ranking

MARK = "repeats.mark"  # file in the folder of the command, with a unique text
LOCKS = ("run.lock",)  # files of a training that are not sent back


def run(payload: Json) -> Json:
    """Runs one training. An error is a result, so that the others continue."""
    folder = Path(payload["folder"])
    try:
        is_here = _is_here(folder.parent / MARK, payload["mark"])
        if is_here and not payload["carried"]:  # a killed process leaves no folder
            return {"summary": asdict(_train(payload, folder, "")), "place": str(folder)}
        with tempfile.TemporaryDirectory(prefix="misstep-training-") as own:
            if is_here:
                summary = asdict(_train(payload, folder, own))
                return {"summary": summary, "place": str(folder)}
            place = Path(own, "training")
            summary = asdict(_train(payload, place, own))
            return {"summary": summary, "place": str(place), "files": _files(place)}
    except MisstepError as error:
        return failure(error)


def _is_here(file: Path, text: str) -> bool:
    try:
        return file.read_text() == text
    except (OSError, ValueError):  # no text: not the file of this command
        return False


def _train(payload: Json, folder: Path, own: str) -> Any:
    goes_on = (folder / SETTINGS).exists()
    more = dict(payload["more"])
    if goes_on:
        more.pop("init", None)  # of the beginning of a training on a model
        if payload["model"] is not None:
            more.pop("from_bugs", None)
    if payload["model"] is not None:
        (file,) = files_at_hand(payload["tasks"][0]["files"], payload["carried"], own)
        tasks: Any = load_jani(file, **payload["model"])
    else:
        tasks = _tasks(payload, "tasks", own)
        more["validate"] = _tasks(payload, "validate", own)
    settings = {**payload["settings"], "seed": payload["seed"]}
    if "hidden" in settings and isinstance(settings["hidden"], list):
        settings["hidden"] = tuple(settings["hidden"])
    if "ignore" in settings:
        settings["ignore"] = tuple(settings["ignore"])
    return train(tasks, folder, resume=goes_on, **more, **settings)


def _tasks(payload: Json, which: str, folder: str) -> list[Any]:
    tasks = []
    for own in payload[which]:
        task = load_planning_task(*files_at_hand(own["files"], payload["carried"], folder))
        task.name = own["name"]
        tasks.append(task)
    return tasks


def _files(place: Path) -> dict[str, str]:
    return {
        str(file.relative_to(place)): base64.b64encode(file.read_bytes()).decode()
        for file in sorted(place.rglob("*"))
        if file.is_file() and file.name not in LOCKS
    }


# -- on the coordinator ---------------------------------------------------------------------------


def kept(folder: Path, result: Json) -> Json:
    """The summary of a training; its files are in the folder afterwards, wherever it ran."""
    if FAILURE in result:
        return result
    try:
        return _kept(folder, result)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputFormatError(
            f"the result of a training cannot be read ({type(error).__name__})", where=str(folder)
        ) from error
    except OSError as error:  # a name that is no name of a file, a full disk
        raise InputFileError(
            f"cannot write a file of a training: {reason(error)}", where=str(folder)
        ) from error


def _kept(folder: Path, result: Json) -> Json:
    # Whoever is killed here leaves nothing that looks like a training, which begins with its settings.
    for name, content in sorted(
        result.get("files", {}).items(), key=lambda own: own[0] == SETTINGS
    ):
        file = folder / name
        if not file.resolve().is_relative_to(folder.resolve()):
            raise InputFormatError(f"a worker has sent a file {name!r:.80}", where=str(folder))
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(file, base64.b64decode(content))
    return {
        name: value.replace(result["place"], str(folder), 1) if isinstance(value, str) else value
        for name, value in result["summary"].items()
    }


def best_of(summaries: Sequence[Json]) -> int:
    """The best training, by the criterion by which each chose its best model; the first among equals."""
    tests: list[Json] = [own["test"] for own in summaries if own["test"] is not None]
    if len(tests) == len(summaries) and all("goal_rate" in test for test in tests):
        return _first_best([_by_episodes(test) for test in tests])
    if len(tests) == len(summaries):
        last = len(tests) - 1  # among equals it takes the last
        return last - ranking([_by_test(test) for test in reversed(tests)], [0] * len(tests))[0]
    losses = [own["loss"] for own in summaries]
    return _first_best(
        [
            (own["success"], float("-inf") if loss is None else -loss)
            for own, loss in zip(summaries, losses, strict=True)
        ]
    )


def _first_best(values: Sequence[Any]) -> int:
    return max(range(len(values)), key=lambda number: (values[number], -number))


def _by_episodes(test: Json) -> tuple[float, float, float]:
    return test["goal_rate"], -test["unsafe_rate"], test["return"]


def _by_test(test: Json) -> Parts:
    processed = max(1, test["processed"])
    return Parts(
        test["coverage"], Fraction(test["solved"], processed), 1 - Fraction(test["bugs"], processed)
    )


__all__ = ["MARK", "best_of", "kept", "run"]
