"""Ctrl-C at any instruction of the code that stores raises KeyboardInterrupt only, and the seal is right."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from misstep.campaigns import seal, store, transactions, uninterrupted
from misstep.campaigns.store import Store, create_store, memory_store, open_store
from misstep.campaigns.tables import Content
from misstep.checking.seal import Sealed
from misstep.errors import UsageError
from support.campaigns import CONFIG, add_tested, fill, run_row, state_row, verdict_row

FILES = {module.__file__ for module in (seal, store, transactions)}


class Instructions:
    """Counts the instructions of these files, and sends the signal at one of them."""

    def __init__(self, hit: int | None = None) -> None:
        self.count = 0
        self._hit = hit

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:  # noqa: ARG002
        if frame.f_code.co_filename not in FILES:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            self.count += 1
            if self.count == self._hit:
                signal.raise_signal(signal.SIGINT)
        return self

    def watch(self, own: Store) -> None:
        before = sys.gettrace()
        # Python 3.12 reports instructions only if some frame had asked for them when settrace was called.
        sys._getframe().f_trace_opcodes = True
        try:
            sys.settrace(self)
            write(own)
        finally:
            sys.settrace(before)
            own.commit()  # as the engine does


def write(own: Store) -> None:
    findings = Content(own).findings("counter")
    with own.unit(gathered=True):
        findings.add_states([state_row(12)])
        findings.mark_done("a", "1", 0.1, 1)
    with own.unit(gathered=True):
        add_tested(findings, 8)
        findings.add_verdicts([verdict_row(3)])
    own.commit()
    with own.unit():
        findings.add_runs([run_row(2), run_row(9)])
        findings.forget_faults()
    own.set_meta("finished", "1")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled") / "c"
    with create_store(folder, CONFIG) as own:
        fill(own, 12, 8)
    return folder


@pytest.fixture(autouse=True)
def plain_handlers() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(filled: Path, folder: Path, step: int) -> None:
    shutil.copytree(filled, folder / "all")
    whole = Instructions()
    with open_store(folder / "all") as own:
        whole.watch(own)
    assert whole.count > 1000
    for place in range(1, whole.count, step):
        shutil.copytree(filled, folder / str(place))
        with open_store(folder / str(place)) as own:
            with pytest.raises(KeyboardInterrupt):
                Instructions(place).watch(own)
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
            # Whoever goes on with the same store seals rightly.
            Content(own).findings("counter").add_verdicts([verdict_row(5)])
            assert not own.connection.in_transaction
            assert Sealed(own.connection).problems == []
        with open_store(folder / str(place), readonly=True) as reader:
            assert reader.meta("writing") == "0"
        shutil.rmtree(folder / str(place))


def test_ctrl_c_while_something_is_stored(filled: Path, tmp_path: Path) -> None:
    interrupt(filled, tmp_path, 97)


@pytest.mark.soundness
def test_ctrl_c_at_every_instruction(filled: Path, tmp_path: Path) -> None:
    interrupt(filled, tmp_path, 1)


def test_requests_to_end_wait_and_are_handed_on_once() -> None:
    came = []
    before = signal.signal(signal.SIGTERM, lambda number, _: came.append(number))
    try:
        with uninterrupted.listening():
            with uninterrupted.uninterrupted(), uninterrupted.uninterrupted():
                signal.raise_signal(signal.SIGTERM)
                signal.raise_signal(signal.SIGTERM)
                assert came == []
            assert came == [signal.SIGTERM]
            signal.raise_signal(signal.SIGTERM)
            assert len(came) == 2
            ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)
            with uninterrupted.uninterrupted():
                assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            signal.signal(signal.SIGHUP, ignored)
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("what", ["commit", "insert"])
def test_a_forked_process_has_no_part_in_what_is_gathered(what: str) -> None:
    """Not even where SQLite would notice nothing: the statement would be part of the transaction of the other one."""
    own = memory_store(CONFIG)
    statements: list[str] = []
    rows = [(1, *state_row(3).encoded())]
    with own.unit(gathered=True):
        fill(own, 3, 0)
    own.connection.set_trace_callback(statements.append)
    statements.clear()
    pid, own._pid = own._pid, os.getppid()
    try:
        with pytest.raises(UsageError, match="forked process"):
            own.commit() if what == "commit" else own.insert("states", rows)
        assert statements == []
    finally:
        own._pid = pid
    own.commit()
    assert Sealed(own.connection).problems == []
    own.close()
