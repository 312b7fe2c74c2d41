"""`python -m misstep.checking TASK.sas PLAN`: check a plan with nothing but Python.

Prints one line, `VALID cost N` or `INVALID why`, and exits with 0 or 1. Anything that keeps it
from answering goes to standard error with the exit code of that error (2, 30 to 39).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence

from misstep.checking.plan import read_plan, validate_plan
from misstep.checking.sas import read_sas
from misstep.errors import MisstepError, UsageError


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m misstep.checking",
        description="Check that a plan is executable, reaches the goal and costs what it should.",
        epilog="exit codes: 0 valid, 1 invalid, 2 bad usage, 30-39 bad or unsupported input",
    )
    parser.add_argument("task", metavar="TASK.sas", help="output of the Fast Downward translator")
    parser.add_argument("plan", metavar="PLAN", help="one (operator arguments) a line")
    parser.add_argument("--state", metavar="VALUES", help='start here, such as "0 2 1"')
    parser.add_argument("--cost", metavar="N", type=int, help="the cost the plan should have")
    options = parser.parse_args(arguments)
    try:
        task = read_sas(options.task)
        state = None if options.state is None else _state(options.state)
        report = validate_plan(task, read_plan(options.plan), state, options.cost)
    except MisstepError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(report)
    return 0 if report.valid else 1


def _state(text: str) -> list[int]:
    tokens = text.replace(",", " ").split()
    for token in tokens:
        if re.fullmatch(r"[0-9]{1,10}", token) is None:
            raise UsageError(f"--state has {token!r} in it", expected="numbers, such as 0 2 1")
    return [int(token) for token in tokens]


if __name__ == "__main__":
    sys.exit(main())
