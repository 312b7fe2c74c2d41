"""How a training by Q-learning hears that it is to stop."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from misstep.stops import Stopped
from misstep.training.qlearning import interruption
from misstep.training.qlearning.interruption import noticed

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in STOPS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(interruption, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize("number", STOPS)
def test_a_signal_for_the_whole_group_comes_twice(number: int, clock: list[float]) -> None:
    """The parent of the process hands it on as well: that is one request."""
    with noticed() as stop:
        assert not stop()
        signal.raise_signal(number)
        clock[0] += 0.1
        signal.raise_signal(number)
        assert stop()


def test_a_second_request_stops_at_once_unless_all_is_being_stored(clock: list[float]) -> None:
    with noticed() as stop:
        signal.raise_signal(signal.SIGINT)
        clock[0] += 2
        with pytest.raises(Stopped):
            signal.raise_signal(signal.SIGINT)
        assert stop()
        clock[0] += 2
        signal.raise_signal(signal.SIGINT)


def test_what_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with noticed() as stop:
        signal.raise_signal(signal.SIGHUP)
        assert not stop()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
