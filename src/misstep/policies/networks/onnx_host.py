"""The program in which onnxruntime reads and computes a network, so that what it does wrong ends nobody else.

It gets a line with the number of bytes of the file, then the file, and greets with what it found. Then come questions:
a line with a number of rows, and the rows. Everything it says is one line of JSON; numbers are in base64, bit for bit.
It cannot open a file any more once it has the network in its hands, and it ends when its parent does.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import select
import sys
import threading
from typing import Any

import numpy as np

from misstep.kept import NOT_FROM_HERE

MAIN = (
    f"{NOT_FROM_HERE}import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from misstep.policies.networks.onnx_host import main; main()"
)
FIRST_INEXACT = 2.0**53  # of whole numbers: the next one is the same as a double
Reply = dict[str, Any]


def command() -> list[str]:
    """Starts the program, in a new interpreter that finds the same modules as this one."""
    return [sys.executable, "-c", MAIN, json.dumps(sys.path)]


def main() -> None:
    # Native code prints to descriptor 1, Python to sys.stdout: neither is an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    questions = sys.stdin.buffer
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def say(content: Reply) -> None:
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    content = questions.read(json.loads(questions.readline())["bytes"])
    try:
        session = _session(content)
    except ImportError as error:
        return say({"missing": _first_line(error)})
    except Exception as error:  # onnxruntime has a class of its own for each failure
        return say({"error": _first_line(error)})
    inputs, outputs = session.get_inputs(), session.get_outputs()
    given = [{"type": own.type, "shape": own.shape} for own in inputs]
    say({"inputs": given, "outputs": [own.type for own in outputs]})
    for line in questions:
        asked = json.loads(line)
        data = questions.read(asked["bytes"])
        rows = np.frombuffer(data, dtype=asked["type"]).reshape(asked["shape"])
        try:
            (found,) = session.run(None, {inputs[0].name: rows})
            result = _doubles(found)
            reply = {
                "shape": result.shape,
                "numbers": base64.b64encode(result.tobytes()).decode("ascii"),
            }
        except Exception as error:  # the same
            reply = {"error": _first_line(error)}
        say(reply)
    return None


def _session(content: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Its own format is told by four bytes, which may also stand in an ONNX file, and was not looked through.
    options.add_session_config_entry("session.load_model_format", "ONNX")
    # Whatever the network asks for: no further file can be opened from here on.
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def _doubles(found: Any) -> Any:
    """Outputs in double precision; an error where two of them could become equal by that."""
    result = np.ascontiguousarray(found, dtype=np.float64)
    if found.dtype.kind in "iu" and np.abs(result).max(initial=0) >= FIRST_INEXACT:
        raise ValueError(
            "outputs are whole numbers of 2^53 or more, which doubles do not tell apart"
        )
    return result


def _end_with_parent() -> None:
    """A computation that never ends would outlive a parent that was killed."""
    poller = select.poll()
    poller.register(0, 0)  # nothing but the end of the other side
    poller.poll()
    os._exit(1)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


__all__ = ["command", "main"]
