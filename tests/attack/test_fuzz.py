"""A fixed part of the fuzzing: the same cases each time. `make fuzz` goes on for as long as one likes.

If this fails, the message has the command that runs the case alone, and the files that led to it are in its folder.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from attack.fuzzing.drive import Driver, Share
from attack.fuzzing.mutators import damaged
from attack.fuzzing.reader import Reader
from attack.fuzzing.readers import READERS
from misstep.errors import InputFormatError, MisstepError, UsageError

SEED = 1


@pytest.mark.parametrize("name", READERS)
def test_damaged_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    reader = READERS[name]
    told = Driver(SEED, tmp_path, 1).run([Share(reader, 0, reader.cases, 1e9)])
    assert told.broken == []
    assert told.findings == [], f"see {tmp_path}"
    assert told.cases == {name: reader.cases}


# -- the fuzzer itself ----------------------------------------------------------------------------


def check(error: Exception, *, codes: frozenset[int] = frozenset({31})) -> str | None:
    reader = Reader("x", list, lambda *_: None, allowed=(KeyError,), codes=codes)
    return reader.problem(error)


def test_what_counts_as_a_finding() -> None:
    assert check(InputFormatError("a file is damaged")) is None
    assert check(KeyError("of a part inside")) is None
    assert check(ValueError("x")) == "ValueError: x"
    assert check(MisstepError("x")) == "exit code 39 of MisstepError: x"
    assert check(UsageError("x")) == "the user is blamed for a damaged file: x"
    assert check(UsageError("x"), codes=frozenset({2})) is None


@pytest.mark.parametrize(
    "content", [b"", b"x", b"{}", b'{"a": [1, 2]}', b"PK\3\4", b"(a (b 1))\n" * 9]
)
def test_damage_is_the_same_for_the_same_seed(content: bytes) -> None:
    for seed in range(200):
        once, again = (damaged(content, [content], Random(seed)) for _ in range(2))
        assert once == again
    assert len({damaged(content + b" 12 y", [content], Random(seed)) for seed in range(200)}) > 20


def test_a_process_that_dies_or_hangs_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker of these tests kills itself in its second case, and hangs in its fourth."""
    worker = """
import os, sys, time
from pathlib import Path
from attack.fuzzing.work import Progress
begin, end, progress = int(sys.argv[3]), int(sys.argv[4]), Progress(Path(sys.argv[6]))
for case in range(begin, end):
    progress.set(case, case - begin)
    if case == 1:
        os.kill(os.getpid(), 9)
    if case == 3:
        time.sleep(1000)
    progress.set(case + 1, case - begin + 1)
"""
    (tmp_path / "worker.py").write_text(worker)
    monkeypatch.setattr("attack.fuzzing.drive.WORKER", (str(tmp_path / "worker.py"),))
    monkeypatch.setattr("attack.fuzzing.drive.HANGS", 1.0)
    monkeypatch.setattr("attack.fuzzing.drive.BEGINNING", 20.0)
    reader = Reader("x", lambda: [{"a": b"content"}], lambda *_: None)
    told = Driver(SEED, tmp_path / "found", 1).run([Share(reader, 0, 6, 1e9)])
    assert [line.split(": ")[-1] for line in told.findings] == [
        "the process ended by signal 9",
        "no end within 1 s",
    ]
    assert told.cases == {"x": 4}  # all but those two
    assert {path.name for path in (tmp_path / "found").iterdir()} == {"x-1-1", "x-1-3"}


@pytest.mark.parametrize("name", READERS)
def test_what_is_not_damaged_is_read(name: str, tmp_path: Path) -> None:
    """A reader that refuses its own seeds would refuse every damaged one too, and find nothing."""
    reader, problems = READERS[name], []
    for number, seed in enumerate(reader.seeds()):
        place = tmp_path / str(number)
        place.mkdir()
        try:
            reader.read(dict(seed), place)
        except MisstepError as error:
            problems.append(str(error))
        else:
            return
    pytest.fail("; ".join(problems))
