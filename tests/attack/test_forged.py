"""Folders that somebody has forged: what a replay says of each, and where the digest alone tells.

Each forgery is made twice. Once as somebody makes it with any SQLite program: the digest of the records shows it. And
once by somebody who has read how the digest is made and computes it again: then only what can be checked is found. The
table in docs/replay.md is made from the same data (`python tests/support/pages.py`).
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from misstep.campaigns.campaign import Campaign, open_campaign
from support.forged import FORGERIES, WORLDS, forged, made, said_of, sealed_again
from support.forging import Forgery

IDS = [f"{own.world}: {own.what}" for own in FORGERIES]


@pytest.fixture(scope="session")
def honest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return made(tmp_path_factory.mktemp("honest"))


def opened(folder: Path) -> Campaign:
    return open_campaign(folder)


@pytest.mark.parametrize("world", WORLDS)
def test_honest_folders_pass(honest: dict[str, Path], world: str) -> None:
    with opened(honest[world]) as campaign:
        for full in (False, True):
            found = campaign.replay(full=full)
            assert found.ok, str(found)
            assert found.report.digest is not None


@pytest.mark.parametrize("own", FORGERIES, ids=IDS)
def test_the_digest_shows_it(own: Forgery, honest: dict[str, Path], tmp_path: Path) -> None:
    folder = forged(own, honest, tmp_path)
    plain = said_of(folder, full=False)
    assert plain.changed, plain


@pytest.mark.parametrize("own", FORGERIES, ids=IDS)
def test_who_computes_the_digest_again_is_found_by_what_is_checked(
    own: Forgery, honest: dict[str, Path], tmp_path: Path
) -> None:
    folder = forged(own, honest, tmp_path)
    sealed_again(folder)
    plain = said_of(folder, full=False)
    assert not plain.changed
    assert own.counted is None or own.counted in plain.not_checked
    for full, expected in ((False, own.plain), (True, own.full)):
        said = said_of(folder, full=full)
        if expected is None:
            assert said.problems == (), said
        else:
            assert any(expected in problem for problem in said.problems), said


def test_more_work_does_not_hide_a_change(honest: dict[str, Path], tmp_path: Path) -> None:
    """A row that was changed is not made up for when the campaign goes on."""
    folder = Path(shutil.copytree(honest["task"], tmp_path / "grown"))
    own = next(own for own in FORGERIES if own.what == "effort changed")
    own.forge(folder)
    with opened(folder) as campaign:
        campaign.judge("undo")
    assert said_of(folder, full=False).changed


def test_growing_and_judging_keep_the_digest(honest: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(honest["task"], tmp_path / "grown"))
    with opened(folder) as campaign:
        campaign.judge("undo")
        assert campaign.replay().ok
    assert said_of(folder, full=True).problems == ()


@pytest.mark.parametrize(
    ("world", "expected"),
    [("retest", "not found again"), ("risk", "the policy now decides otherwise")],
)
def test_decisions_that_only_the_policy_knows_are_found_by_asking_it(
    world: str, expected: str, honest: dict[str, Path], tmp_path: Path
) -> None:
    own = next(own for own in FORGERIES if own.world == world)
    folder = forged(own, honest, tmp_path)
    sealed_again(folder)
    with opened(folder) as campaign:
        found = campaign.replay(rerun=True)
        assert found.report.valid
        assert not found.report.not_checked.keys() & {"runs of the policy", "decisions"}
        assert expected in found.changed[0][1]
    with opened(honest[world]) as campaign:
        assert campaign.replay(rerun=True).ok
