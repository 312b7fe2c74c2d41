"""Errors and the documented table of exit codes stay in step."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

from misstep import errors

TABLE = Path(__file__).resolve().parents[1] / "docs" / "exit-codes.md"


def test_the_table_lists_every_error_with_its_code() -> None:
    documented = {
        name: int(code)
        for code, name in re.findall(r"^\| (\d+) \|.*\| `(\w+)` \|$", TABLE.read_text(), re.M)
    }
    defined = {
        name: kind.exit_code
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.MisstepError)
    }
    assert documented == defined
    assert len(set(defined.values())) == len(defined)


def test_one_line_and_picklable() -> None:
    error = errors.InputFormatError("bad\nthing", where="f:3", expected="good", hint="mend it")
    assert str(error) == "f:3: bad thing; expected good; mend it"
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), type(copy)) == (str(error), type(error))
    assert copy.as_dict()["exit_code"] == 31
