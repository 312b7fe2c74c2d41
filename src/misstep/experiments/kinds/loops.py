"""Learning from bugs of a model in rounds: a unit trains a network that is not safe yet, and continues from it.

The arms are those of `misstep train loop`: `bugs` has episodes that begin in bugs, `plain` learns as many steps without
them, and `shield` is `bugs` with the shield. After each round the network is measured by new episodes, the fuzzer and
the decider; round 0 is the network that all arms begin with. For each row, `first` is the number of steps that this
network has learnt and `steps` the number of steps of a round; `share` reduces both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from misstep.errors import InputFileError, UnsupportedError
from misstep.experiments.expressions import Value
from misstep.experiments.kinds import MISSING, Json, Part
from misstep.experiments.schema import Key, number, whole
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.models import generate_model, write_model

WORLD = "models"
VERSION = 1
SHIELD = "shield"
_FEWEST = {"steps": 64, "runs": 10, "episodes": 50}


def _by_row(own: Any) -> bool:
    return isinstance(own, dict) and all(isinstance(x, int) and x > 0 for x in own.values())


KEYS = {
    "first": Key("a table of rows with a number each", _by_row),
    "steps": Key("a table of rows with a number each", _by_row),
    "share": number(1.0),
    "rounds": whole(3),
    "runs": whole(200),
    "episodes": whole(2000),
    "hidden": whole(32),
}
COLUMNS = (
    *("arm", "round", "steps", "goal_rate", "unsafe_rate", "episodes", "runs", "unsafe_runs"),
    *("bugs", "not_bugs", "unknown"),
)


def units(step: Json, row: Json, seed: int) -> Iterator[Part]:
    for name in ("first", "steps"):
        if row["name"] not in step[name]:
            raise UnsupportedError(
                f"{name} of the step {step['name']} has no number for {row['name']}"
            )
    share = min(1.0, step["share"])
    payload = {
        "subject": row["subject"],
        "first": max(_FEWEST["steps"], int(step["first"][row["name"]] * share)),
        "steps": max(_FEWEST["steps"], int(step["steps"][row["name"]] * share)),
        "runs": max(_FEWEST["runs"], int(step["runs"] * share)),
        "episodes": max(_FEWEST["episodes"], int(step["episodes"] * share)),
        "rounds": step["rounds"],
        "hidden": step["hidden"],
        "seed": seed,
    }
    work = payload["first"] + 3 * step["rounds"] * payload["steps"]  # three arms
    yield Part(f"{step['rounds']} rounds", payload, work)


def run(payload: Json) -> Json:
    raise UnsupportedError("a training needs a folder", where=payload["subject"]["model"])


def run_in(payload: Json, place: Path) -> Json:
    from misstep.training.qlearning.loop import LoopSettings
    from misstep.training.qlearning.settings import QSettings
    from misstep.training.qlearning.trainer import resume, train

    task = _model(payload["subject"], place)
    learning = QSettings(
        hidden=(payload["hidden"],) * 2,
        steps=payload["steps"],
        seed=payload["seed"],
        horizon=100,
        checkpoints=4,
        epsilon_first=0.2,
        epsilon_last=0.05,
    )
    first = place / "first"
    if (first / "settings.json").exists():
        resume(task, first)
    else:
        train(
            task,
            first,
            replace(learning, steps=payload["first"], epsilon_first=1.0, checkpoints=2),
        )
    settings = LoopSettings(
        rounds=payload["rounds"],
        runs=payload["runs"],
        episodes=payload["episodes"],
        test_seconds=30,
        learning=learning,
    )
    rounds = _looped(task, first, place / "loop", settings)
    shielded = replace(settings, plain=False, learning=replace(learning, shield=True))
    rounds += [{**own, "arm": SHIELD} for own in _looped(task, first, place / SHIELD, shielded)]
    return {"rounds": rounds}


def _model(found: Json, place: Path) -> JaniTask:
    if MISSING in found:
        raise InputFileError(found[MISSING])
    if found["model"].endswith(".jani"):
        return load_jani(Path(found["model"]))
    path = place / "model.jani"
    write_model(generate_model(found["model"], **found["options"]), path)
    return load_jani(path)


def _looped(task: JaniTask, first: Path, folder: Path, settings: Any) -> list[Json]:
    from misstep.training.qlearning.loop import run_loop

    begun = (folder / "loop.json").exists()
    rows = run_loop(task, first / "last.jani2nnet", folder, settings, resume=begun)
    return [{name: own for name, own in asdict(row).items() if name in COLUMNS} for row in rows]


def observations(payload: Json, result: Json) -> Iterator[dict[str, Value]]:  # noqa: ARG001
    yield from result["rounds"]


def longest(payload: Json) -> float | None:  # noqa: ARG001
    return None


__all__ = ["observations", "run", "run_in", "units"]
