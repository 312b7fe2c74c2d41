"""axe-core finds no problem in any view, in light and in dark."""

from __future__ import annotations

from pathlib import Path

import pytest

from misstep.campaigns.campaign import Campaign
from misstep.reports.html.write import write_report
from support.chromium import Chromium

CHECK = """
axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(own => own.id + ': '
  + own.nodes.slice(0, 3).map(node => node.html.slice(0, 160) + ' ' + node.failureSummary).join(' | ')))
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_view_can_be_used_by_everybody(
    browser: Chromium,
    axe: str,
    folder: Path,
    gripper: Campaign,
    noisy: Campaign,
    line: Campaign,
    dark: bool,
) -> None:
    browser.dark(dark)
    file = write_report([gripper, noisy, line], folder / "three.html")
    danger = line.bugs[0].id
    views = ["compare", "overview", "families", "records", f"record&id={gripper.bugs[0].id}"]
    for view in [*views, "overview&c=2", f"record&c=2&id={danger}"]:
        browser.open(file, f"#view={view}")
        browser.run(axe + "; 0")
        assert browser.run(CHECK) == [], view
