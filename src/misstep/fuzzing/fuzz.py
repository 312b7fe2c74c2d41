"""`fuzz`: from a policy to a pool of states to test it on."""

from __future__ import annotations

from collections.abc import Callable

from misstep.fuzzing.fuzzer import Fuzzer
from misstep.fuzzing.fuzzer_2022 import Fuzzer2022
from misstep.fuzzing.fuzzer_2024 import Fuzzer2024
from misstep.fuzzing.pool import Pool
from misstep.fuzzing.settings import PRESETS, Settings, preset
from misstep.runs.outcomes import DEFAULT_MAX_STEPS
from misstep.runs.runner import PolicyRunner
from misstep.tasks.task import Task


def make_fuzzer(
    task: Task,
    runner: PolicyRunner | None,
    settings: Settings | str = "p24",
    seed: int = 0,
    *,
    pool: Pool | None = None,
    max_steps: int | None = DEFAULT_MAX_STEPS,
) -> Fuzzer:
    """The fuzzer for the settings; with a pool, it continues from there.

    No run of the policy is followed further than `max_steps`, the limit of all runs in a test; None: no limit.
    """
    chosen = preset(settings) if isinstance(settings, str) else settings
    kind = Fuzzer2022 if chosen.algorithm == "2022" else Fuzzer2024
    return kind(task, runner, chosen, seed, pool=pool, max_steps=max_steps)


def fuzz(
    task: Task,
    runner: PolicyRunner | None,
    settings: Settings | str = "p24",
    seed: int = 0,
    *,
    max_steps: int | None = DEFAULT_MAX_STEPS,
    progress: Callable[[Pool], None] | None = None,
) -> Pool:
    """Make a pool. The settings may be the name of a preset; without a bias no policy is needed."""
    return make_fuzzer(task, runner, settings, seed, max_steps=max_steps).run(progress)


__all__ = ["PRESETS", "Fuzzer", "Pool", "Settings", "fuzz", "make_fuzzer", "preset"]
