"""`python -m misstep.checking`: check a campaign, or a plan, with nothing but Python.

    python -m misstep.checking DIR              all records of the campaign in a folder
    python -m misstep.checking TASK.sas PLAN    one plan
    python -m misstep.checking FILE TASK        a certificate of `misstep prove`, with MODEL.jani or TASK.sas

For a plan it prints one line, `VALID cost N` or `INVALID why`; for a certificate `VALID claim`, `INVALID why` or
`UNDECIDED why`. For a campaign it prints what is wrong with which
record, how much was checked, and how much has no proof in the files. It exits with 0 if everything that was checked
is right, and with 1 otherwise. Anything that keeps it from answering goes to standard error with the exit code of
that error (2, 30 to 39).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from misstep.checking.campaign import check_campaign
from misstep.checking.certificates import CertificateReport, check_file, is_certificate
from misstep.checking.plan import PlanReport, read_plan, validate_plan
from misstep.checking.report import CampaignReport
from misstep.checking.sas import read_sas
from misstep.errors import MisstepError, UsageError

Report = CampaignReport | PlanReport | CertificateReport


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m misstep.checking",
        description="Check all records of a campaign, or that a plan is executable, reaches the goal and costs what "
        "it should.",
        epilog="exit codes: 0 valid, 1 invalid, 2 bad usage, 30-39 bad or unsupported input",
    )
    parser.add_argument(
        "task",
        metavar="DIR|TASK.sas|FILE",
        help="folder of a campaign, output of the Fast Downward translator, or a certificate",
    )
    parser.add_argument(
        "plan",
        metavar="PLAN|TASK",
        nargs="?",
        help="one (operator arguments) a line; of a certificate, what it is about",
    )
    parser.add_argument("--state", metavar="VALUES", help='start here, such as "0 2 1"')
    parser.add_argument("--cost", metavar="N", type=int, help="the cost the plan should have")
    parser.add_argument(
        "--full",
        action="store_true",
        help="also compute again what has no proof, where it is small",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    try:
        report = _campaign(options) if options.plan is None else _plan(options)
    except MisstepError as error:
        print(json.dumps(error.as_dict()) if options.json else _shown(error), file=sys.stderr)
        return error.exit_code
    print(json.dumps(_plain(report)) if options.json else _shown(report))
    return 0 if report.valid else 1


def _plan(options: argparse.Namespace) -> Report:
    if is_certificate(Path(options.task)):
        return check_file(Path(options.task), Path(options.plan))
    task = read_sas(options.task)
    state = None if options.state is None else _state(options.state)
    return validate_plan(task, read_plan(options.plan), state, options.cost)


def _campaign(options: argparse.Namespace) -> Report:
    folder = Path(options.task)
    if not folder.is_dir():
        raise UsageError(
            f"{folder} is not a folder", expected="the folder of a campaign, or TASK.sas PLAN"
        )
    if options.state is not None or options.cost is not None:
        raise UsageError("--state and --cost are for plans")
    return check_campaign(folder, full=options.full)


def _plain(report: Report) -> dict[str, Any]:
    if isinstance(report, (CampaignReport, CertificateReport)):
        return report.as_dict()
    values = dataclasses.asdict(report)
    return {**values, "failure": None if report.failure is None else report.failure.value}


def _shown(text: object) -> str:
    """Text of others without what a terminal would obey."""
    controls = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
    return re.sub(controls, lambda found: ascii(found[0])[1:-1], str(text))


def _state(text: str) -> list[int]:
    tokens = text.replace(",", " ").split()
    for token in tokens:
        if re.fullmatch(r"[0-9]{1,10}", token) is None:
            raise UsageError(f"--state has {token!r} in it", expected="numbers, such as 0 2 1")
    return [int(token) for token in tokens]


if __name__ == "__main__":
    sys.exit(main())
