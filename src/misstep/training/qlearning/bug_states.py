"""The states of a campaign's bugs, as states where episodes begin: `--from-bugs DIR`.

A bug is a safe state from which the policy gets into an unsafe one. Its run shows where it goes wrong, so the states of
the run are used as well, except those that are proven to be lost: no decision there helps, so there is nothing to
learn.
"""

from __future__ import annotations

import os

from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.errors import UsageError
from misstep.tasks.jani.property import State
from misstep.tasks.jani.task import JaniTask

NOT_A_BUG = "NOT A BUG"  # no strategy is safe from such a state


def read_bug_states(
    campaign: Campaign | str | os.PathLike[str], task: JaniTask, *, required: bool = True
) -> list[State]:
    """The states of all bugs and of their runs, each once; an error if there are none but some are required."""
    if not isinstance(campaign, Campaign):
        with open_campaign(campaign) as opened:
            return read_bug_states(opened, task, required=required)
    where = str(campaign.folder or "the campaign")
    known = [own for own in campaign.tasks if isinstance(own, JaniTask)]
    names = {own.name for own in known if own.digest == task.digest}
    if not names:
        told = ", ".join(own.name for own in campaign.tasks[:3])
        raise UsageError(
            f"the campaign is about another model: {told}",
            where=where,
            expected=f"a campaign on {task.name}, with the same property and constants",
        )
    found: dict[State, None] = {}
    lost: set[State] = set()
    for record in campaign.iter_records():
        if record.task not in names:
            continue
        if record.is_bug:
            found[tuple(record.state)] = None
            # The last one is unsafe.
            found.update({tuple(state): None for state in (record.run.states or ())[:-1]})
        elif record.verdict == NOT_A_BUG:
            lost.add(tuple(record.state))
    if not found and required:
        raise UsageError(
            "the campaign has no bug to learn from", where=where, hint="leave out --from-bugs"
        )
    return [state for state in found if state not in lost]


__all__ = ["read_bug_states"]
