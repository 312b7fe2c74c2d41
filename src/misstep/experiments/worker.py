"""A process that runs units: it reads one JSON object per line and writes one per line.

Output of a policy or a library must not mix with the answers, so everything else that is written to standard output
goes to standard error.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
from pathlib import Path
from time import perf_counter
from typing import TextIO

from misstep.decoding import parse_json
from misstep.errors import Interrupted, MisstepError, ToolError
from misstep.experiments.kinds import Json, run_part
from misstep.kept import end_with_parent
from misstep.policies.service import share
from misstep.raised import in_words

OUTCOMES = ("done", "missing", "failed")
# The driver decides when to stop. Signals to the whole process group are meant for the driver, not for workers.
IGNORED = (signal.SIGINT, signal.SIGHUP)


def answer(request: Json) -> Json:
    """The result of a unit, or the reason why there is none."""
    began = perf_counter()
    try:
        place = Path(request["place"])
        outcome, result = "done", run_part(request["kind"], request["payload"], place)
    except Interrupted:
        raise
    except ToolError as error:
        outcome, result = "failed", {"message": str(error)}
    except MisstepError as error:
        outcome, result = "missing", {"message": str(error)}
    except MemoryError:
        outcome, result = "failed", {"message": "out of memory"}
    except Exception as error:  # a bug of ours in one unit must not end the others
        outcome, result = "failed", {"message": f"internal error: {in_words(error)}"}
    return {"outcome": outcome, "result": result, "seconds": perf_counter() - began}


def read_answer(content: bytes) -> Json:
    """The answer of a worker. One that cannot be read is a unit that failed, so that the others continue."""
    try:
        found = parse_json(content, constants=True)
        seconds = found["seconds"]
        if found["outcome"] not in OUTCOMES or not isinstance(found["result"], dict):
            raise TypeError
        if type(seconds) not in (int, float) or not 0 <= seconds < math.inf:
            raise TypeError
    except (ValueError, TypeError, LookupError):
        result = {"message": "the worker gave an answer that cannot be read"}
        return {"outcome": "failed", "result": result, "seconds": 0.0}
    return {"outcome": found["outcome"], "result": found["result"], "seconds": float(seconds)}


def serve(requests: TextIO, answers: TextIO) -> None:
    for line in requests:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


def main() -> None:
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    end_with_parent()
    if len(sys.argv) > 1:
        from misstep.campaigns.process import limit_memory

        limit_memory(int(sys.argv[1]))
    share()  # one of several workers, whose GPU networks run at the inference service
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        serve(sys.stdin, answers)
    except Interrupted as error:  # the driver notices this and starts the unit again
        sys.exit(error.exit_code)
