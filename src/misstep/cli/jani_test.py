"""`misstep test MODEL.jani`: find runs of a policy into unsafe states that could have been avoided."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from misstep.campaigns.create import DATABASE_NAME
from misstep.campaigns.store import CampaignStore, begin_store, open_store
from misstep.cli.defaults import SAFETY
from misstep.cli.models import read_model
from misstep.cli.output import print_json, print_pairs, remark
from misstep.errors import Interrupted

if TYPE_CHECKING:
    from misstep.campaigns.campaign import Progress
    from misstep.campaigns.safety import SafetySummary
    from misstep.campaigns.safety_settings import SafetySettings


def is_safety_campaign(folder: Path) -> bool:
    if not (folder / DATABASE_NAME).exists():
        return False
    with open_store(folder, readonly=True) as store:
        return is_safety(store)


def is_safety(store: CampaignStore) -> bool:
    return store.config.get("campaign") == SAFETY


def test_model(
    paths: list[Path],
    chosen: Callable[[], SafetySettings] | None,
    out: Path,
    property: str | None,
    constants: list[str] | None,
    progress: AbstractContextManager[Progress],
    as_json: bool,
    *,
    resume: bool,
) -> int:
    """Begin a campaign, or go on with the one in `out`, whatever its settings are if none are given."""
    began = monotonic()
    if chosen is None:
        with open_store(out, readonly=True) as store:
            from misstep.campaigns.safety_settings import SafetySettings
            from misstep.campaigns.safety_store import SafetyStore

            settings = SafetySettings.from_dict(store.config, str(store.path))
            task = SafetyStore(store).model()
    else:
        task = read_model(paths, property, constants)
        settings = chosen()
    from misstep.campaigns.safety import SafetyCampaign

    with SafetyCampaign(task, settings) as campaign:
        store = (
            open_store(out)
            if chosen is None
            else begin_store(out, settings.as_dict(), resume=resume)
        )
        try:
            with store, progress as report:
                summary = campaign.run(store, report)
        except KeyboardInterrupt:
            raise stopped(out) from None
    summary.seconds["total"] = round(monotonic() - began, 3)
    _print(summary, store, as_json)
    return 1 if summary.bugs else 0


def stopped(out: Path) -> Interrupted:
    return Interrupted(
        "stopped by the user; what is done is kept",
        where=str(out),
        hint=f"misstep test --resume --out {out} goes on",
    )


def _print(summary: SafetySummary, store: CampaignStore, as_json: bool) -> None:
    numbers: dict[str, Any] = summary.as_dict()
    if as_json:
        print_json({"campaign": str(store.folder), **numbers})
        return
    print_pairs(
        {name: numbers[name] for name in ("runs", "unsafe_runs", "distinct_states", "bugs")}
        | {"not bugs": summary.not_bugs, "unknown": summary.unknown, "faults": summary.faults}
    )
    if summary.bugs_by_radius:
        parts = [
            f"{count} with {radius.replace('>', 'more than ')}"
            for radius, count in summary.bugs_by_radius.items()
        ]
        print("bugs by deviations that avoid them: " + ", ".join(parts))
    seconds = ", ".join(f"{name} {spent:.1f} s" for name, spent in summary.seconds.items())
    remark(f"{seconds}; {summary.policy_calls} policy calls; records in {store.folder}")
    for text in summary.remarks[:10]:
        remark(f"note: {text}")


__all__ = ["is_safety", "is_safety_campaign", "test_model"]
