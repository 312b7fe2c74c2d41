"""Networks in ONNX format, evaluated by onnxruntime (extra `onnx`).

It computes on one thread, in the precision that the file asks for. Its results may differ in the last digits between
machines and versions; export to .nnet or safetensors where that matters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from misstep.errors import InputFormatError, MissingDependencyError, ToolError, UnsupportedError
from misstep.policies.networks.network import Network, Rows

KIND = "an ONNX network from one matrix to one matrix"
PRECISIONS = {"tensor(float)": np.float32, "tensor(double)": np.float64}


class OnnxNetwork(Network):
    kind = "onnx"

    def __init__(self, content: bytes, where: str, digest: str = "") -> None:
        self.digest = digest
        self._session = _session(content, where)
        self._where = where
        given, results = self._session.get_inputs(), self._session.get_outputs()
        if len(given) != 1 or len(results) != 1:
            raise UnsupportedError(
                f"a network of {len(given)} inputs and {len(results)} outputs",
                where=where,
                expected=KIND,
            )
        if given[0].type not in PRECISIONS:
            raise UnsupportedError(f"inputs of type {given[0].type}", where=where, expected=KIND)
        shape = given[0].shape
        if len(shape) != 2 or not isinstance(shape[1], int) or shape[1] < 1:
            raise UnsupportedError(f"inputs of shape {shape}", where=where, expected=KIND)
        if isinstance(shape[0], int) and shape[0] != 1:
            raise UnsupportedError(
                f"batches of exactly {shape[0]} rows", where=where, expected="any number of rows"
            )
        self._name = given[0].name
        self._precision = PRECISIONS[given[0].type]
        self._one_by_one = shape[0] == 1
        self.inputs = shape[1]
        # Whatever the file says about its output: this is what comes out.
        result = self._run(np.zeros((1, self.inputs)))
        if result.ndim != 2 or result.shape[0] != 1 or result.shape[1] < 1:
            raise UnsupportedError(f"outputs of shape {result.shape}", where=where, expected=KIND)
        self.outputs = result.shape[1]

    def _evaluate(self, rows: Rows) -> Rows:
        if not len(rows):
            return np.empty((0, self.outputs))
        if self._one_by_one:
            return np.concatenate([self._run(row[None, :]) for row in rows])
        return self._run(rows)

    def _run(self, rows: Rows) -> Rows:
        try:
            (result,) = self._session.run(None, {self._name: rows.astype(self._precision)})
        except Exception as error:  # onnxruntime has a class of its own for each failure
            raise ToolError(
                f"onnxruntime failed: {_first_line(error)}", where=self._where
            ) from error
        return np.ascontiguousarray(result, dtype=np.float64)


def _session(content: bytes, where: str) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingDependencyError(
            "ONNX networks need onnxruntime, which is not installed",
            where=where,
            hint="pip install 'misstep[onnx]'",
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the same
        raise InputFormatError(
            f"onnxruntime cannot read this: {_first_line(error)}", where=where, expected=KIND
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


__all__ = ["OnnxNetwork"]
