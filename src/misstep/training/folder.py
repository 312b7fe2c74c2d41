"""The folder of a training: what it needs to continue after a crash, and every model it made.

    settings.json      what was asked for, and of which tasks
    log.jsonl          a line for each model, in order: the models that exist are those with a line here
    models/0007.safetensors    the model; moments/0007.npz, the optimiser; data/0007.npz, samples that its epoch added
    tree.json          the policy tree, made from the log
    best.safetensors   the model that was chosen

Files of a model are written before its line, each all or nothing, so a kill at any moment loses at most the current
epoch. An incomplete last line is ignored.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from misstep.errors import InputFileError, InputFormatError, UsageError
from misstep.files import open_inside, read_bytes, reason, write_bytes
from misstep.policies.asnet.model_file import read_model, write_model
from misstep.policies.asnet.weights import Floats, Weights
from misstep.policies.policy import checked_states
from misstep.tasks.task import State, Task
from misstep.training.resumable import MAX_BYTES, Arrays, ResumableFolder, json_object
from misstep.training.samples import Sample, Samples
from misstep.training.stored import damaged
from misstep.training.tree import Node, PolicyTree

if TYPE_CHECKING:
    from typing_extensions import Self


class TrainingFolder(ResumableFolder):
    FORMAT = "misstep-training"
    PARTS = ("models", "moments", "data")
    RESULTS = ("log.jsonl", "tree.json", "best.safetensors")

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        super().__init__(path, settings)
        self.tree = PolicyTree()

    @classmethod
    def open_folder(cls, path: Path, *, keep: int | None = None) -> Self:
        """Continue a training; with `keep`, after its first models only."""
        folder = super().open_folder(path)
        try:
            folder._read_log(keep)
        except BaseException:
            folder.close()
            raise
        return folder

    def _read_log(self, keep: int | None) -> None:
        log = self.path / "log.jsonl"  # which comes with the first model
        text = b""
        if log.exists():
            text = read_bytes(log, MAX_BYTES, "the log of a training", follow=False)
        whole = text[: text.rfind(b"\n") + 1]
        lines = whole.splitlines()
        if keep is not None:
            if not 0 <= keep <= len(lines):
                raise UsageError(
                    f"there are {len(lines)} models in the folder",
                    where=str(self.path),
                    expected=f"to keep 0 to {len(lines)} of them",
                )
            lines = lines[:keep]
        for number, line in enumerate(lines, start=1):
            where = f"{log}:{number}"
            self.tree.add(Node.from_dict(json_object(line, where), where))
        kept = b"".join(line + b"\n" for line in lines)
        if kept != text:
            with self.writing():
                write_bytes(log, kept, follow=False)

    # -- models -----------------------------------------------------------------------------------

    def model_path(self, id: int) -> Path:
        return self.path / "models" / f"{id:04d}.safetensors"

    def write_model(self, id: int, weights: Weights) -> str:
        with self.writing():
            return write_model(weights, self.model_path(id))

    def read_model(self, id: int) -> Weights:
        weights, digest = read_model(self.model_path(id))
        if digest != self.tree[id].digest:
            raise InputFormatError(
                "the file is not the one that the training wrote", where=str(self.model_path(id))
            )
        return weights

    def write_moments(self, id: int, step: int, first: Floats, second: Floats) -> None:
        arrays = {"step": np.array(step), "first": first, "second": second}
        self.write_arrays(f"moments/{id:04d}.npz", arrays)

    def read_moments(self, id: int) -> tuple[int, Floats, Floats]:
        name = f"moments/{id:04d}.npz"
        arrays = self.read_arrays(name, ("step", "first", "second"))
        with damaged(str(self.path / name)):
            step, first, second = (arrays[part] for part in ("step", "first", "second"))
            if step.shape != () or step.dtype.kind != "i" or step < 0:
                raise ValueError("the number of steps is not one")
            if first.dtype.kind != "f" or second.dtype.kind != "f" or first.shape != second.shape:
                raise ValueError("the moments are not two arrays of numbers")
            return int(step), first, second

    def add(self, node: Node) -> None:
        """The model exists from now on."""
        log = self.path / "log.jsonl"
        with self.writing():
            try:
                handle = open_inside(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                with os.fdopen(handle, "ab") as file:
                    file.write(_json(node.as_dict()))
                    file.flush()
                    os.fsync(handle)
            except OSError as error:
                raise InputFileError(f"cannot write: {reason(error)}", where=str(log)) from error
        self.tree.add(node)

    def finish(self, chosen: int, notes: dict[str, Any]) -> Path:
        """Write the tree and the chosen model."""
        weights = self.read_model(chosen)
        best = Weights(
            weights.shape,
            weights.hidden,
            weights.layers,
            weights.tensors,
            {**weights.training, **notes},
        )
        path = self.path / "best.safetensors"
        with self.writing():
            tree = _json({**self.tree.as_dict(), "chosen": chosen})
            write_bytes(self.path / "tree.json", tree, follow=False)
            write_model(best, path)
        return path

    # -- data -------------------------------------------------------------------------------------

    def write_data(self, id: int, samples: Samples, mark: list[tuple[int, int]]) -> None:
        """The data that was added since the mark."""
        arrays: Arrays = {}
        for t, (new, failed) in enumerate(samples.since(mark)):
            width = samples.tasks[t].variable_count
            arrays[f"states{t}"] = _rows([sample.state for sample in new], width)
            arrays[f"counts{t}"] = np.array([len(sample.good) for sample in new], np.int32)
            arrays[f"good{t}"] = np.array([op for sample in new for op in sample.good], np.int32)
            arrays[f"weights{t}"] = np.array([sample.weight for sample in new], np.float64)
            arrays[f"failed{t}"] = _rows(failed, width)
        self.write_arrays(f"data/{id:04d}.npz", arrays)

    def read_data(self, samples: Samples) -> None:
        """The data of all models of the tree, in order."""
        kinds = ("states", "counts", "good", "weights", "failed")
        expected = [f"{kind}{t}" for t in range(len(samples.tasks)) for kind in kinds]
        for node in self.tree:
            name = f"data/{node.id:04d}.npz"
            arrays = self.read_arrays(name, expected)
            with damaged(str(self.path / name)):
                for t, task in enumerate(samples.tasks):
                    found, failed = _lessons(task, *(arrays[f"{kind}{t}"] for kind in kinds))
                    for sample in found:
                        samples[t].add(sample)
                    for state in failed:
                        samples[t].give_up(state)


def _lessons(
    task: Task,
    states: NDArray[Any],
    counts: NDArray[Any],
    good: NDArray[Any],
    weights: NDArray[Any],
    failed: NDArray[Any],
) -> tuple[list[Sample], list[State]]:
    """The samples of a task, and the states that the teacher gave up on; a `ValueError` if they are not such."""
    for rows in (states, failed):
        if rows.ndim != 2 or rows.dtype != np.int32:
            raise ValueError("the states are not rows of whole numbers")
        checked_states(rows, task)
        task.check_batch(rows)
    shapes = {counts.shape, weights.shape, (len(states),)}
    if len(shapes) > 1 or counts.dtype != np.int32 or weights.dtype != np.float64:
        raise ValueError("there is not one count and weight for each state")
    if good.ndim != 1 or good.dtype != np.int32 or (counts < 0).any():
        raise ValueError("the operators are not whole numbers")
    offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    if offsets[-1] != len(good) or not np.isfinite(weights).all():
        raise ValueError("the operators do not fit the states")
    if ((good < 0) | (good >= task.operator_count)).any():
        raise ValueError("an operator is not one of the task")
    names, numbers = good.tolist(), weights.tolist()
    found = [
        Sample(State(row), tuple(names[offsets[i] : offsets[i + 1]]), numbers[i])
        for i, row in enumerate(states.tolist())
    ]
    return found, [State(row) for row in failed.tolist()]


def _rows(states: list[State], width: int) -> Any:
    return np.array([state.values for state in states], np.int32).reshape(len(states), width)


def _json(values: dict[str, Any]) -> bytes:
    return json.dumps(values, sort_keys=True).encode() + b"\n"


__all__ = ["TrainingFolder"]
