"""The folder of a training.

    settings.json                what was asked for, and of which task
    log.jsonl                    a line for each checkpoint: figures of the episodes since the last one, and of a test
    checkpoints/000020000.nnet   with its interface .jani2nnet beside it
    best.nnet, last.nnet         and their interfaces: the best checkpoint, and the network as it was left
    state.npz                    what going on needs

The state is written last, so after a kill the training goes on at the checkpoint that the state belongs to, and makes
what came after it again, the same. Lines of the log beyond the state are dropped then.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep.campaigns.lock import WriterLock
from misstep.errors import InputFileError, InputFormatError
from misstep.files import read_bytes, write_bytes
from misstep.policies.networks.mlp import MlpWeights
from misstep.policies.networks.nnet import write_nnet
from misstep.tasks.jani.interface import write_interface

FORMAT = "misstep-qlearning"
VERSION = 1
MAX_BYTES = 2**30
Arrays = dict[str, NDArray[np.generic]]


class QFolder:
    """Open it with `create` or `open_folder`; it holds the lock until `close`."""

    def __init__(self, path: Path, settings: dict[str, Any], lock: WriterLock) -> None:
        self.path = path
        self.settings = settings
        self.lines: list[dict[str, Any]] = []
        self._lock = lock

    @classmethod
    def create(cls, path: Path, settings: dict[str, Any]) -> QFolder:
        if (path / "settings.json").exists():
            raise InputFileError(
                "there is a training in this folder",
                where=str(path),
                hint="go on with it by --resume, or choose another folder",
            )
        try:
            (path / "checkpoints").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputFileError(
                f"cannot make the folder: {error.strerror or error}", where=str(path)
            ) from error
        folder = cls(path, {"format": FORMAT, "version": VERSION, **settings}, WriterLock(path))
        folder.write_settings()
        return folder

    @classmethod
    def open_folder(cls, path: Path) -> QFolder:
        file = path / "settings.json"
        if not file.exists():
            raise InputFileError(
                "there is no training in this folder", where=str(path), hint="leave out --resume"
            )
        settings = _json(read_bytes(file, MAX_BYTES, "the settings of a training"), str(file))
        if settings.get("format") != FORMAT or settings.get("version") != VERSION:
            raise InputFormatError(
                "this is no Q-learning", where=str(path), expected=f"{FORMAT} {VERSION}"
            )
        return cls(path, settings, WriterLock(path))

    def close(self) -> None:
        self._lock.release()

    def __enter__(self) -> QFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- what is written --------------------------------------------------------------------------

    def write_settings(self) -> None:
        text = json.dumps(self.settings, indent=1, ensure_ascii=False) + "\n"
        write_bytes(self.path / "settings.json", text.encode())

    def write_network(
        self, name: str, weights: MlpWeights, inputs: Sequence[str], labels: Sequence[str]
    ) -> Path:
        """`NAME.nnet` and `NAME.jani2nnet`; returns the interface, which is what a policy is loaded from."""
        network = self.path / f"{name}.nnet"
        interface = network.with_suffix(".jani2nnet")
        write_nnet(weights, network)
        write_interface(
            interface, network=network, inputs=inputs, labels=labels, hidden=weights.sizes[1:-1]
        )
        return interface

    def add_line(self, line: dict[str, Any]) -> None:
        self.lines.append(line)
        self._write_log()

    def _write_log(self) -> None:
        text = "".join(json.dumps(line) + "\n" for line in self.lines)
        write_bytes(self.path / "log.jsonl", text.encode())

    def write_state(self, arrays: Arrays, rest: dict[str, Any]) -> None:
        content = io.BytesIO()
        packed = np.frombuffer(json.dumps(rest).encode(), dtype=np.uint8)
        np.savez(content, __rest__=packed, **arrays)  # type: ignore[arg-type]
        write_bytes(self.path / "state.npz", content.getvalue())

    # -- what is read -----------------------------------------------------------------------------

    def read_state(self) -> tuple[Arrays, dict[str, Any]] | None:
        """None if the training was stopped before its first state."""
        file = self.path / "state.npz"
        if not file.exists():
            return None
        content = read_bytes(file, MAX_BYTES, "the state of a training")
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as found:
                arrays = {name: found[name] for name in found.files}
            rest = json.loads(arrays.pop("__rest__").tobytes())
            step = int(rest["step"])
        except (ValueError, KeyError, TypeError, OSError, zipfile.BadZipFile) as error:
            raise InputFormatError(
                f"the state of the training is damaged: {str(error)[:80]}",
                where=str(file),
                hint="start again in another folder",
            ) from error
        self._read_log(step)
        return arrays, rest

    def _read_log(self, step: int) -> None:
        file = self.path / "log.jsonl"
        if not file.exists():
            return
        text = read_bytes(file, MAX_BYTES, "the log of a training").decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), start=1):
            entry = _json(line.encode(), f"{file}:{number}")
            if not isinstance(entry.get("step"), int):
                raise InputFormatError("a line without a step", where=f"{file}:{number}")
            if entry["step"] <= step:
                self.lines.append(entry)


def _json(content: bytes, where: str) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except ValueError as error:
        raise InputFormatError(f"this is no JSON: {error}", where=where) from error
    if not isinstance(document, dict):
        raise InputFormatError("this is no JSON object", where=where)
    return document


__all__ = ["QFolder"]
