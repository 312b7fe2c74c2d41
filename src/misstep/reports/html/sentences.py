"""The result of a campaign in one plain sentence, and notes on its limits."""

from __future__ import annotations

from misstep.campaigns import left_open
from misstep.campaigns.records import KINDS
from misstep.campaigns.summary import Summary
from misstep.campaigns.worst import counted

DOES = {
    "fails": "does not reach the goal although a plan exists",
    "costly": "reaches the goal at a higher cost than needed",
    "crash": "crashes although a plan exists",
    "fails-all": "reaches the goal on no permitted run although a plan exists",
    "fails-some": "permits a run that misses the goal although a plan exists",
    "costly-best": "permits only runs that cost more than needed",
    "costly-some": "permits a run that costs more than needed",
    "unsafe": "gets into an unsafe state that could be avoided",
    "unclassified": "had spent more than a plan costs when its run was cut",
}


def verdict(summary: Summary) -> str:
    """The verdict on the policy."""
    bugs, tested = summary.bugs["total"], summary.tested
    if summary.all_safe:
        runs = counted(summary.runs - summary.crashes - summary.timeouts, "run")
        return (
            f"No bug was found: no run among {runs} was unsafe, so there was no state to judge. Other runs were not "
            "tested."
        )
    if tested == 0:
        return "Nothing was tested, so nothing is known about this policy."
    states = f"{tested:,} tested state{'s' if tested > 1 else ''}"
    if bugs:
        kinds = [kind for kind in KINDS if summary.bugs[kind]]
        share = f"{bugs:,} of {states} ({_percent(bugs, tested)})"
        if len(kinds) == 1:
            return f"In {share} the policy {DOES[kinds[0]]}."
        told = "; ".join(f"in {summary.bugs[kind]:,} it {DOES[kind]}" for kind in kinds)
        return f"The policy does worse than it could in {share}: {told}."
    fine = summary.optimal + summary.unsolvable
    if fine == tested:
        return f"No bug: all {states} are proven to be no bugs. Other states were not tested."
    return (
        f"No bug was found in {states}; {fine:,} of them ({_percent(fine, tested)}) are proven to be no bugs, the "
        "others are undecided."
    )


def notes(summary: Summary) -> list[str]:
    """Notes on limits that were reached, and on everything else that makes the numbers incomplete."""
    told = []
    if not summary.finished:
        why = f" because of its limit on {summary.limit}" if summary.limit else ""
        told.append(f"The campaign is not finished{why}: the numbers below are those so far.")
    if summary.states > summary.tested:
        left = summary.states - summary.tested
        which = "1 state that was found is" if left == 1 else f"{left:,} states that were found are"
        told.append(f"{which} not judged.")
    if summary.left_open:
        told.append(f"Undecided: {left_open.text_of(summary.left_open, summary.campaign)}.")
    if summary.flaky:
        why = (
            "contradicts itself"
            if summary.contradictions
            else "declares that it is not deterministic"
        )
        told.append(f"{_states_are(summary.flaky)} FLAKY, without a verdict: the policy {why}.")
    if summary.crashes:
        told.append(f"The policy crashed, or answered nonsense, in {_runs(summary.crashes)}.")
    if summary.timeouts:
        told.append(f"The policy did not answer in time in {_runs(summary.timeouts)}.")
    return [*told, *summary.remarks[:50]]


def _states_are(number: int) -> str:
    return "1 state is" if number == 1 else f"{number:,} states are"


def _runs(number: int) -> str:
    return "1 run" if number == 1 else f"{number:,} runs"


def _percent(part: int, whole: int) -> str:
    """Never 0 % of something and never 100 % of less than all."""
    share = 100 * part / whole
    if part and share < 1:
        return "below 1%"
    return "above 99%" if part < whole and share > 99 else f"{share:.0f}%"


__all__ = ["notes", "verdict"]
