"""Shrunk bugs that lie beside a campaign: what is left of the task, and where."""

from __future__ import annotations

from importlib import import_module, util
from typing import Any

from misstep.campaigns.campaign import Campaign

SHRINK = "misstep.comparison.shrink"


def add_shrunk(campaign: Campaign) -> dict[str, Any]:
    """Of each bug that was shrunk, by its id: what became of it in words, and the folder of the small campaign."""
    folder = campaign.folder
    if folder is None or not (folder / "shrunk").is_dir() or util.find_spec(SHRINK) is None:
        return {}
    module = import_module(SHRINK)
    kept = {place.name.rpartition("-")[2] for place in (folder / "shrunk").iterdir()}
    found: dict[str, Any] = {}
    for bug in campaign.iter_records():
        # The folders end in the number of the record; looking for each bug would take too long.
        if bug.is_bug and str(bug.number) in kept:
            own = module.shrunk_of(campaign, bug.id)
            if own is not None:
                place = own.campaign.folder
                found[bug.id] = {
                    "told": str(own),
                    "minimal": bool(own.minimal),
                    "problem": getattr(own, "problem_text", None),
                    "folder": None if place is None else str(place),
                }
    return found


__all__ = ["add_shrunk"]
