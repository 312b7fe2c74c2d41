"""A browser for all tests here, and small campaigns to report on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import misstep
from misstep.campaigns.campaign import Campaign
from support.chromium import Chromium, find_chromium

ROOT = Path(__file__).resolve().parents[2]
AXE = Path(os.environ.get("MISSTEP_AXE", ROOT / "build" / "axe" / "axe.min.js"))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    program = find_chromium()
    if program is None:
        pytest.skip("there is no Chromium here (apt-get install chromium, or MISSTEP_CHROMIUM)")
    browser = Chromium(program)
    yield browser
    browser.close()


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Chromium]:
    """The browser at the size of a desk; no test may leave an error on its console, or send a request."""
    chromium.size(1280, 900)
    chromium.dark(False)
    yield chromium
    assert chromium.problems() == []
    outside = [
        url for url in chromium.requests() if not url.startswith(("file:", "data:", "blob:"))
    ]
    assert outside == []


@pytest.fixture(scope="session")
def axe() -> str:
    if not AXE.is_file():
        pytest.skip(f"axe-core is not at {AXE} (`make browser` gets it)")
    return AXE.read_text()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("campaigns")


@pytest.fixture(scope="session")
def gripper(folder: Path) -> Campaign:
    """A trained network that carries balls one by one."""
    task = misstep.load_task(misstep.generate("gripper", balls=6, scatter=50, seed=2))
    return misstep.test(task, "shipped:gripper", pool=40, out=folder / "gripper")


@pytest.fixture(scope="session")
def noisy(folder: Path, gripper: Campaign) -> Campaign:
    """A worse policy on the same states."""
    assert gripper.folder is not None
    policy = "noisy:0.2:1+shipped:gripper"
    return misstep.test(None, policy, pool_from=gripper.folder, out=folder / "noisy")


@pytest.fixture(scope="session")
def line(folder: Path) -> Campaign:
    """A model with ice, and a policy that drives over the end of the line."""
    task = misstep.load_task(misstep.generate("two-way-line", cells=8, packages=3, ice="3"))
    return misstep.test(task, "random:3", runs=60, out=folder / "line")


@pytest.fixture(scope="session")
def report(folder: Path, gripper: Campaign) -> Path:
    return gripper.report(folder / "gripper.html")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--screenshots", metavar="FOLDER", help="make the pictures of docs/images")
