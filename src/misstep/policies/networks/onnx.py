"""Networks in ONNX format, evaluated by onnxruntime (extra `onnx`).

It computes on one thread, in the precision that the file asks for. Its results may differ in the last digits between
machines and versions; export to .nnet or safetensors where that matters. In some networks the rows of a batch change
each other's outputs: those with dynamic quantization take their scale from the whole batch. They are computed row by
row, so that the decision in a state does not depend on the other states.

onnxruntime is a large program that we do not answer for, and a small file can ask it for any amount of memory and
time. So it runs in a process of its own (onnx_host.py) with limits on both. A file that it cannot load is a malformed
file. What goes wrong later, a crash, too much memory or no answer in time, is an error of the policy in those states.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
from typing import Any

import numpy as np

from misstep.decoding import parse_json
from misstep.errors import (
    InputFormatError,
    MissingDependencyError,
    PolicyCrashError,
    PolicyTimeoutError,
    UnsupportedError,
)
from misstep.policies.networks import onnx_host
from misstep.policies.networks.network import Network, Rows
from misstep.policies.networks.onnx_files import scan
from misstep.policies.process.channel import Channel, ProgramError
from misstep.policies.process.patience import Patience

KIND = "an ONNX network from one matrix to one matrix"
PRECISIONS = {"tensor(float)": "float32", "tensor(double)": "float64"}
MEMORY_MB = 4096  # of address space, beside a multiple of the size of the file
COPIES = 6  # of the file that reading it may take: the file, its message, the weights, what is made of them
START_SECONDS = 60.0
SECONDS = 60.0  # for one batch
MAX_FAULTS = 25  # in a row, after which the network is given up
PROBES = 16  # rows that are asked together and alone
MAX_NUMBERS = 2**24  # of one question: an answer is one line
MAX_WIDTH = 2**20  # inputs or outputs of a state


DISTURBED = "the process of onnxruntime gave an answer that cannot be read"


class OnnxNetwork(Network):
    kind = "onnx"

    def __init__(self, content: bytes, where: str, digest: str = "") -> None:
        self.digest = digest
        self._content = content
        self._where = where
        self._channel: Channel | None = None
        self._owner = 0
        self._answered = 0  # by the process that runs now
        self._faults = 0  # since the last answer
        self._patience = Patience()
        _check_file(content, where)
        found = self._start()
        given, made = found["inputs"], found["outputs"]
        if len(given) != 1 or len(made) != 1:
            raise UnsupportedError(
                f"a network of {len(given)} inputs and {len(made)} outputs",
                where=where,
                expected=KIND,
            )
        if not made[0].startswith("tensor(") or made[0] == "tensor(string)":
            raise UnsupportedError(f"outputs of type {made[0]:.60}", where=where, expected=KIND)
        precision, shape = given[0]["type"], given[0]["shape"]
        if precision not in PRECISIONS:
            raise UnsupportedError(f"inputs of type {precision}", where=where, expected=KIND)
        if len(shape) != 2 or not isinstance(shape[1], int) or not 1 <= shape[1] <= MAX_WIDTH:
            raise UnsupportedError(f"inputs of shape {shape}", where=where, expected=KIND)
        if isinstance(shape[0], int) and shape[0] != 1:
            raise UnsupportedError(
                f"batches of exactly {shape[0]} rows", where=where, expected="any number of rows"
            )
        self._precision = PRECISIONS[precision]
        self._one_by_one = shape[0] == 1
        self.inputs = shape[1]
        self.outputs = 0
        # Whatever the file says about its output: this is what comes out.
        result = self._ask(np.zeros((1, self.inputs)))
        if result.ndim != 2 or result.shape[0] != 1 or not 1 <= result.shape[1] <= MAX_WIDTH:
            raise UnsupportedError(f"outputs of shape {result.shape}", where=where, expected=KIND)
        self.outputs = result.shape[1]
        self._one_by_one = self._one_by_one or not self._keeps_rows_apart()

    def _keeps_rows_apart(self) -> bool:
        """Whether some rows have the same outputs, bit for bit, in a batch and alone."""
        scales = np.repeat([0.0, 1.0, 10.0, 1000.0], PROBES // 4)[:, None]
        rows = np.random.default_rng(0).normal(size=(PROBES, self.inputs)) * scales
        try:
            together = self._ask(rows)
            alone = np.concatenate([self._ask(row[None, :]) for row in rows])
        except (PolicyCrashError, PolicyTimeoutError):
            return False
        return np.array_equal(together, alone, equal_nan=True)

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None
            self._answered = 0

    def _evaluate(self, rows: Rows) -> Rows:
        if not len(rows):
            return np.empty((0, self.outputs))
        count = 1 if self._one_by_one else max(1, MAX_NUMBERS // max(self.inputs, self.outputs))
        parts = [self._part(rows[at : at + count]) for at in range(0, len(rows), count)]
        return np.concatenate(parts)

    def _part(self, rows: Rows) -> Rows:
        try:
            result = self._ask_twice(rows)
        except (PolicyCrashError, PolicyTimeoutError):
            if len(rows) > 1:  # one state may be the culprit, or the batch was too large
                return np.concatenate([self._part(row[None, :]) for row in rows])
            raise
        if result.shape != (len(rows), self.outputs):
            raise PolicyCrashError(
                f"the network answers {len(rows)} rows with numbers of the shape {result.shape}",
                where=self._where,
            )
        return result

    def _ask_twice(self, rows: Rows) -> Rows:
        """What a process that has answered before breaks down at is asked once more of a new one."""
        fresh = self._answered == 0
        try:
            return self._ask(rows)
        except PolicyCrashError:
            if fresh or self._channel is not None:
                raise
        return self._ask(rows)

    def _ask(self, rows: Rows) -> Rows:
        """The outputs of some rows; the process is started again if it has ended."""
        if self._faults > MAX_FAULTS or self._patience.lost:
            # It was not asked, so that nobody may say that it crashed in this state.
            what = f"onnxruntime failed {self._faults} times in a row and was given up"
            late = self._patience.why(SECONDS).replace("the program", "onnxruntime")
            raise PolicyTimeoutError(late if self._patience.lost else what, where=self._where)
        if self._channel is None or self._owner != os.getpid():
            self._start()
        data = np.ascontiguousarray(rows, dtype=self._precision)
        header = {"bytes": data.nbytes, "type": self._precision, "shape": data.shape}
        try:
            reply = self._exchange(json.dumps(header).encode() + b"\n" + data.tobytes(), SECONDS)
        except PolicyTimeoutError:
            self._patience.timed_out(len(rows))
            raise
        if "error" in reply:
            self._faults += 1
            raise PolicyCrashError(f"onnxruntime failed: {reply['error']}", where=self._where)
        self._faults = 0
        self._answered += 1
        self._patience.answered()
        try:
            numbers = np.frombuffer(base64.b64decode(reply["numbers"]), dtype=np.float64)
            result: Rows = numbers.reshape(reply["shape"])
        except (LookupError, OverflowError, TypeError, ValueError):
            raise PolicyCrashError(DISTURBED, where=self._where) from None
        return result

    def _start(self) -> dict[str, Any]:
        """What the process says of the network."""
        limit = MEMORY_MB + COPIES * (len(self._content) >> 20)
        self._channel = Channel(onnx_host.command(), memory_limit_mb=limit, why_late="")
        self._owner = os.getpid()
        self._answered = 0
        header = json.dumps({"bytes": len(self._content)}).encode() + b"\n"
        found: dict[str, Any] = self._exchange(header + self._content, START_SECONDS, starting=True)
        if "missing" in found:
            raise _missing(self._where, found["missing"])
        if "error" in found:
            raise InputFormatError(
                f"onnxruntime cannot read this: {found['error']}", where=self._where, expected=KIND
            )
        return found

    def _exchange(self, question: bytes, seconds: float, *, starting: bool = False) -> Any:
        assert self._channel is not None
        try:
            found = parse_json(self._channel.exchange(question, seconds))
            if not isinstance(found, dict):
                raise ValueError
            return found
        except ValueError:  # native code has written to the descriptor of our exchange
            self._channel = None
            self._faults += 1
            raise PolicyCrashError(DISTURBED, where=self._where) from None
        except ProgramError as fault:
            self._channel = None
            self._faults += 1
            what = str(fault).replace("the program", "onnxruntime")
            if starting and self._faults == 1:
                raise InputFormatError(
                    f"onnxruntime cannot read this: {what}", where=self._where, expected=KIND
                ) from None
            kind = PolicyTimeoutError if fault.timed_out else PolicyCrashError
            raise kind(what, where=self._where) from None
        except BaseException:
            self._channel = None
            raise


def _check_file(content: bytes, where: str) -> None:
    """What can be said before anything of the file is handed to onnxruntime."""
    if importlib.util.find_spec("onnxruntime") is None:
        raise _missing(where)
    try:
        found = scan(content)
    except ValueError as error:
        raise InputFormatError(
            f"this is not an ONNX file: {error}", where=where, expected=KIND
        ) from None
    if found.names_other_files:
        raise UnsupportedError(
            "the network has weights in another file (external data), which is not opened",
            where=where,
            expected="one file with all weights",
            hint="onnx.save(onnx.load('net.onnx'), 'all.onnx') puts them into one",
        )
    if found.random_operator is not None:
        raise UnsupportedError(
            f"the network has an operator {found.random_operator}, which draws random numbers",
            where=where,
            expected="a function of its inputs",
            hint="export the network for inference: network.eval() before torch.onnx.export",
        )


def _missing(where: str, why: str = "") -> MissingDependencyError:
    return MissingDependencyError(
        "ONNX networks need onnxruntime, which "
        + (f"cannot be loaded: {why}" if why else "is not installed"),
        where=where,
        hint="pip install 'misstep[onnx]'",
    )


__all__ = ["OnnxNetwork"]
