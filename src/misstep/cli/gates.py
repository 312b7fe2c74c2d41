"""Gates and reports for continuous integration, as options of the verbs that test policies.

A verb takes the group `Gates`, calls `prepare` before any work, so that a wrong baseline or path costs nothing, and
`Prepared.finish` with what was found:

    prepared = gates.prepare()
    campaign = test(..., stop_at_first=prepared.stop_at(tasks))
    result = prepared.finish(campaign)          # or with a retest
    print_summary(campaign.summary, seconds, as_json, result)
    return exit_code(campaign.summary) if result is None else result.exit_code
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from misstep.cli.campaigns import is_finished
from misstep.cli.groups import Group
from misstep.cli.output import remark
from misstep.errors import InputFileError, UsageError

if TYPE_CHECKING:
    from misstep.campaigns.campaign import Campaign
    from misstep.campaigns.session import StopAt
    from misstep.comparison.baseline import Baseline
    from misstep.comparison.gates import Gate, GateResult, Retested
    from misstep.tasks.load import AnyTask

# Reports, and what an older one has in it: a file without it is another one, which is not overwritten.
REPORTS = {
    "junit": ("a report in JUnit XML", b"<testsuite"),
    "sarif": ("a report in SARIF", b"sarif"),
    "markdown": ("a summary of Misstep", b"## Misstep: "),
}
FILES = ("write_baseline", *REPORTS)


@dataclass(frozen=True)
class Gates(Group, heading="Continuous integration: gates and reports"):
    """When a build fails, and the files that a build server shows."""

    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR|FILE",
            help="Compare with the known bugs in this file (--write-baseline) or campaign. Fails on new bugs unless "
            "--fail-on says otherwise.",
        ),
    ] = None
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="new|any|worse|errors",
            help="End with exit code 1 on these alone: new bugs, any bugs, bugs that got worse, errors of the policy. "
            "May be repeated, or separated by commas. Default: new with --baseline.",
            show_default=False,
        ),
    ] = None
    max_bugs: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Fail if there are more bugs than this.")
    ] = None
    stop_at_first: Annotated[
        bool,
        typer.Option(
            "--stop-at-first",
            help="Stop at the first bug, or at the first one that makes the gate fail; --resume continues.",
        ),
    ] = False
    write_baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write what was found as a baseline, a file to commit."),
    ] = None
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report in JUnit XML.")
    ] = None
    sarif: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report in SARIF 2.1.0.")
    ] = None
    markdown: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a summary for a pull request in Markdown."),
    ] = None

    def prepare(self, *, retests: bool = False) -> Prepared:
        """Check the options and read the baseline. A retest without one compares with the old campaign."""
        wanted = self._conditions(retests)
        self._check_files()
        has_gate = self.baseline is not None or wanted or self.max_bugs is not None
        if self.stop_at_first and self.max_bugs:
            raise UsageError(
                "--stop-at-first with --max-bugs", expected="one of them, or --max-bugs 0"
            )
        if not has_gate:
            return Prepared(self, None)
        from misstep.comparison.baseline import Baseline
        from misstep.comparison.gates import Gate

        known: Baseline | None = None if self.baseline is None else Baseline.read(self.baseline)
        if self.baseline is not None and self.baseline.is_dir() and not is_finished(self.baseline):
            remark(
                f"note: {self.baseline}: the campaign of --baseline is not finished; bugs that it has not found yet "
                "are new"
            )
        return Prepared(self, Gate(wanted, self.max_bugs, known))

    def _conditions(self, retests: bool) -> tuple[str, ...]:
        if not self.fail_on:
            return ("new",) if self.baseline is not None and self.max_bugs is None else ()
        from misstep.comparison.gates import COMPARING, parse_fail_on

        wanted = parse_fail_on(self.fail_on)
        for name in COMPARING:
            if name in wanted and self.baseline is None and not retests:
                raise UsageError(
                    f"--fail-on {name} without --baseline",
                    expected="--baseline DIR|FILE with the bugs that are known",
                    hint="--write-baseline FILE writes one; --fail-on any needs none",
                )
        return wanted

    def _check_files(self) -> None:
        """Check before any work that the files can be written, so that nobody learns it an hour later."""
        seen: dict[Path, str] = {}
        for name in FILES:
            path: Path | None = getattr(self, name)
            if path is None:
                continue
            option = "--" + name.replace("_", "-")
            if path.is_dir() or not path.absolute().parent.is_dir():
                raise InputFileError(
                    f"{option} cannot be written there",
                    where=str(path),
                    expected="a file in a folder that exists",
                )
            if name == "write_baseline":
                from misstep.comparison.baseline import refuse_others

                refuse_others(path)
            from misstep.files import check_target

            kind, mark = REPORTS.get(name, ("a baseline", b""))
            check_target(path, kind, _having(mark))
            other = seen.setdefault(path.resolve(), option)
            if other != option:
                raise UsageError(f"{other} and {option} name the same file", where=str(path))


def _having(mark: bytes) -> Callable[[bytes], bool]:
    return lambda start: mark in start


@dataclass(frozen=True)
class Prepared:
    """Gates and reports whose options are checked and whose baseline is loaded."""

    options: Gates
    gate: Gate | None

    def check_tasks(self, tasks: Sequence[AnyTask] | None) -> None:
        """Raise an error if the baseline is about other tasks; None: the tasks are not known yet."""
        if tasks and self.gate is not None and self.gate.baseline is not None:
            digests = {task.name: task.digest for task in tasks}
            self.gate.baseline.check_tasks(tasks[0].world, digests)

    def stop_at(self, tasks: Sequence[AnyTask], before: Campaign | None = None) -> StopAt:
        """The argument `stop_at_first` of `misstep.test`, or of a retest of the campaign `before`."""
        if not self.options.stop_at_first:
            return False
        gate = self.gate
        if gate is None:
            return True
        if gate.baseline is None and before is not None:
            from misstep.comparison.baseline import Baseline

            gate = replace(gate, baseline=Baseline.of(before))
        return gate.forbids({task.name: task.digest for task in tasks})

    def finish(self, found: Campaign | Retested) -> GateResult | None:
        """Check the gate and write the files. None: there is no gate, and the bugs decide the exit code as usual."""
        from misstep.campaigns.campaign import Campaign

        result = None if self.gate is None else self.gate.check(found)
        campaign = found if isinstance(found, Campaign) else found.campaign
        if self.options.write_baseline is not None:
            from misstep.comparison.baseline import Baseline

            Baseline.of(campaign).write(self.options.write_baseline)
        if self.options.junit is not None:
            from misstep.reports import junit

            junit.write(self.options.junit, campaign, result)
        if self.options.sarif is not None:
            from misstep.reports import sarif

            sarif.write(self.options.sarif, campaign, result)
        if self.options.markdown is not None:
            from misstep.reports import markdown

            markdown.write(self.options.markdown, campaign, result)
        return result


__all__ = ["Gates", "Prepared"]
