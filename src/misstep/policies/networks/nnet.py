"""The text format .nnet of fully connected networks: reading and writing.

Comments, four numbers (layers, inputs, outputs, widest layer), the sizes of all layers, a number that
nobody uses any more, the lowest and the highest inputs (which we do not clip to), means and ranges
of the inputs with those of the outputs at their ends, then for each layer its matrix and its bias.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

import numpy as np

from misstep.errors import InputFormatError
from misstep.policies.networks.mlp import Array, Layer, MlpWeights, Normalisation, check_sizes
from misstep.tasks.domains.write import write_generated

KIND = "a network in .nnet format"


def decode_nnet(content: bytes, where: str) -> MlpWeights:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise InputFormatError("this is no text", where=where, expected=KIND) from None
    numbers = _Numbers(text, where)
    layer_count, inputs, outputs, _ = numbers.whole(4, "the header")
    if not 1 <= layer_count <= 256:
        numbers.refuse(f"a network of {layer_count} layers")
    sizes = numbers.whole(layer_count + 1, "the sizes of the layers")
    if min(sizes) < 1 or sizes[0] != inputs or sizes[-1] != outputs:
        numbers.refuse(
            f"the layers have the sizes {sizes}, and the header says {inputs} to {outputs}"
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
    """All numbers of the file in order, whatever lines they stand on."""

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        self.lines: list[int] = []
        self.values = np.array(list(self._parse(text)), dtype=np.float64)
        self.position = 0

    def _parse(self, text: str) -> Iterator[float]:
        for number, line in enumerate(text.splitlines(), start=1):
            if line.lstrip().startswith("//"):
                continue
            for word in line.replace(",", " ").split():
                try:
                    value = float(word)
                except ValueError:
                    raise InputFormatError(
                        "a word that is no number", where=f"{self.where}:{number}", expected=KIND
                    ) from None
                if not np.isfinite(value):
                    raise InputFormatError(
                        "an infinite or undefined number",
                        where=f"{self.where}:{number}",
                        expected="finite numbers",
                    )
                self.lines.append(number)
                yield value

    def take(self, count: int, what: str) -> Array:
        taken = self.values[self.position : self.position + count]
        if len(taken) < count:
            self.refuse(f"the file is cut off within {what}: {len(taken)} of {count} numbers")
        self.position += count
        return taken

    def whole(self, count: int, what: str) -> list[int]:
        taken = self.take(count, what)
        if not (taken == np.floor(taken)).all() or (abs(taken) > 2**31).any():
            self.refuse(f"{what} should be whole numbers")
        return [int(value) for value in taken]

    def end(self) -> None:
        if self.position < len(self.values):
            self.refuse(f"{len(self.values) - self.position} numbers too many")

    def refuse(self, what: str) -> NoReturn:
        line = self.lines[min(self.position, len(self.lines)) - 1] if self.lines else 1
        raise InputFormatError(what, where=f"{self.where}:{line}", expected=KIND)


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
