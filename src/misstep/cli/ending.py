"""The last three lines of a campaign: what was found, the worst bug, and the command to type next."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any

from misstep.campaigns.worst import counted

if TYPE_CHECKING:
    from misstep.campaigns.summary import Summary

SEARCH = "astar(evaluations={})"
EVALUATIONS = (100_000, 1_000_000, 10_000_000)


def three_lines(summary: Summary, word: str = "") -> list[str]:
    """The three lines. `word` is the option to add if continuing runs code that the folder names."""
    return [
        f"found  {_found(summary)}",
        f"worst  {_worst(summary)}",
        f"next   {next_command(summary, word)}",
    ]


def _found(summary: Summary) -> str:
    where = f"{counted(summary.tested, 'tested state')} on {counted(summary.tasks, 'task')}"
    kinds = {kind: count for kind, count in summary.bugs.items() if count and kind != "total"}
    good = "optimal" if summary.world == "planning" else "not bugs"
    rest = [f"{summary.optimal} {good}", f"{summary.unknown} unknown"]
    for count, name in ((summary.unsolvable, "unsolvable"), (summary.flaky, "flaky")):
        if count:
            rest.append(f"{count} {name}")
    if kinds:
        how = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        text = f"{counted(summary.bugs['total'], 'bug')} ({how}) in {where}; {', '.join(rest)}"
    elif summary.all_safe:
        text = f"no unsafe run among {counted(summary.runs, 'run')} on {counted(summary.tasks, 'task')}"
    elif not summary.tested:
        text = f"nothing was tested on {counted(summary.tasks, 'task')}"
    else:
        text = f"no bug in {where}; {', '.join(rest)}"
    if not summary.finished:
        text += f"; not finished{_ended_by(summary.limit)}"
    return text


def _ended_by(limit: str | None) -> str:
    if limit == "crash":
        return ", some tasks crashed their worker processes"
    return "" if limit is None else f", the {limit} limit was reached"


def _worst(summary: Summary) -> str:
    if summary.worst is not None:
        return f"{summary.worst['id']}: {summary.worst['sentence']}"
    if summary.runs and summary.crashes + summary.timeouts == summary.runs:
        return "the policy answered in no state, so nothing is known about it"
    if summary.flaky:
        states = counted(summary.flaky, "state")
        if not summary.contradictions:
            return (
                f"{states} without a verdict, as the policy declares that it is not deterministic"
            )
        return f"{states} where the policy contradicts itself, so that nothing is proven"
    if summary.unknown:
        what = "a bug" if summary.unknown == 1 else "bugs"
        return f"none is proven; {counted(summary.unknown, 'state')} may still be {what}"
    if risk := _avoidable_risk(summary):
        own, least = risk["policy"][0], risk["least"][1]
        return f"{risk['id']}: no bug in the worst case, but the risk is {own:.4g}, where {least:.4g} is possible"
    return "none" if summary.tested or summary.all_safe else "nothing is known yet"


def _avoidable_risk(summary: Summary) -> dict[str, Any] | None:
    """The risks of a campaign with --risk, if some of them can be avoided."""
    return summary.risk if summary.risk and summary.risk["avoidable"] else None


def next_command(summary: Summary, word: str = "") -> str:
    """One command that makes sense after what was found."""
    folder = quote(summary.campaign or "DIR")
    if summary.worst is not None:
        handle = summary.worst["id"]
        if summary.tasks == 1:
            handle = handle.rpartition(":")[2]
        return f"misstep explain {folder} {quote(handle)}"
    if not summary.finished:
        return f"misstep test --resume --out {folder}{word}"
    if summary.runs and summary.crashes + summary.timeouts == summary.runs:
        return f"misstep records {folder}"
    if summary.flaky:
        return f"misstep records {folder} --verdict FLAKY"
    if summary.unknown and summary.world == "planning":
        for evaluations in EVALUATIONS:
            oracle = SEARCH.format(evaluations)
            if oracle not in summary.oracles:
                return f"misstep judge {folder} --oracle '{oracle}'{word}"
    if _avoidable_risk(summary):
        return f"misstep risk MODEL --policy {quote(summary.policy)}"
    if summary.world == "planning":
        return f"misstep test --resume --out {folder} --pool {max(2 * summary.states, 2)}{word}"
    return f"misstep test --resume --out {folder} --runs {max(2 * summary.runs, 2)}{word}"


__all__ = ["next_command", "three_lines"]
