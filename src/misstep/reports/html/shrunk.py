"""Shrunk bugs that lie beside a campaign: what is left of the task, how it looks, and where it is."""

from __future__ import annotations

from typing import Any

from misstep.campaigns.campaign import Campaign
from misstep.comparison.shrink import Shrunk, shrunk_of
from misstep.reports.drawings import drawing_for
from misstep.reports.html.chunks import Chunks

NAMES = {"changed": "variables that differ from the start", "constants": "sum of the constants"}
NAMES |= {"walk": "steps to the state", "plan": "steps of the plan", "run": "steps of the run"}
NAMES |= {"strategy": "states of the strategy"}
# What holds of the state where the small task starts.
LEGAL = {
    "reachable": "Its state is reachable from the initial state of the original task.",
    "mutex": "Its state contradicts no invariant of the task, but need not be reachable.",
    "any": "Its state is any state, which need not be reachable.",
}


def add_shrunk(chunks: Chunks, prefix: str, campaign: Campaign) -> list[str]:
    """Add what became of each bug that was shrunk; returns their ids."""
    folder = campaign.folder
    if folder is None or not (folder / "shrunk").is_dir():
        return []
    kept = {place.name.rpartition("-")[2] for place in (folder / "shrunk").iterdir()}
    found: dict[str, Any] = {}
    for bug in campaign.iter_records():
        # The folders end in the number of the record; looking for each bug would take too long.
        if bug.is_bug and str(bug.number) in kept:
            small = shrunk_of(campaign, bug.id)
            if small is not None:
                with small.campaign:
                    found[bug.id] = _described(small)
    if found:
        chunks.add_json(f"late.{prefix}.shrunk", found)
    return list(found)


def _described(small: Shrunk) -> dict[str, Any]:
    before, after = small.note.before.as_dict(), small.note.after.as_dict()
    record, place = small.record, small.campaign.folder
    drawing = drawing_for(small.task)
    return {
        "sizes": [
            [NAMES.get(name, name), before[name], after[name]]
            for name in before
            if before[name] is not None and after[name] is not None
        ],
        "reason": small.reason,
        "legal": LEGAL[small.legal],
        "minimal": small.minimal,
        "problem": small.problem_text,
        "plan": None if record.witness.names is None else list(record.witness.names),
        "run": list(record.run.names),
        "facts": list(record.facts),
        "picture": None if drawing is None else drawing.svg(record.state),
        "folder": None if place is None else str(place),
    }


__all__ = ["add_shrunk"]
