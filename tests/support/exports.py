"""What tests of exports share: campaigns of both worlds, and pytest with the plugin as it is when it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import misstep
from misstep.campaigns.campaign import Campaign
from misstep.tasks.generate import generate
from support.campaigns import NOISY, small_model

ROOT = Path(__file__).parents[2]


@cache
def planning_campaign() -> Campaign:
    """Bugs that fail and bugs that cost too much, on two tasks."""
    tasks = [misstep.load_task(generate("gripper", balls=balls)) for balls in (2, 3)]
    return misstep.test(tasks, NOISY, pool=12, seed=1)


@cache
def model_campaign() -> Campaign:
    """Unsafe runs of the first label."""
    return misstep.test(small_model("one-way-line"), "first", runs=10)


def strategy_policy(folder: Path, campaign: Campaign) -> str:
    """A policy that does what the witnesses of all bugs of a model do: each leads only where another one goes on."""
    (task,) = campaign.tasks
    assert isinstance(task, misstep.Model)
    table = {s: label for bug in campaign.bugs for s, _, label in bug.witness.strategy or ()}
    file = folder / "safe.py"
    file.write_text(
        f"TABLE = {table!r}\n"
        f"NAMES = {task.variable_names!r}\n"
        "def act(state):\n"
        "    return TABLE[tuple(state[name] for name in NAMES)]\n"
    )
    return f"python:{file}:act"


def run_pytest(
    *arguments: str | Path, cwd: Path, plugin: bool = True
) -> subprocess.CompletedProcess[str]:
    """pytest in a process of its own. The plugin is found by its entry point, as pip would have written it."""
    path = [str(ROOT / "src")]
    if plugin:
        about = cwd / "site" / "misstep-0.dist-info"
        about.mkdir(parents=True, exist_ok=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: misstep\nVersion: 0\n")
        (about / "entry_points.txt").write_text("[pytest11]\n" + entry_points() + "\n")
        path.append(str(cwd / "site"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return subprocess.run(
        [*command, "--rootdir", cwd, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def entry_points() -> str:
    """The lines of pyproject.toml that announce the plugin."""
    text = (ROOT / "pyproject.toml").read_text()
    return text.split("[project.entry-points.pytest11]\n")[1].split("\n\n")[0].replace('"', "")


__all__ = ["entry_points", "model_campaign", "planning_campaign", "run_pytest", "strategy_policy"]
