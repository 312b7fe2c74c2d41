"""Sources of tasks that unpack to more than fits into the memory, in a folder of a few kilobytes."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns import sources
from misstep.checking import stored
from misstep.checking.errors import CheckError
from misstep.checking.jani import documents as checker
from misstep.errors import InputFormatError, MisstepError
from misstep.tasks.jani import document


def packed(**more: Any) -> bytes:
    files = {"task.sas": base64.b64encode(b"x, [y], {z}" * 1000).decode()}
    return zlib.compress(json.dumps({"world": "planning", "files": files, **more}).encode())


def stored_task(source: bytes) -> stored.StoredTask:
    task = stored.StoredTask.__new__(stored.StoredTask)
    object.__setattr__(task, "source", source)
    return task


def test_sources_of_many_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_MEMBERS", 100)
    monkeypatch.setattr(stored, "MAX_MEMBERS", 100)
    assert sources.read_source(packed())["world"] == "planning"
    assert stored.source_of(stored_task(packed()))["world"] == "planning"
    lists: tuple[list[Any], ...] = ([[]] * 200, [{}] * 200, [0] * 200)
    for more in lists:
        with pytest.raises(ValueError, match="more than 100 files and settings"):
            sources.read_source(packed(x=more))
        with pytest.raises(CheckError, match="more than 100 members"):
            stored.source_of(stored_task(packed(x=more)))


def test_models_of_many_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MAX_MEMBERS", 100)
    with pytest.raises(InputFormatError, match="too large"):
        document.parse(json.dumps([[]] * 200).encode(), "m.jani")
    assert document.parse(json.dumps([0] * 50).encode(), "m.jani") == [0] * 50
    monkeypatch.setattr(document, "MAX_BYTES", 100)
    with pytest.raises(InputFormatError, match="too large"):
        document.Documents({"m.jani": b" " * 200}, stored=True).open(Path("m.jani"))


def test_a_file_that_is_included_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checker makes a copy of it each time."""
    monkeypatch.setattr(checker, "MAX_MEMBERS", 500)
    part, include = json.dumps([0] * 90).encode(), {"file": "part.json"}

    def read(times: int) -> Any:
        files = {"m.jani": json.dumps([include] * times).encode(), "part.json": part}
        return checker.Documents(files).read("m.jani")

    assert read(4) == [[0] * 90] * 4
    with pytest.raises(MisstepError, match="more than 500 values"):
        read(9)
