"""The text format .nnet of fully connected networks: reading and writing.

Comments, four numbers (layers, inputs, outputs, widest layer), the sizes of all layers, a number that
nobody uses any more, the lowest and the highest inputs (which we do not clip to), means and ranges
of the inputs with those of the outputs at their ends, then for each layer its matrix and its bias.
The sizes are read and judged before anything else is, and no more is read than they announce.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import NoReturn

import numpy as np

from misstep.errors import InputFormatError
from misstep.files import decoded
from misstep.policies.networks.mlp import (
    MAX_LAYERS,
    Array,
    Layer,
    MlpWeights,
    Normalisation,
    check_sizes,
)
from misstep.tasks.domains.write import write_generated

KIND = "a network in .nnet format"
MAX_WORD = 1000  # letters of a number: all that can tell two of them apart


def decode_nnet(content: bytes, where: str) -> MlpWeights:
    text = decoded(content, where, KIND)
    numbers = _Numbers(text, where)
    layer_count, inputs, outputs, _ = numbers.whole(4, "the header")
    if not 1 <= layer_count <= MAX_LAYERS:
        numbers.refuse(f"a network of {layer_count} layers")
    sizes = numbers.whole(layer_count + 1, "the sizes of the layers")
    if min(sizes) < 1 or sizes[0] != inputs or sizes[-1] != outputs:
        numbers.refuse(
            f"the layers have the sizes {sizes!s:.80}, and the header says {inputs} to {outputs}"
        )
    check_sizes(sizes, where, KIND)
    numbers.take(1, "the unused flag")
    numbers.take(inputs, "the lowest inputs")
    numbers.take(inputs, "the highest inputs")
    means = numbers.take(inputs + 1, "the means")
    ranges = numbers.take(inputs + 1, "the ranges")
    if not (ranges > 0).all():
        numbers.refuse("a range that is not positive")
    layers = []
    for i, (before, size) in enumerate(pairwise(sizes), start=1):
        matrix = numbers.take(before * size, f"the matrix of layer {i}").reshape(size, before)
        layers.append(Layer(matrix, numbers.take(size, f"the bias of layer {i}")))
    numbers.end()
    plain = not means.any() and (ranges == 1).all()
    normalisation = Normalisation(
        means[:-1].copy(), ranges[:-1].copy(), float(means[-1]), float(ranges[-1])
    )
    return MlpWeights(tuple(layers), None if plain else normalisation)


class _Numbers:
    """The numbers of the file in order, whatever lines they stand on. No more are read than are asked for."""

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        self.line = 1
        self._rest = self._parse(text)

    def _parse(self, text: str) -> Iterator[float]:
        for number, line in enumerate(io.StringIO(text), start=1):
            self.line = number
            if line.lstrip().startswith("//"):
                continue
            for word in line.replace(",", " ").split():
                try:
                    if len(word) > MAX_WORD:
                        raise ValueError
                    value = float(word)
                except ValueError:
                    self.refuse("a word that is not a number")
                if not math.isfinite(value):
                    self.refuse("an infinite or undefined number")
                yield value

    def take(self, count: int, what: str) -> Array:
        taken = np.fromiter(islice(self._rest, count), dtype=np.float64)
        if len(taken) < count:
            self.refuse(f"the file is cut off within {what}: {len(taken)} of {count} numbers")
        return taken

    def whole(self, count: int, what: str) -> list[int]:
        taken = self.take(count, what)
        if not (taken == np.floor(taken)).all() or (abs(taken) > 2**31).any():
            self.refuse(f"{what} should be whole numbers")
        return [int(value) for value in taken]

    def end(self) -> None:
        if next(self._rest, None) is not None:
            self.refuse("numbers too many: this one comes after the last layer")

    def refuse(self, what: str) -> NoReturn:
        raise InputFormatError(what, where=f"{self.where}:{self.line}", expected=KIND)


def encode_nnet(weights: MlpWeights) -> str:
    """The text of a file; reading it gives the same numbers, bit for bit."""
    sizes = weights.sizes
    inputs = sizes[0]
    normalisation = weights.normalisation or Normalisation(np.zeros(inputs), np.ones(inputs))
    lowest, highest = np.full(inputs, -1e30), np.full(inputs, 1e30)
    lines = [
        "// A fully connected network with rectified linear units.",
        _line([len(weights.layers), inputs, sizes[-1], max(sizes)]),
        _line(sizes),
        _line([0]),
        _line(lowest),
        _line(highest),
        _line([*normalisation.mean, normalisation.output_mean]),
        _line([*normalisation.range, normalisation.output_range]),
    ]
    for layer in weights.layers:
        lines += [_line(row) for row in layer.matrix]
        lines += [_line([value]) for value in layer.bias]
    return "\n".join(lines) + "\n"


def write_nnet(weights: MlpWeights, path: Path) -> None:
    write_generated({path: encode_nnet(weights)}, "network", force=True)


def _line(numbers: Sequence[float] | Array) -> str:
    values = np.asarray(numbers)
    if values.dtype.kind == "i":
        return ",".join(str(int(v)) for v in values) + ","
    return ",".join(repr(float(v)) for v in values) + ","


__all__ = ["KIND", "decode_nnet", "encode_nnet", "write_nnet"]
