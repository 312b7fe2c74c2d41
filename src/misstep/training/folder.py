"""The folder of a training: what it needs to go on after a crash, and every model it made.

    settings.json      what was asked for, and of which tasks
    log.jsonl          a line for each model, in order: the models that exist are those with a line here
    models/0007.safetensors    the model; moments/0007.npz, the optimiser; data/0007.npz, samples that its epoch added
    tree.json          the policy tree, made from the log
    best.safetensors   the model that was chosen

Files of a model are written before its line, each all or nothing, so a kill at any moment costs at most the epoch
that was going on. A line that a kill has cut is no line.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from misstep.campaigns.lock import WriterLock
from misstep.errors import InputFileError, InputFormatError, UsageError
from misstep.files import read_bytes, write_bytes
from misstep.policies.asnet.model_file import read_model, write_model
from misstep.policies.asnet.weights import Floats, Weights
from misstep.tasks.task import State
from misstep.training.samples import Sample, Samples
from misstep.training.tree import Node, PolicyTree

FORMAT = "misstep-training"
VERSION = 1
MAX_BYTES = 1 << 30


class TrainingFolder:
    """Open it with `create` or `open_folder`; it holds the lock until `close`."""

    def __init__(self, path: Path, settings: dict[str, Any], lock: WriterLock) -> None:
        self.path = path
        self.settings = settings
        self._lock = lock
        self.tree = PolicyTree()

    @classmethod
    def create(cls, path: Path, settings: dict[str, Any]) -> TrainingFolder:
        if (path / "settings.json").exists():
            raise InputFileError(
                "there is a training in this folder",
                where=str(path),
                hint="go on with it by --resume, or choose another folder",
            )
        try:
            for name in ("models", "moments", "data"):
                (path / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputFileError(
                f"cannot make the folder: {error.strerror or error}", where=str(path)
            ) from error
        lock = WriterLock(path)
        folder = cls(path, settings, lock)
        about = {"format": FORMAT, "version": VERSION, **settings}
        write_bytes(path / "log.jsonl", b"")
        write_bytes(path / "settings.json", _json(about))
        return folder

    @classmethod
    def open_folder(cls, path: Path, *, keep: int | None = None) -> TrainingFolder:
        """Go on with a training; with `keep`, after its first models only."""
        where = str(path / "settings.json")
        if not path.is_dir() or not (path / "settings.json").exists():
            raise InputFileError(
                "no training in this folder", where=str(path), hint="leave out --resume"
            )
        try:
            settings = json.loads(read_bytes(path / "settings.json", MAX_BYTES, "settings"))
        except ValueError as error:
            raise InputFormatError(f"not JSON: {error}", where=where) from error
        if not isinstance(settings, dict) or settings.pop("format", None) != FORMAT:
            raise InputFormatError("these are not the settings of a training", where=where)
        if settings.pop("version", None) != VERSION:
            raise InputFormatError("another version of the format", where=where)
        folder = cls(path, settings, WriterLock(path))
        try:
            folder._read_log(keep)
        except BaseException:
            folder.close()
            raise
        return folder

    def _read_log(self, keep: int | None) -> None:
        where = str(self.path / "log.jsonl")
        text = read_bytes(self.path / "log.jsonl", MAX_BYTES, "the log of a training")
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
        for number, line in enumerate(lines):
            try:
                values = json.loads(line)
            except ValueError as error:
                raise InputFormatError(
                    f"not JSON: {error}", where=f"{where}:{number + 1}"
                ) from error
            self.tree.add(Node.from_dict(values, f"{where}:{number + 1}"))
        kept = b"".join(line + b"\n" for line in lines)
        if kept != text:
            write_bytes(self.path / "log.jsonl", kept)

    def close(self) -> None:
        self._lock.release()

    def __enter__(self) -> TrainingFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- models -----------------------------------------------------------------------------------

    def model_path(self, id: int) -> Path:
        return self.path / "models" / f"{id:04d}.safetensors"

    def write_model(self, id: int, weights: Weights) -> str:
        return write_model(weights, self.model_path(id))

    def read_model(self, id: int) -> Weights:
        weights, digest = read_model(self.model_path(id))
        if digest != self.tree[id].digest:
            raise InputFormatError(
                "the file is not the one that the training wrote", where=str(self.model_path(id))
            )
        return weights

    def write_moments(self, id: int, step: int, first: Floats, second: Floats) -> None:
        content = _npz(step=np.array(step), first=first, second=second)
        write_bytes(self.path / "moments" / f"{id:04d}.npz", content)

    def read_moments(self, id: int) -> tuple[int, Floats, Floats]:
        arrays = self._read_npz(self.path / "moments" / f"{id:04d}.npz")
        return int(arrays["step"]), arrays["first"], arrays["second"]

    def add(self, node: Node) -> None:
        """The model exists from now on."""
        line = _json(node.as_dict())
        try:
            with (self.path / "log.jsonl").open("ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InputFileError(
                f"cannot write: {error.strerror or error}",
                where=str(self.path),
                hint="everything before is kept; make room and use --resume",
            ) from error
        self.tree.add(node)

    def finish(self, chosen: int, notes: dict[str, Any]) -> Path:
        """Write the tree and the chosen model."""
        write_bytes(self.path / "tree.json", _json({**self.tree.as_dict(), "chosen": chosen}))
        weights = self.read_model(chosen)
        best = Weights(
            weights.shape,
            weights.hidden,
            weights.layers,
            weights.tensors,
            {**weights.training, **notes},
        )
        write_model(best, self.path / "best.safetensors")
        return self.path / "best.safetensors"

    # -- data -------------------------------------------------------------------------------------

    def write_data(self, id: int, samples: Samples, mark: list[tuple[int, int]]) -> None:
        """What was added to the data since the mark."""
        arrays: dict[str, Any] = {}
        for t, (new, failed) in enumerate(samples.since(mark)):
            width = samples.tasks[t].variable_count
            arrays[f"states{t}"] = _rows([sample.state for sample in new], width)
            arrays[f"counts{t}"] = np.array([len(sample.good) for sample in new], np.int32)
            arrays[f"good{t}"] = np.array([op for sample in new for op in sample.good], np.int32)
            arrays[f"weights{t}"] = np.array([sample.weight for sample in new], np.float64)
            arrays[f"failed{t}"] = _rows(failed, width)
        write_bytes(self.path / "data" / f"{id:04d}.npz", _npz(**arrays))

    def read_data(self, samples: Samples) -> None:
        """The data of all models of the tree, in order."""
        for node in self.tree:
            arrays = self._read_npz(self.path / "data" / f"{node.id:04d}.npz")
            for t in range(len(samples.tasks)):
                offsets = np.concatenate([[0], np.cumsum(arrays[f"counts{t}"])])
                good = arrays[f"good{t}"].tolist()
                weights = arrays[f"weights{t}"].tolist()
                for i, row in enumerate(arrays[f"states{t}"].tolist()):
                    own = tuple(good[offsets[i] : offsets[i + 1]])
                    samples[t].add(Sample(State(row), own, weights[i]))
                for row in arrays[f"failed{t}"].tolist():
                    samples[t].give_up(State(row))

    @staticmethod
    def _read_npz(path: Path) -> dict[str, Any]:
        content = read_bytes(path, MAX_BYTES, "a file of the training")
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                return dict(arrays)
        except (ValueError, OSError, KeyError, EOFError) as error:
            raise InputFormatError(f"the file is damaged: {error}", where=str(path)) from error


def _rows(states: list[State], width: int) -> Any:
    return np.array([state.values for state in states], np.int32).reshape(len(states), width)


def _json(values: dict[str, Any]) -> bytes:
    return json.dumps(values, sort_keys=True).encode() + b"\n"


def _npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


__all__ = ["TrainingFolder"]
