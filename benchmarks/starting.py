"""Processor time of a start: of `--version`, `--help` and completion, and of commands until they open their input.

python -m benchmarks.starting [RUNS]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.common import alternate, report

RUNS = 10

WHOLE = "import sys; from misstep.__main__ import main; main()"

# Ends the program as soon as it opens a file or a database whose name begins like the first argument.
UNTIL_WORK = """
import os, sys
inputs = sys.argv.pop(1)

def opened(event, arguments):
    if event in ("open", "sqlite3.connect") and isinstance(arguments[0], (str, bytes, os.PathLike)):
        if os.path.abspath(os.fsdecode(arguments[0]).removeprefix("file:")).startswith(inputs):
            os._exit(0)

sys.addaudithook(opened)
from misstep.__main__ import main
main()
sys.exit("no input was opened")
"""


def processor_time(code: str, *arguments: str, **environment: str) -> float:
    """User and system seconds of a new interpreter."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"misstep {' '.join(arguments)}: exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def misstep(*arguments: str) -> None:
    command = [sys.executable, "-m", "misstep", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    folder = Path(tempfile.mkdtemp(prefix="misstep-bench-")).resolve()
    task, model, campaign = (str(folder / name) for name in ("task", "model.jani", "campaign"))
    heuristic = ("--policy", "heuristic:ff")
    misstep("generate", "gripper", "--balls", "1", "-o", task)
    misstep("generate", "one-way-line", "-o", model)
    misstep("test", task, *heuristic, "--pool", "2", "--patience", "10", "-o", campaign)

    completion = partial(
        processor_time, WHOLE, _MISSTEP_COMPLETE="complete_bash", COMP_WORDS="misstep te"
    )
    zsh = {"_MISSTEP_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "misstep te"}
    contestants = {
        "python alone": partial(processor_time, "pass"),
        "--version": partial(processor_time, WHOLE, "--version"),
        "--help": partial(processor_time, WHOLE, "--help"),
        "completion, bash": partial(completion, COMP_CWORD="1"),
        "completion, zsh": partial(processor_time, WHOLE, **zsh),
        "completion, test --po": partial(
            completion, COMP_WORDS="misstep test --po", COMP_CWORD="2"
        ),
    }
    inputs: dict[str, tuple[str, ...]] = {
        "records": ("records", campaign),
        "replay": ("replay", campaign),
        "explain": ("explain", campaign),
        "test": ("test", task, *heuristic, "-o", str(folder / "new")),
        "test of a model": ("test", model, "--policy", "first", "-o", str(folder / "new")),
        "test --resume": ("test", "--resume", "-o", campaign),
        "run": ("run", task, *heuristic),
        "plan": ("plan", task),
        "census": ("census", task),
        "census of a model": ("census", model),
        "dominance": ("dominance", task),
        "select": ("select", task, "--policies", "heuristic:ff", "heuristic:add"),
        "check-policy": ("check-policy", task, *heuristic),
    }
    for name, arguments in inputs.items():
        contestants[f"{name}, until work begins"] = partial(
            processor_time, UNTIL_WORK, str(folder), *arguments
        )
    seconds = alternate(runs, *contestants.values())
    report("starting", {name: round(s, 3) for name, s in zip(contestants, seconds, strict=True)})


if __name__ == "__main__":
    main()
