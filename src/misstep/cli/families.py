"""The families of bugs, as `misstep explain` prints them."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from misstep.cli.output import remark, say

if TYPE_CHECKING:
    from misstep.campaigns.campaign import Campaign
    from misstep.campaigns.explain import BlamedDecision
    from misstep.comparison.families.family import Family

LONGEST_STATE = 300  # characters


def print_families(campaign: Campaign, folder: Path, top: int) -> None:
    """Print the families, largest first: the description, measurements, an example and what to type next."""
    families = campaign.families
    for number, family in enumerate(families[:top], 1):
        say(f"{number}. {family.sentence}")
        for line in _below(family):
            say(f"   {line}")
        say(f"   next: misstep explain {quote(str(folder))} {quote(family.example)}")
    if len(families) > top:
        remark(f"... and {len(families) - top} more families (--top)")
    if families:
        without = without_faults(campaign)
        if without:
            say(
                f"{without} of {len(campaign.bugs)} bugs have no proven fault and are in no family."
            )
        if not any(family.measured for family in families):
            remark(
                "--measure asks the policy in fresh states how often these descriptions are right"
            )
        say()


def _below(family: Family) -> list[str]:
    lines = []
    if family.measured is not None:
        lines.append(f"measured: {family.measured}")
    if family.exceptions:
        lines.append(
            f"exceptions: {family.exceptions} of {family.good} good decisions that were compared fit these words, too"
        )
    facts = ", ".join(family.example_facts)
    if len(facts) > LONGEST_STATE:
        facts = f"{facts[: LONGEST_STATE - 3]}..."
    did = "stops" if family.example_decision is None else f"({family.example_decision.name})"
    better = family.example_better
    instead = "" if better is None else f" instead of ({better.name})"
    lines.append(f"example {family.example}: {did}{instead} in {facts}")
    return lines


def without_faults(campaign: Campaign) -> int:
    """The number of bugs without a proven fault."""
    return sum(not record.faults for record in campaign.bugs)


def as_data(campaign: Campaign, faults: list[BlamedDecision]) -> dict[str, Any]:
    """For --json."""
    return {
        "families": [family.as_dict() for family in campaign.families],
        "bugs": len(campaign.bugs),
        "without_faults": without_faults(campaign),
        "faults": [fault.as_dict() for fault in faults],
    }


__all__ = ["as_data", "print_families", "without_faults"]
