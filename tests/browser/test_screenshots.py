"""The pictures of docs/images: `pytest tests/browser/test_screenshots.py --screenshots docs/images`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import misstep
from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.reports.html.write import write_report
from support.chromium import Chromium

LARGEST = 200_000  # bytes of a picture
Shoot = Callable[[str], None]


@pytest.fixture(scope="module")
def images(request: pytest.FixtureRequest) -> Path:
    given = request.config.getoption("--screenshots", default=None)
    if not given:
        pytest.skip("pictures are made with --screenshots FOLDER only")
    folder = Path(str(given)).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def shoot(browser: Chromium, images: Path) -> Shoot:
    def save(name: str) -> None:
        browser.run("new Promise(go => setTimeout(go, 300))")
        picture = browser.screenshot()
        assert len(picture) < LARGEST
        (images / name).write_bytes(picture)

    return save


@pytest.fixture(scope="module")
def place(images: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    return tmp_path_factory.mktemp("screenshots")


@pytest.fixture(scope="module")
def transport(place: Path) -> Path:
    """A trained network on six maps, and the same network with noise on the same states."""
    tasks = []
    for seed in range(1, 7):
        sizes = {"vehicles": 2, "packages": 2, "locations": 5, "capacity": 2}
        task = misstep.load_task(misstep.generate("transport", seed=seed, **sizes))
        task.name = f"map-{seed}"
        tasks.append(task)
    misstep.test(tasks, "noisy:0.15:4+shipped:transport", pool=60, out=place / "noisy")
    misstep.test(None, "shipped:transport", pool_from=place / "noisy", out=place / "trained")
    return place


def opened(monkeypatch: pytest.MonkeyPatch, place: Path, *names: str) -> list[Campaign]:
    """By their names alone, so that no folder of this machine is in the picture."""
    monkeypatch.chdir(place)
    return [open_campaign(name) for name in names]


def worst(campaign: Campaign) -> str:
    """A costly bug with much to see."""
    costly = [bug for bug in campaign.bugs if bug.kind == "costly" and bug.witness.operators]
    best = max(costly, key=lambda bug: (min(len(bug.faults or ()), 2), (bug.gap or (0, 0))[0] or 0))
    return best.id


def test_a_classical_campaign(
    browser: Chromium, shoot: Shoot, transport: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (campaign,) = opened(monkeypatch, transport, "trained")
    file = campaign.report(transport / "trained.html")
    browser.size(1280, 1140)
    browser.open(file)
    shoot("report-classical.png")
    browser.size(1280, 1287)
    browser.open(file, f"#view=record&id={worst(campaign)}")
    for _ in range(3):
        browser.press("j")
    shoot("report-bug.png")
    browser.size(390, 844, 1.5, mobile=True)
    browser.open(file, f"#view=record&id={worst(campaign)}")
    shoot("report-phone.png")
    browser.size(1280, 900)
    browser.dark(True)
    browser.open(file, "#view=records&sort=-gap&clean=1")
    browser.press("j")
    shoot("report-dark.png")


def test_a_safety_campaign(
    browser: Chromium, shoot: Shoot, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = misstep.load_task(misstep.generate("two-way-line", cells=8, packages=3, ice="3,5"))
    task.name = "icy-line"
    misstep.test(task, "random:3", runs=100, out=place / "icy-line")
    (campaign,) = opened(monkeypatch, place, "icy-line")
    bugs = [bug for bug in campaign.bugs if bug.faults and len(bug.run.operators) <= 9]
    bug = max(bugs, key=lambda own: (len(own.run.operators), -own.number))
    browser.size(1280, 1095)
    browser.open(campaign.report(place / "line.html"), f"#view=record&id={bug.id}")
    for _ in range(3):
        browser.press("j")
    shoot("report-safety.png")


def test_a_comparison(
    browser: Chromium, shoot: Shoot, transport: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaigns = opened(monkeypatch, transport, "noisy", "trained")
    browser.size(1280, 1180)
    browser.open(write_report(campaigns, transport / "both.html"))
    browser.wait(
        "[...document.querySelectorAll('h2')].some(own => own.innerText === 'State by state')"
    )
    shoot("report-comparison.png")
