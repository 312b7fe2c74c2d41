"""The program in which stormpy translates a PRISM model, so that what it does wrong ends nobody else.

It writes a line of JSON with what it found, and then the model in JANI. It writes no files.
"""

from __future__ import annotations

import json
import os
import resource
import sys

from misstep.kept import NOT_FROM_HERE

MAIN = (
    f"{NOT_FROM_HERE}import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from misstep.tasks.jani.prism_host import main; main(sys.argv[2])"
)

MAX_LETTERS = 256 * 2**20


def command(path: str) -> list[str]:
    """Starts the program, in a new interpreter that finds the same modules as this one."""
    return [sys.executable, "-c", MAIN, json.dumps(sys.path), path]


def main(path: str) -> None:
    # Native code prints to descriptor 1, Python to sys.stdout: neither is the answer.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        kind, text = _translated(path)
        found = {"kind": kind}
    except ImportError as error:
        found, text = {"missing": _first_line(error)}, ""
    except Exception as error:  # whatever stormpy raises
        found, text = {"error": _first_line(error)}, ""
    answer.write(json.dumps(found) + "\n" + text)
    answer.close()


def _translated(path: str) -> tuple[str, str]:
    """The type of the model, and the model in JANI."""
    import stormpy

    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    # Simplifying would drop variables that a policy may look at.
    program = stormpy.parse_prism_program(path, prism_compatibility=True, simplify=False)
    translated, _ = program.to_jani([])
    text = str(translated)
    if len(text) > MAX_LETTERS:
        raise ValueError("its translation is too large")
    return program.model_type.name.lower(), text


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


__all__ = ["command", "main"]
