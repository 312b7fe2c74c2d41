"""A worker of a cluster gives an answer that is none. The campaign ends with one line, and not with a traceback."""

from __future__ import annotations

import errno
import pickle
from pathlib import Path
from typing import cast

import pytest

from misstep.campaigns.cluster.jobs import PROTOCOL, Done, Late, unpacked
from misstep.campaigns.cluster.link import Link
from misstep.campaigns.cluster.parcels import Job, Parcel
from misstep.campaigns.workers import Lost, sendable
from misstep.errors import InputFileError, ToolError
from misstep.experiments.kinds.repeats import kept


@pytest.mark.parametrize(
    "content",
    [b"", b"x", b"\x80\x05.", pickle.dumps([1], PROTOCOL), pickle.dumps(Late(), PROTOCOL), None],
)
def test_results_of_jobs(content: object) -> None:
    with pytest.raises(ToolError, match="cannot be read"):
        unpacked(content, Lost)
    assert unpacked(pickle.dumps(Lost("time"), PROTOCOL), Lost) == Lost("time")


@pytest.mark.parametrize(
    "found",
    [None, [], [Late()], [(Late(),)], [(Late(), "x")], [("x", 0.5)], [(Late(), 0.5)] * 2, {}],
)
def test_answers_of_parcels(found: object) -> None:
    link = Link.__new__(Link)
    link.where = "tcp://x:1"
    parcel = Parcel([cast(Job, None)])
    with pytest.raises(ToolError, match="not one of ours"):
        link._checked(found, parcel)
    good = [(Done(b"x"), 0.5)]
    assert link._checked(good, parcel) == good


def test_a_training_with_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    result = {"files": {"x" * 300 + "/y": ""}, "place": "", "summary": {}}
    with pytest.raises(InputFileError, match="cannot write a file of a training"):
        kept(tmp_path, result)


def test_errors_of_the_system() -> None:
    """As in the process of the command: such an error is not internal."""
    told = sendable(OSError(errno.EMFILE, "Too many open files", "x.py"))
    assert isinstance(told, InputFileError)
    assert str(told) == "x.py: this process has too many open files (ulimit -n)"
