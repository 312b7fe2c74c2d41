"""Shared code of the commands on campaigns: opening one, printing its summary, and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from misstep.cli.arguments import user_trusts
from misstep.cli.output import print_json, print_table, remark, say
from misstep.errors import Interrupted, MisstepError

if TYPE_CHECKING:
    from misstep.campaigns.campaign import Campaign
    from misstep.campaigns.summary import Summary
    from misstep.comparison.gates import GateResult

MOST_REMARKS = 10
SHORTEST_SHOWN = 0.05  # seconds of a stage; what took less would be shown as 0.0 s

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder of a campaign.", show_default=False)
]


def open_folder(folder: Path, policy: str | None = None, trust_policy: bool = False) -> Campaign:
    """Open the campaign in a folder; the options say whether its policy may run. Notes about its files are printed."""
    from misstep.campaigns.create import DATABASE_NAME
    from misstep.campaigns.store import open_store

    with suppress(OSError):  # such as a name that is too long; opening the folder reports it
        if not (folder / DATABASE_NAME).is_file():
            open_store(folder, readonly=True).close()  # reports errors before more is loaded
    from misstep.campaigns.campaign import open_campaign

    campaign = open_campaign(folder, policy, trust_policy=user_trusts(trust_policy))
    for text in campaign.remarks:
        remark(text)
    return campaign


def is_finished(folder: Path) -> bool:
    """Whether the campaign is finished, without its summary, which would read every verdict."""
    from misstep.campaigns.store import open_store

    with open_store(folder, readonly=True) as store:
        return store.rows("SELECT value FROM meta WHERE key = 'finished'") == [("1",)]


def say_unfinished(campaign: Campaign) -> None:
    """Print a note if the campaign is not finished, so that nobody takes its records for complete."""
    if not campaign.finished:
        found = len(campaign.records)
        remark(f"note: the campaign is not finished; {found} states are recorded so far")


@contextmanager
def keeping(folder: Path, again: str, *, word: bool = True) -> Iterator[None]:
    """After Ctrl-C, say that the work is kept and which command continues it.

    `word`: add the option that allows the stored policy to run, if the command needs it.
    """
    from misstep.campaigns.create import DATABASE_NAME

    try:
        yield
    except KeyboardInterrupt:
        if not (folder / DATABASE_NAME).exists():
            raise
        raise Interrupted(
            "stopped by the user; what is done is kept",
            where=str(folder),
            hint=f"{again}{_word_on_policy(folder) if word else ''} continues",
        ) from None


def _word_on_policy(folder: Path) -> str:
    """The option that must be added if continuing the campaign runs code that its folder names."""
    from misstep.campaigns.settings import Settings
    from misstep.campaigns.store import open_store
    from misstep.oracles.trust import foreign_oracles
    from misstep.policies.identity import IN_MEMORY
    from misstep.policies.trust import is_plain

    try:
        with open_store(folder, readonly=True) as store:
            settings = Settings.from_dict(store.config, store.path)
    except MisstepError:
        return ""  # the command that continues reports what is wrong
    if foreign_oracles(settings.oracle):
        return " --trust-policy"
    spec = settings.policy
    if spec.startswith(IN_MEMORY) or is_plain(spec, of_model=settings.model is not None):
        return ""
    return f" --policy {quote(spec)}"


def exit_code(summary: Summary) -> int:
    """The exit code. If several apply, the one that says most about the policy is taken."""
    from misstep.comparison.gates import trouble_of

    if summary.bugs["total"] > summary.bugs["crash"]:
        return 1
    return trouble_of(summary)


def print_summary(
    summary: Summary, seconds: float, as_json: bool, gate: GateResult | None = None
) -> None:
    if as_json:
        print_json({**summary.as_dict(), **({} if gate is None else {"gate": gate.as_dict()})})
        return
    if summary.tasks > 1:
        names = _columns(summary)
        print_table(
            ["task", *names],
            [
                [name, *(str(own[column]) for column in names)]
                for name, own in summary.by_task.items()
            ],
        )
        say()
    if len(summary.by_oracle) > 1:
        _print_oracles(summary)
    say(summary, flush=True)
    if gate is not None:
        say(gate)
    long = {name: spent for name, spent in summary.seconds.items() if spent >= SHORTEST_SHOWN}
    stages = (
        f" ({', '.join(f'{name} {spent:.1f} s' for name, spent in long.items())})" if long else ""
    )
    where = "" if summary.campaign is None else f"; records in {summary.campaign}"
    remark(f"{seconds:.1f} s{stages}; {summary.policy_calls} policy calls{where}")
    for text in summary.remarks[:MOST_REMARKS]:
        remark(f"note: {text}")
    if len(summary.remarks) > MOST_REMARKS:
        remark(f"... and {len(summary.remarks) - MOST_REMARKS} more notes (--json has all)")
    _print_ending(summary)


def _columns(summary: Summary) -> list[str]:
    """The columns of the table. Those that are empty for all tasks are left out to save width."""
    counts = list(summary.by_task.values())
    always = {"states", "tested", "bugs", "unknown"}
    return [name for name in counts[0] if name in always or any(own[name] for own in counts)]


def _print_ending(summary: Summary) -> None:
    """Print the last lines, after everything on standard error."""
    from misstep.cli.ending import three_lines

    goes_on = summary.worst is None and summary.campaign is not None
    word = _word_on_policy(Path(summary.campaign)) if goes_on and summary.campaign else ""
    sys.stderr.flush()
    say("", *three_lines(summary, word), flush=True)


def _print_oracles(summary: Summary) -> None:
    """Print what each oracle has proven, and all of them together."""
    best = (
        *(summary.tested, summary.bugs["total"], summary.optimal),
        *(summary.unsolvable, summary.unknown, summary.flaky),
    )
    print_table(
        [
            *("oracle", "tested", "bugs"),
            "optimal" if summary.world == "planning" else "not bugs",
            *("unsolvable", "unknown", "flaky"),
        ],
        [
            *([spec, *map(str, own.values())] for spec, own in summary.by_oracle.items()),
            ["the best of all", *map(str, best)],
        ],
    )
    say()


__all__ = [
    "Folder",
    "exit_code",
    "is_finished",
    "keeping",
    "open_folder",
    "print_summary",
    "say_unfinished",
]
