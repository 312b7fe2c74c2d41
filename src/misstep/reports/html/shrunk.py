"""Shrunk bugs that lie beside a campaign: what is left of the task, and where."""

from __future__ import annotations

from importlib import import_module, util
from typing import Any

from misstep.campaigns.campaign import Campaign

SHRINK = "misstep.comparison.shrink"
NUMBERS = ("objects_before", "objects_after", "plan_before", "plan_after")


def add_shrunk(campaign: Campaign) -> dict[str, Any]:
    """Of each bug that was shrunk, by its id: sizes before and after, and the folder of the small campaign."""
    folder = campaign.folder
    if folder is None or not (folder / "shrunk").is_dir() or util.find_spec(SHRINK) is None:
        return {}
    shrunk_of = import_module(SHRINK).shrunk_of
    found: dict[str, Any] = {}
    for bug in campaign.bugs:
        own = shrunk_of(campaign, bug.id)
        if own is not None:
            found[bug.id] = {name: getattr(own, name, None) for name in NUMBERS} | {
                "minimal": bool(own.minimal),
                "legal": str(own.legal),
                "folder": None if own.campaign is None else str(own.campaign.folder),
            }
    return found


__all__ = ["add_shrunk"]
