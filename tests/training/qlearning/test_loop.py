"""Test, learn, test again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from misstep.errors import InputFormatError, UsageError
from misstep.tasks.jani.task import JaniTask
from misstep.training.qlearning.loop import (
    BUGS,
    PLAIN,
    LoopSettings,
    read_rounds,
    run_loop,
    table,
)
from misstep.training.qlearning.settings import QSettings

pytest.importorskip("torch")


@pytest.fixture
def settings(small: QSettings) -> LoopSettings:
    learning = replace(small, steps=160, checkpoints=1, episodes=8)
    return LoopSettings(rounds=1, runs=10, episodes=40, test_seconds=None, learning=learning)


def test_both_arms_begin_with_the_same_network(
    task: JaniTask, settings: LoopSettings, tmp_path: Path
) -> None:
    rows = run_loop(task, None, tmp_path / "loop", settings)
    assert [(row.arm, row.round) for row in rows] == [
        (BUGS, 0),
        (BUGS, 1),
        (PLAIN, 0),
        (PLAIN, 1),
    ]
    assert replace(rows[0], arm=PLAIN) == rows[2]
    for row in rows:
        low, high = row.risk
        assert low <= row.unsafe_rate <= high
        assert row.episodes == 40
        assert row.steps == 160 * row.round
    assert read_rounds(tmp_path / "loop") == rows
    text = table(rows)
    assert len(text.splitlines()) == 5
    assert "risk between" in text
    starts = tmp_path / "loop" / BUGS / "round-0" / "learning" / "starts.json"
    assert starts.exists() == (rows[0].bugs > 0)
    assert not (tmp_path / "loop" / PLAIN / "round-0" / "learning" / "starts.json").exists()


def test_a_loop_goes_on(task: JaniTask, settings: LoopSettings, tmp_path: Path) -> None:
    whole = run_loop(task, None, tmp_path / "whole", settings)

    class StopError(Exception):
        pass

    def stop(what: str, _: object) -> None:
        if what.startswith("testing round 1"):
            raise StopError

    with pytest.raises(StopError):
        run_loop(task, None, tmp_path / "parts", settings, report=stop)
    assert len(read_rounds(tmp_path / "parts")) == 1
    with pytest.raises(UsageError, match="there is a loop in this folder"):
        run_loop(task, None, tmp_path / "parts", settings)
    parts = run_loop(task, None, tmp_path / "parts", settings, resume=True)
    shown = [replace(row, network="") for row in parts]
    assert shown == [replace(row, network="") for row in whole]
    more = run_loop(task, None, tmp_path / "parts", replace(settings, rounds=2), resume=True)
    assert {(row.arm, row.round) for row in more} >= {(BUGS, 2), (PLAIN, 2)}


def test_other_settings_and_damage_are_refused(
    task: JaniTask, settings: LoopSettings, tmp_path: Path
) -> None:
    out = tmp_path / "loop"
    with pytest.raises(UsageError, match="no loop in this folder"):
        run_loop(task, None, out, settings, resume=True)
    run_loop(task, None, out, replace(settings, plain=False))
    with pytest.raises(UsageError, match="begun with runs 10, not 20"):
        run_loop(task, None, out, replace(settings, plain=False, runs=20), resume=True)
    (out / "rounds.jsonl").write_text('{"arm": "bugs"}\n')
    with pytest.raises(InputFormatError, match="damaged"):
        read_rounds(out)
    (out / "loop.json").write_text("{}")
    with pytest.raises(InputFormatError, match="not the settings of a loop"):
        run_loop(task, None, out, settings, resume=True)
    for wrong in ({"rounds": 0}, {"confidence": 1.0}, {"test_seconds": 0.0}):
        with pytest.raises(UsageError):
            replace(settings, **wrong)
