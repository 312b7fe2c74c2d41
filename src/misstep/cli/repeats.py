"""`--repeats` of `misstep train`: the same training with several seeds, in processes or on a cluster."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from misstep.binomial import percent
from misstep.cli.arguments import Cluster, WorkerMemory, check_limits, typed
from misstep.cli.groups import Group
from misstep.cli.output import phase_progress, print_json, print_table, remark
from misstep.errors import InputFileError, Interrupted, UsageError
from misstep.files import reason, write_bytes

if TYPE_CHECKING:
    from misstep.experiments.apart import Where
    from misstep.experiments.kinds import Json
    from misstep.tasks.suites import TaskFiles


@dataclass(frozen=True)
class Repeats(Group, heading="Repeats"):
    """The same training several times."""

    repeats: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Train N times, with the seeds SEED to SEED+N-1, each in a folder DIR/seed-K, and name the best.",
            show_default=False,
        ),
    ] = None
    jobs: Annotated[
        int,
        typer.Option(
            metavar="N", help="Number of worker processes; each makes one training at a time."
        ),
    ] = 1
    cluster: Cluster = None
    memory: WorkerMemory = None

    def check(self, context: typer.Context) -> None:
        """Refuse options that have no meaning without repeats."""
        check_limits(jobs=self.jobs, memory=self.memory)
        if self.repeats is None and (asked := typed(context, ["jobs", "cluster", "memory"])):
            raise UsageError(f"{asked[0]} has no meaning here", expected="--repeats N")

    def where(self) -> Where:
        from misstep.experiments.apart import Where

        found = Where(self.jobs, self.cluster, self.memory)
        found.check()
        return found


@dataclass(frozen=True)
class Training:
    """What all repeats have in common."""

    settings: dict[str, Any]
    more: dict[str, Any]  # other keywords of `misstep.train`
    tasks: list[TaskFiles]
    validate: list[TaskFiles]
    model: dict[str, Any] | None = None  # keywords of `load_jani`


def repeat(training: Training, repeats: Repeats, out: Path, *, resume: bool, as_json: bool) -> int:
    """Train several times, report each result, and name the best."""
    from misstep.experiments.apart import done_apart
    from misstep.experiments.kinds.repeats import kept

    assert repeats.repeats is not None
    where = repeats.where()
    first = training.settings.get("seed", 0)
    folders = {seed: out / f"seed-{seed}" for seed in range(first, first + repeats.repeats)}
    mark = _begin(out, folders, resume)
    common = _payload(training, where)
    payloads = [
        {**common, "seed": seed, "folder": str(folder.resolve()), "mark": mark}
        for seed, folder in folders.items()
    ]
    numbered = list(folders.items())
    found: dict[int, Json] = {}
    try:
        with phase_progress() as progress:
            for number, result in done_apart("training", payloads, where, remark):
                seed, folder = numbered[number]
                found[seed] = kept(folder, result)
                progress("trainings", len(found), len(folders))
    except (KeyboardInterrupt, Interrupted):
        raise Interrupted(
            f"stopped by the user after {len(found)} of {len(folders)} trainings; what is done is kept",
            where=str(out),
            hint="the same command with --resume continues",
        ) from None
    return _tell(dict(sorted(found.items())), out, as_json)


def _begin(out: Path, folders: dict[int, Path], resume: bool) -> str:
    """Make the folder; returns the text of a file by which a worker recognises the folder."""
    from misstep.experiments.kinds.repeats import MARK
    from misstep.training.resumable import SETTINGS

    for folder in folders.values():
        if folder.is_symlink():  # the folder of all may come from a stranger
            raise InputFileError(
                "this is a symbolic link, which is not followed here",
                where=str(folder),
                expected="a folder of a training",
            )
        if not resume and (folder / SETTINGS).exists():
            raise InputFileError(
                "there is a training in this folder",
                where=str(folder),
                hint="continue it with --resume, or choose another folder",
            )
    if resume and not (out / MARK).exists():
        raise InputFileError("no repeats of a training in this folder", where=str(out))
    mark = uuid.uuid4().hex
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputFileError(f"cannot write there: {reason(error)}", where=str(out)) from error
    _write(out / MARK, mark)
    return mark


def _write(file: Path, text: str) -> None:
    """A file of the folder; a link in its place is replaced, not followed."""
    write_bytes(file, text.encode(), follow=False)


def _payload(training: Training, where: Where) -> Json:
    from misstep.experiments.apart import carried

    files = [file for own in (*training.tasks, *training.validate) for file in own.files]
    absolute = ("from_bugs", "init")  # are seen by workers, or are not
    return {
        "settings": training.settings,
        "more": {
            name: str(Path(value).resolve()) if name in absolute and value is not None else value
            for name, value in training.more.items()
        },
        "tasks": _named(training.tasks),
        "validate": _named(training.validate),
        "model": training.model,
        "carried": carried(where, None, files),
    }


def _named(tasks: list[TaskFiles]) -> list[Json]:
    return [
        {"name": own.name, "files": [str(file.resolve()) for file in own.files]} for own in tasks
    ]


def _tell(found: dict[int, Json], out: Path, as_json: bool) -> int:
    """0 if all were made, else the exit code of the first that failed."""
    from misstep.experiments.apart import FAILURE
    from misstep.experiments.kinds.repeats import best_of

    done = {seed: own for seed, own in found.items() if FAILURE not in own}
    failed = {seed: own for seed, own in found.items() if FAILURE in own}
    best = list(done)[best_of(list(done.values()))] if done else None
    told = {
        "folder": str(out),
        "repeats": [{"seed": seed, **own} for seed, own in found.items()],
        "failed": len(failed),
        "best_seed": best,
        "best": None if best is None else done[best]["best"],
    }
    _write(out / "repeats.json", json.dumps(told, indent=1) + "\n")
    for seed, own in failed.items():
        remark(f"seed {seed}: {own[FAILURE]}")
    if as_json:
        print_json(told)
    elif best is not None:
        _print(done, best)
    return int(next(iter(failed.values()))["exit_code"]) if failed else 0


def _print(done: dict[int, Json], best: int) -> None:
    rows = []
    for seed, own in done.items():
        test = own["test"] or {}
        if "goal_rate" in test:
            figures = {
                "goal": f"{percent(test['goal_rate'])}%",
                "unsafe": f"{percent(test['unsafe_rate'])}%",
            }
        else:
            figures = {"train": f"{percent(own['success'])}%"}
            if test:
                figures["validate"] = f"{test['coverage']}/{test['tasks']}"
                figures["states"] = f"{test['solved']}/{test['processed']}"
                figures["bugs"] = str(test["bugs"])
        rows.append({"seed": str(seed), **figures, "": "<- best" if seed == best else ""})
    print_table(list(rows[0]), [list(row.values()) for row in rows])
    chosen = done[best]["best"]
    spec = f"asnet:{chosen}" if chosen.endswith(".safetensors") else chosen
    print(f"\npolicy    {spec}")


__all__ = ["Repeats", "Training", "repeat"]
