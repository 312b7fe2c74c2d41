"""Starting from an existing network: `--init FILE`.

It may be any fully connected network with rectified linear units whose inputs are variables of the model and whose
outputs are its labels, in any order. It may have been trained in any way: its outputs are read as values.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from misstep.errors import InputFormatError, UnsupportedError, UsageError
from misstep.files import read_bytes
from misstep.policies.networks.activation import RELU
from misstep.policies.networks.load import load_network
from misstep.policies.networks.mlp import Layer, MlpWeights, Normalisation
from misstep.policies.networks.nnet import decode_nnet
from misstep.policies.networks.options import declaration_of
from misstep.tasks.jani.interface import load_interface
from misstep.tasks.jani.task import JaniTask

INTERFACE, NETWORK = ".jani2nnet", ".nnet"
MAX_BYTES = 1 << 28


def read_start_network(file: Path, task: JaniTask) -> tuple[MlpWeights, tuple[str, ...]]:
    """The weights, their inputs and outputs in the order of the model, and the variables that it does not see."""
    if file.suffix not in (INTERFACE, NETWORK):
        raise UnsupportedError(
            f"training can only continue from networks in the format {NETWORK}",
            where=f"--init {file}",
            expected=f"FILE{INTERFACE}",
            hint="such as best.jani2nnet of a training",
        )
    interface_file = file.with_suffix(INTERFACE)
    interface = load_interface(interface_file)
    network = interface.policy_file
    if network is None or network.suffix != NETWORK:
        raise UnsupportedError(
            "training can only continue from networks in the format .nnet",
            where=str(interface_file),
            expected=f"an interface that names a {NETWORK} file",
            hint="such as best.jani2nnet of a training",
        )
    # The interface may declare something else than the file says, or have rows that it has to answer to.
    load_network(network, declaration_of({}, interface, str(interface_file)))
    content = read_bytes(network, MAX_BYTES, "a network")
    weights = decode_nnet(content, str(network))
    interface.check_sizes(weights.sizes[0], weights.sizes[-1], str(interface_file))
    columns = interface.columns(task, str(interface_file))
    if -1 in columns:
        raise UnsupportedError(
            f"the input {interface.inputs[columns.index(-1)]} is a constant",
            where=str(interface_file),
            expected="a network that sees variables only, to learn on",
        )
    missing = [name for name in task.labels if name not in interface.outputs]
    if missing or len(interface.outputs) != len(task.labels):
        raise InputFormatError(
            f"the network has no output for the label {missing[0]}"
            if missing
            else "the network has outputs that are not labels of the model",
            where=str(interface_file),
            expected="the labels of the model: " + ", ".join(task.labels[:20]),
        )
    if len(set(columns)) != len(columns):
        raise InputFormatError("a variable is two inputs", where=str(interface_file))
    labels = [interface.outputs.index(name) for name in task.labels]
    ignored = tuple(name for i, name in enumerate(task.variable_names) if i not in columns)
    return _ordered(weights, np.argsort(columns), labels), ignored


def _ordered(weights: MlpWeights, inputs: NDArray[np.intp], outputs: list[int]) -> MlpWeights:
    """The same function with its inputs and outputs in another order."""
    layers = list(weights.layers)
    layers[0] = Layer(layers[0].matrix[:, inputs], layers[0].bias)
    layers[-1] = Layer(layers[-1].matrix[outputs], layers[-1].bias[outputs])
    old = weights.normalisation
    new = None
    if old is not None:
        new = Normalisation(old.mean[inputs], old.range[inputs], old.output_mean, old.output_range)
    return MlpWeights(tuple(layers), new, weights.activation, weights.norms)


def in_units_of(weights: MlpWeights, scale: float) -> MlpWeights:
    """The same network with outputs in units of `scale`, and inputs normalised explicitly."""
    if weights.activation != RELU or weights.norms:
        kind = "layer norms" if weights.norms else str(weights.activation)
        raise UsageError(f"a network with {kind}", expected="rectified linear units, to learn on")
    own = weights.normalisation
    size = weights.sizes[0]
    if own is None:
        own = Normalisation(np.zeros(size), np.ones(size))
    last = weights.layers[-1]
    factor = own.output_range / scale
    scaled = Layer(last.matrix * factor, last.bias * factor + own.output_mean / scale)
    return MlpWeights(
        (*weights.layers[:-1], scaled), Normalisation(own.mean, own.range, 0.0, scale)
    )


__all__ = ["in_units_of", "read_start_network"]
