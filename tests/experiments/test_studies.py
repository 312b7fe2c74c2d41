"""Studies of our own: whole campaigns with other settings, learning in rounds, and what their definitions ask."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from misstep.errors import InputFileError, InputFormatError, UnsupportedError
from misstep.experiments.definition import load_definition
from misstep.experiments.kinds import MISSING, campaigns, loops

HAS_TORCH = importlib.util.find_spec("torch") is not None
TASK = {"domain": "ferry", "sizes": {"cars": 2, "locations": 3}, "seed": 0}
ROW: dict[str, Any] = {
    "name": "ferry",
    "subject": {"tasks": [TASK], "policies": ["heuristic:ff", "noisy:0.5:1+heuristic:ff"]},
}
CAMPAIGNS: dict[str, Any] = {
    "name": "walks",
    "variants": {"none": {"fuzz": "none"}, "detour": {"fuzz": "detour", "unbiased_share": 0.0}},
    "pool": 6,
    "seconds": 60,
}
LOOP: dict[str, Any] = {
    "name": "loop",
    "first": {"line": 100},
    "steps": {"line": 100},
    "share": 0.5,
    "rounds": 1,
    "runs": 20,
    "episodes": 40,
    "hidden": 8,
}
LINE: dict[str, Any] = {
    "name": "line",
    "subject": {"model": "one-way-line", "options": {"cells": 4, "packages": 1}},
}


@pytest.mark.parametrize("name", ["online", "guidance", "defaults", "loop"])
@pytest.mark.parametrize("scale", ["smoke", "small", "medium", "paper"])
def test_every_scale_of_a_study_has_units(name: str, scale: str) -> None:
    definition = load_definition(name)
    assert definition.units(scale, 1)
    assert definition.seeds(scale) >= 1


def test_all_policies_of_a_row_are_tested_with_all_variants() -> None:
    parts = list(campaigns.units(CAMPAIGNS, ROW, 3))
    assert [(own.payload["policy"], own.payload["variant"]) for own in parts] == [
        (policy, variant)
        for policy in ROW["subject"]["policies"]
        for variant in CAMPAIGNS["variants"]
    ]
    found = [campaigns.run(own.payload) for own in parts]
    for own in found:
        assert own["states"] == 6 == own["decided"] + own["open"]
        assert own["bugs"] <= own["decided"]
    # Ferry with two cars is small, so nothing stays open, and a policy with much noise has bugs.
    assert sum(own["open"] for own in found) == 0
    assert sum(own["bugs"] for own in found[2:]) > 0
    (seen,) = campaigns.observations(parts[0].payload, found[0])
    assert set(seen) == set(campaigns.COLUMNS)


def test_a_variant_with_an_unknown_setting_is_told(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\ntitle = "x"\nworld = "planning"\n[[rows]]\nname = "a"\ndomain = "ferry"\n'
        'sizes = [{ cars = 1 }]\npolicies = ["first"]\n[[steps]]\nname = "s"\n'
        'kind = "planning-campaigns"\nvariants = { a = { bias = "none" } }\npool = 2\nseconds = 1\n'
    )
    with pytest.raises(InputFormatError, match=r"mine.toml:12.*fuzz, unbiased_share, oracle"):
        load_definition(str(path))


def test_a_loop_says_how_much_every_row_learns() -> None:
    (part,) = loops.units(LOOP, LINE, 0)
    assert (part.payload["first"], part.payload["runs"]) == (64, 10)  # never fewer than this
    assert part.work == 64 + 3 * 64
    with pytest.raises(UnsupportedError, match="first of the step loop has no number for other"):
        list(loops.units(LOOP, {**LINE, "name": "other"}, 0))
    with pytest.raises(UnsupportedError, match="needs a folder"):
        loops.run(part.payload)


@pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed")
def test_a_loop_that_was_done_is_read_again(tmp_path: Path) -> None:
    (part,) = loops.units(LOOP, LINE, 0)
    found = loops.run_in(part.payload, tmp_path)
    seen = list(loops.observations(part.payload, found))
    assert {(own["arm"], own["round"]) for own in seen} == {
        (arm, number) for arm in ("bugs", "plain", "shield") for number in (0, 1)
    }
    assert all(set(own) == set(loops.COLUMNS) for own in seen)
    # All arms begin with the same network.
    assert len({own["unsafe_rate"] for own in seen if own["round"] == 0}) == 1
    assert loops.run_in(part.payload, tmp_path) == found
    missing = {**part.payload, "subject": {MISSING: "no such model"}}
    with pytest.raises(InputFileError, match="no such model"):
        loops.run_in(missing, tmp_path)
