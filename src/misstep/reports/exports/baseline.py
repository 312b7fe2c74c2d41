"""The baseline of a campaign, for gates."""

from __future__ import annotations

from pathlib import Path

from misstep.campaigns.campaign import Campaign
from misstep.comparison.gates import Baseline  # type: ignore[import-not-found,unused-ignore]


def write_baseline(campaign: Campaign, path: Path) -> Path:
    """Write the bugs of a campaign into a file that is small enough to commit."""
    Baseline.of(campaign).write(path)
    return path


__all__ = ["write_baseline"]
