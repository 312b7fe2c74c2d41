"""Commands that read a large campaign, as users meet them after the run.

    python -m benchmarks.reading [STATES] [FOLDER] [COMMAND]

A campaign of about that many states (20,000) is made of planning tasks and of a model, in the FOLDER if one is named,
where it is found again by the next run. Then every command that reads a campaign, or those whose name contains COMMAND,
runs on it as a program of its own. What it prints is kept in the folder, to be compared with that of another version.
`seconds` are those of its processors, as other work on the machine says nothing about it; `MB` is its largest memory;
`first` is the time by the clock until its first byte is on standard output, and `line` until its line of progress is
on the terminal, if it has one. `head` is the time of the processors if the reader goes away after the first line, as
with `| head -1`. The digests of what it printed are in `printed`: two versions of the program that print the same have
the same ones.
"""

from __future__ import annotations

import hashlib
import os
import pty
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from time import perf_counter
from typing import Any

from benchmarks.common import remark, report

STATES = 20_000
BALLS = (8, 9)
PLANNING, MODEL = "planning", "model"
POLICY = {PLANNING: "noisy:0.05:1+heuristic:ff", MODEL: "random:1"}
OTHER = {PLANNING: "noisy:0.1:2+heuristic:ff", MODEL: "random:2"}

# {world} is the campaign, {other} that of another policy on the same states, {copy} a copy that may be written to.
COMMANDS = {
    "records": "records {world}",
    "records --json": "records {world} --json",
    "records --verdict BUG": "records {world} --verdict BUG",
    "records --verdict UNKNOWN": "records {world} --verdict UNKNOWN",
    "records --kind --json": "records {world} --kind {kind} --json",
    "records --task": "records {world} --task {task}",
    "records --metrics": "records {world} --metrics",
    "explain": "explain {world}",
    "explain --json": "explain {world} --json",
    "explain --decisions": "explain {world} --decisions --top 100000",
    "explain ID": "explain {world} {record}",
    "explain ID --json": "explain {world} {record} --json",
    "replay": "replay {world}",
    "replay --full": "replay {world} --full",
    "replay --rerun": "replay {world} --rerun",
    "compare": "compare {world} {other}",
    "compare --json": "compare {world} {other} --json",
    "report": "report {world} -o {folder}/report.html --force",
    "report of two": "report {world} {other} -o {folder}/report2.html --force",
    "export csv": "export csv {world}",
    "export csv --table metrics": "export csv {world} --table metrics",
    "export json": "export json {world}",
    "export latex": "export latex {world}",
    "export figure": "export figure {world} severity -o {folder}/figure.svg --force",
    "export baseline": "export baseline {world} -o {new}/baseline.json",
    "export tests": "export tests {world} -o {new}/tests",
    "retest": "retest {world} --policy {policy}",
    "retest --fail-on": "retest {world} --policy {policy} --fail-on new --json",
    "shrink": "shrink {copy} {record} --candidates 20 --again",
    "test --resume": "test --resume -o {copy}",
}


def misstep(*words: str) -> list[str]:
    return [sys.executable, "-m", "misstep", *words]


def make_campaigns(folder: Path, states: int) -> None:
    """Campaigns that are there already stay."""
    each, runs = states // len(BALLS), states * 3 // 20
    for balls in BALLS:
        _run("generate", "gripper", "--balls", str(balls), "-o", f"{folder}/g{balls}", "--force")
        shutil.copy(folder / f"g{balls}/problem.pddl", folder / f"p{balls}.pddl")
    model = f"{folder}/twl.jani"
    _run(
        *("generate", "two-way-line", "--cells", "40", "--packages", "7"),
        *("-o", model, "--force"),
    )
    problems = [f"{folder}/g8/domain.pddl", *(f"{folder}/p{balls}.pddl" for balls in BALLS)]
    if not (folder / PLANNING).exists():
        how = ["--pool", str(each), "--fuzz", "none", "-o", f"{folder}/{PLANNING}"]
        _run("test", *problems, "--policy", POLICY[PLANNING], *how)
    if not (folder / MODEL).exists():
        how = ["--runs", str(runs), "-o", f"{folder}/{MODEL}"]
        _run("test", model, "--policy", POLICY[MODEL], *how)
    for world in (PLANNING, MODEL):
        if not (folder / f"other-{world}").exists():
            how = ["--policy", OTHER[world], "-o", f"{folder}/other-{world}"]
            _run("retest", f"{folder}/{world}", *how)


def _run(*words: str) -> None:
    made = subprocess.run(misstep(*words), capture_output=True)
    if made.returncode not in (0, 1):
        raise SystemExit(made.stderr.decode())


def middle_bug(campaign: Path) -> str:
    """The id of a bug in the middle of the campaign."""
    found = subprocess.run(
        misstep("records", str(campaign), "--verdict", "BUG"), stdout=subprocess.PIPE
    )
    rows = found.stdout.decode().splitlines()
    return rows[len(rows) // 2].split()[0]


def watched(words: list[str], output: Path | None = None) -> dict[str, Any]:
    """A program of its own; without a file for its output, the reader goes away after the first line."""
    terminal, own = pty.openpty()
    began = perf_counter()
    program = subprocess.Popen(misstep(*words), stdout=subprocess.PIPE, stderr=own)
    os.close(own)
    assert program.stdout is not None
    result: dict[str, Any] = {}
    digest, printed = hashlib.sha256(), b""
    with DefaultSelector() as selector:
        selector.register(program.stdout, EVENT_READ, "first")
        selector.register(terminal, EVENT_READ, "line")
        kept = output.open("wb") if output is not None else None
        while selector.get_map():
            for key, _ in selector.select():
                try:
                    found = os.read(key.fd, 1 << 16)
                except OSError:  # a terminal whose last program is gone
                    found = b""
                if found:
                    result.setdefault(key.data, round(perf_counter() - began, 2))
                if key.data == "first":
                    digest.update(found)
                    if kept is not None:
                        kept.write(found)
                    elif b"\n" in found:
                        found = b""
                        program.stdout.close()
                else:
                    printed += found
                if not found:
                    selector.unregister(key.fileobj)
        if kept is not None:
            kept.close()
    _, status, used = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    os.close(terminal)
    wall = perf_counter() - began
    if b"Traceback" in printed:
        raise SystemExit(f"{' '.join(words)}: {printed.decode()}")
    if output is not None and program.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(words)}: {printed.decode()}")
    return {
        "seconds": round(used.ru_utime + used.ru_stime, 2),
        "wall": round(wall, 2),
        "MB": round(used.ru_maxrss / 1024),
        **result,
        "printed": digest.hexdigest()[:16],
    }


def measured(folder: Path, world: str, outputs: Path, only: str) -> dict[str, Any]:
    results: dict[str, Any] = {}
    bug = middle_bug(folder / world)
    for name, text in COMMANDS.items():
        if only and only not in name:
            continue
        copy = folder / "copy"
        if "{copy}" in text:
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(folder / world, copy)
        shutil.rmtree(folder / "new", ignore_errors=True)
        (folder / "new").mkdir()
        words = text.format(
            folder=folder,
            new=folder / "new",
            world=folder / world,
            other=folder / f"other-{world}",
            copy=copy,
            kind="costly" if world == PLANNING else "unsafe",
            task="p8" if world == PLANNING else "twl",
            record=bug,
            policy=OTHER[world],
        ).split()
        own = watched(words, outputs / f"{world} {name.replace('/', '-')}.txt")
        if "{copy}" not in text and not name.startswith(
            ("retest", "report", "export tests", "export baseline")
        ):
            own["head"] = watched(words)["seconds"]
        results[name] = own
        remark(f"{world}, {name}: {own}")
    return results


def main(states: str = str(STATES), place: str = "", only: str = "") -> None:
    folder = Path(place or tempfile.mkdtemp(prefix="misstep-bench-"))
    outputs = folder / f"outputs-{os.getpid()}"
    outputs.mkdir(parents=True)
    make_campaigns(folder, int(states))
    results = {world: measured(folder, world, outputs, only) for world in (PLANNING, MODEL)}
    report("reading", results)


if __name__ == "__main__":
    main(*sys.argv[1:])
