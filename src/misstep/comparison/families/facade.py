"""Families as methods of a campaign: found from its records, measured with its policy, kept in its store."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from misstep.campaigns.store import Store
from misstep.comparison.families.family import Family
from misstep.comparison.families.find import find_families
from misstep.comparison.families.stored import read_measured, write_measured
from misstep.ranges import check_seed, check_whole

if TYPE_CHECKING:
    from misstep.campaigns.campaign import Campaign
    from misstep.comparison.families.measure import PolicyOf

MOST_STATES = 100_000


def families_of(campaign: Campaign, store: Store) -> list[Family]:
    """The families, with what its store keeps of their measurements."""
    found = find_families(campaign.tasks, campaign.records, _radius(campaign))
    identity = campaign.policy
    known = read_measured(store, None if identity is None else identity.digest)
    return [replace(own, measured=known.get(own.key)) for own in found]


def measure_families(
    campaign: Campaign,
    policy_of: PolicyOf,
    states: int | None,
    seconds: float | None,
    seed: int | None,
    progress: Callable[[str, int, int], None] | None,
) -> Callable[[Store], None]:
    """Measure; what comes back writes the result into a store."""
    from misstep.comparison.families.find import describe
    from misstep.comparison.families.measure import DEFAULT_SECONDS, DEFAULT_STATES, measure

    wanted = check_whole("states", DEFAULT_STATES if states is None else states, 1, MOST_STATES)
    own = check_seed((campaign.settings.seed + 1) % 2**64 if seed is None else seed)
    radius = _radius(campaign)
    described = describe(campaign.tasks, campaign.records, radius)
    measured = measure(
        described,
        {task.name: task for task in campaign.tasks},
        campaign.records,
        policy_of,
        states=wanted,
        seconds=DEFAULT_SECONDS if seconds is None else seconds,
        seed=own,
        radius=math.inf if radius in (None, "inf") else float(radius or 0),
        progress=progress,
    )
    identity = campaign.policy
    digest = "" if identity is None else identity.digest
    return lambda store: write_measured(store, measured, digest)


def _radius(campaign: Campaign) -> str | None:
    settings = campaign.settings
    return None if settings.model is None else settings.of_model.radius


__all__ = ["families_of", "measure_families"]
