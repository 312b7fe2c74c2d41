"""Experiments give the same results however they are run, killed and resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest

import misstep
from misstep.errors import InputFileError, InputFormatError, UsageError
from misstep.experiments.driver import Pool, run_experiment
from misstep.experiments.plan import plan
from misstep.experiments.store import DONE, FAILED, NAME, begin, open_results
from support.experiments import SMALL, count, definition, results, write

SOURCE = Path(misstep.__file__).parents[1]
PATIENCE = 120.0  # seconds for a process to get somewhere


def command(folder: Path, *more: str) -> list[str]:
    own = [sys.executable, "-m", "misstep", "experiment", str(write(folder))]
    return [*own, "--out", str(folder / "out"), *more]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE)}


def test_jobs_change_nothing_but_times(tmp_path: Path) -> None:
    done = []
    for jobs in (1, 2):
        folder = tmp_path / str(jobs)
        found = run_experiment(definition(), folder, jobs=jobs)
        assert (found.done, found.without) == (found.units, 0)
        done.append(results(folder))
    assert done[0] == done[1]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_driver_loses_only_what_is_under_way(tmp_path: Path, number: int) -> None:
    process = subprocess.Popen(
        command(tmp_path, "--scale", "small"),
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    deadline = monotonic() + PATIENCE
    while count(tmp_path / "out") < 3 and monotonic() < deadline:
        sleep(0.005)
    process.send_signal(number)
    said = process.communicate()[1].decode()
    assert process.returncode == (-9 if number == signal.SIGKILL else 23)
    if number == signal.SIGINT:
        assert "the same command continues" in said
    before = count(tmp_path / "out")
    total = len(definition().units("small", 8))
    assert 3 <= before < total
    again = run_experiment(definition(), tmp_path / "out", "small", jobs=2)
    assert (again.before, again.done) == (before, total - before)
    run_experiment(definition(), tmp_path / "fresh", "small", jobs=2)
    assert results(tmp_path / "out") == results(tmp_path / "fresh")


def test_what_is_missing_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    text = SMALL.replace('policies = ["random:1"]', 'policies = ["shipped:nothing"]')
    text = text.replace('model = "one-way-line"', 'model = "nowhere.jani"')
    found = run_experiment(definition(text), tmp_path / "out")
    assert found.without == found.units
    text = SMALL.replace('policies = ["random:1"]', 'policies = ["shipped:nothing"]')
    found = run_experiment(definition(text), tmp_path / "out")
    assert 0 < found.without < found.units
    # When it is there, what was missing is done, and nothing else.
    again = run_experiment(definition(), tmp_path / "out")
    assert again.without == 0
    assert again.before == found.done


def test_a_changed_definition_brings_the_folder_up_to_date(tmp_path: Path) -> None:
    first = run_experiment(definition(), tmp_path)
    changed = run_experiment(definition(SMALL.replace("states = 15", "states = 12")), tmp_path)
    fuzzing = sum(unit.step == "fuzzing" for unit in definition().units("smoke", 2))
    assert changed.before == changed.changes.kept == fuzzing
    assert changed.changes.dropped == first.units - fuzzing
    assert set(results(tmp_path)) == {
        u.title for u in definition(SMALL.replace("states = 15", "states = 12")).units("smoke", 2)
    }
    more = run_experiment(
        definition(SMALL.replace("states = 15", "states = 12")), tmp_path, seeds=3
    )
    assert more.before == changed.units
    assert more.units == changed.units // 2 * 3


def test_results_of_another_version_are_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(misstep, "__version__", "0.0.1")
        first = run_experiment(definition(), tmp_path)
    again = run_experiment(definition(), tmp_path)
    assert again.changes.outdated == again.done == first.units


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    run_experiment(definition(), tmp_path / "out", seeds=1)
    with pytest.raises(UsageError, match="experiment tiny at the scale smoke"):
        run_experiment(definition(), tmp_path / "out", "small", seeds=1)
    with pytest.raises(UsageError, match="another folder"):
        run_experiment(definition(SMALL.replace('"tiny"', '"other"')), tmp_path / "out")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "notes.txt").write_text("mine")
    with pytest.raises(InputFileError, match="holds no experiment"):
        run_experiment(definition(), tmp_path / "notes")
    (tmp_path / "out" / NAME).write_bytes(b"no database at all")
    with pytest.raises(InputFormatError, match="no SQLite database"):
        run_experiment(definition(), tmp_path / "out")
    with pytest.raises(InputFileError, match="no experiment"):
        open_results(tmp_path)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with (
        begin(tmp_path, "tiny", "smoke"),
        pytest.raises(InputFileError, match="the experiment is in use"),
    ):
        begin(tmp_path, "tiny", "smoke")


def test_a_worker_that_dies_costs_its_unit_alone() -> None:
    """As one that the system kills for its memory."""
    first, second = definition().units("smoke", 1)[:2]
    with Pool(1, None) as pool:
        (process,) = pool.idle
        process.send_signal(signal.SIGSTOP)  # so that it cannot be done before
        pool.give(first)
        process.kill()
        ((unit, found),) = pool.collect()
        assert unit == first
        assert found["outcome"] == FAILED
        assert "the code -9" in found["result"]["message"]
        pool.give(second)
        ((unit, found),) = pool.collect()
        assert unit == second
        assert found["outcome"] == DONE


def test_a_policy_that_crashes_is_counted(tmp_path: Path) -> None:
    policy = tmp_path / "deadly.py"
    policy.write_text("import os\ndef act(*_):\n    os._exit(7)\n")
    text = SMALL.replace('policies = ["random:1"]', f'policies = ["python:{policy}:act"]')
    run_experiment(definition(text), tmp_path / "out", seeds=1)
    stored = results(tmp_path / "out")
    assert stored["fuzzing, ball, seed 0: uniform-1"]["crashes"] == 30
    assert stored["fuzzing, line, seed 0: uniform-1"]["crashes"] == 0


def test_the_plan_tells_what_is_left(tmp_path: Path) -> None:
    before = plan(definition(), "smoke", None, 2, tmp_path)
    assert before.seconds is None
    assert [own.done for own in before.steps] == [0, 0]
    run_experiment(definition(), tmp_path, seeds=1)
    after = plan(definition(), "smoke", 2, 2, tmp_path)
    assert [own.done * 2 for own in after.steps] == [own.units for own in after.steps]
    assert after.seconds is not None
    assert after.seconds > 0
    costs = "\n[costs.smoke.fuzzing]\nline = 2.0\n[costs.smoke.deciding]\nline = 1.0\nball = 0.5\n"
    known = plan(definition(SMALL + costs), "smoke", 1, 2)
    assert [own.seconds for own in known.steps] == [2 * 30 * 2 * 2.0, 4 * 15 * 1.5]
    assert known.seconds == (240 + 90) / 2
    assert "measured at the scale smoke" in known.costs_from
    larger = plan(definition(SMALL + costs), "small", 1, 1)
    assert (known.bound, larger.bound, "smaller" in larger.costs_from) == (
        "about",
        "at least",
        True,
    )
    smaller = plan(definition(SMALL + costs.replace("smoke", "small")), "smoke", 1, 1)
    assert (smaller.bound, "larger" in smaller.costs_from) == ("roughly", True)
    assert known.steps[1].longest == 8 * 15 * 60
