"""The folder of a training.

    settings.json                what was asked for, and of which task
    starts.json                  states where episodes begin too, where such states are given
    log.jsonl                    a line for each checkpoint: figures of the episodes since the last one, and of a test
    checkpoints/000020000.nnet   with its interface .jani2nnet beside it
    init.nnet                    the network that the training began with, where one is given
    best.nnet, last.nnet         and their interfaces: the best checkpoint, and the network as it was left
    state.npz                    what is needed to continue

The state is written last. So after a kill the training continues at the checkpoint of the state and repeats the steps
after it, with the same result. Lines of the log after the state are then dropped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from misstep.decoding import parse_json
from misstep.errors import InputFormatError
from misstep.files import read_bytes, write_bytes
from misstep.policies.networks.mlp import MlpWeights
from misstep.policies.networks.nnet import encode_nnet, write_nnet
from misstep.tasks.domains.write import write_generated
from misstep.tasks.jani.interface import encode_interface, write_interface
from misstep.tasks.jani.property import State
from misstep.training.resumable import MAX_BYTES, Arrays, ResumableFolder, json_object

STARTS = "starts.json"
INIT = ("init.nnet", "init.jani2nnet")
GIVEN = "given"  # in the settings: which of these files the training began with


class QFolder(ResumableFolder):
    FORMAT = "misstep-qlearning"
    PARTS = ("checkpoints",)
    RESULTS = (
        *("log.jsonl", "state.npz"),
        *("best.nnet", "best.jani2nnet", "last.nnet", "last.jani2nnet"),
    )

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        super().__init__(path, settings)
        self.lines: list[dict[str, Any]] = []

    # -- what is written --------------------------------------------------------------------------

    def write_network(
        self, name: str, weights: MlpWeights, inputs: Sequence[str], labels: Sequence[str]
    ) -> Path:
        """`NAME.nnet` and `NAME.jani2nnet`; returns the interface, which is what a policy is loaded from."""
        network = self.path / f"{name}.nnet"
        interface = network.with_suffix(".jani2nnet")
        with self.writing():
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
        with self.writing():
            write_bytes(self.path / "log.jsonl", text.encode(), follow=False)

    def write_state(self, arrays: Arrays, rest: dict[str, Any]) -> None:
        packed = np.frombuffer(json.dumps(rest).encode(), dtype=np.uint8)
        self.write_arrays("state.npz", {"__rest__": packed, **arrays})

    def write_given(
        self,
        states: Sequence[State],
        weights: MlpWeights | None,
        inputs: Sequence[str],
        labels: Sequence[str],
    ) -> None:
        """What the training begins with. An attempt that was stopped here has left the same; other files of these names
        are somebody else's and stay."""
        texts = {self.path / STARTS: json.dumps(states)} if states else {}
        if weights is not None:
            network, interface = (self.path / name for name in INIT)
            texts[network] = encode_nnet(weights)
            texts[interface] = encode_interface(
                interface, network=network, inputs=inputs, labels=labels, hidden=weights.sizes[1:-1]
            )
        write_generated(texts, "one that the training begins with")

    # -- what is read -----------------------------------------------------------------------------

    def has_given(self, key: str, file: Path) -> bool:
        """Whether the training began with the file, whatever else lies in its folder."""
        given = self.settings.get(GIVEN)
        return bool(given.get(key)) if isinstance(given, dict) else file.exists()

    def read_starts(self) -> list[State]:
        file = self.path / STARTS
        if not self.has_given("starts", file):
            return []
        content = read_bytes(file, MAX_BYTES, "the start states of a training", follow=False)
        try:
            document = parse_json(content)
            return [tuple(state) for state in document]
        except (ValueError, TypeError) as error:
            raise InputFormatError(
                "these are no states", where=str(file), hint="start again in another folder"
            ) from error

    def read_state(self) -> tuple[Arrays, dict[str, Any]] | None:
        """None if the training was stopped before its first state."""
        file = self.path / "state.npz"
        if not file.exists():
            return None
        arrays = self.read_arrays("state.npz", ["__rest__"])
        try:
            rest = parse_json(arrays.pop("__rest__").tobytes())
            step = int(rest["step"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputFormatError(
                f"the file is damaged: {str(error)[:80]}",
                where=str(file),
                hint="start again in another folder",
            ) from error
        self._read_log(step)
        return arrays, rest

    def _read_log(self, step: int) -> None:
        file = self.path / "log.jsonl"
        if not file.exists():
            return
        text = read_bytes(file, MAX_BYTES, "the log of a training", follow=False).decode(
            "utf-8", "replace"
        )
        for number, line in enumerate(text.splitlines(), start=1):
            entry = json_object(line.encode(), f"{file}:{number}")
            if not isinstance(entry.get("step"), int):
                raise InputFormatError("a line without a step", where=f"{file}:{number}")
            if entry["step"] <= step:
                self.lines.append(entry)


__all__ = ["GIVEN", "INIT", "STARTS", "QFolder"]
