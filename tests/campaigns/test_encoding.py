"""The core writes rows as Python does: the same values, and the same errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misstep.campaigns.encoding import PlainRow, encoded_rows
from misstep.campaigns.rows import (
    KINDS,
    LARGEST,
    MOST_LETTERS,
    OUTCOMES,
    VERDICTS,
    FaultRow,
    PermittedRow,
    RunRow,
    StateRow,
    VerdictRow,
)

counts = st.one_of(
    st.integers(0, 9), st.sampled_from([-2, -1, LARGEST, LARGEST + 1, True, 1.0, None])
)
seconds = st.sampled_from([0.0, 1.5, 1, -0.0, -1.0, float("inf"), float("nan"), None])
texts = st.one_of(st.none(), st.sampled_from(["", "é\x00'", "\ud800", "x" * (MOST_LETTERS + 1), 7]))
names = st.sampled_from(["astar", "", 3, None])
numbers = st.one_of(
    st.lists(st.integers(-3, 3), max_size=4).map(tuple),
    st.sampled_from([(LARGEST, -LARGEST - 1), (2**70,), (True, 1), (1.5,), [1, 2], ()]),
)
maybe = st.one_of(st.none(), numbers)
steps = st.sampled_from([None, (), ({"operator": 3},), ({"state": [1, 2], "value": 0},)])
permitted = st.sampled_from([None, PermittedRow(True, 1, 2), PermittedRow(False, -1, None)])
rows = st.one_of(
    st.builds(
        StateRow, counts, numbers, counts, numbers, *(st.integers(0, 3),) * 3, seconds=seconds
    ),
    st.builds(
        RunRow,
        st.integers(0, 3),
        st.sampled_from([*OUTCOMES, "nothing"]),
        counts,
        numbers,
        st.one_of(st.none(), st.lists(numbers, max_size=3).map(tuple)),
        counts,
        texts,
        seconds,
        permitted,
    ),
    st.builds(
        VerdictRow,
        st.integers(0, 3),
        names,
        st.integers(-2, 3),
        st.sampled_from([*VERDICTS, "MAYBE"]),
        st.sampled_from([None, *KINDS, "other"]),
        *(counts,) * 4,
        texts,
        maybe,
        steps,
        *(counts,) * 4,
        *(seconds,) * 2,
    ),
    st.builds(
        FaultRow,
        *(st.integers(0, 3),) * 2,
        numbers,
        *(counts,) * 4,
        seconds,
        st.booleans(),
        maybe,
    ),
)


def written(row: PlainRow, how: Any) -> object:
    try:
        return [(value, type(value), str(value)) for value in how(row)]  # a -0.0 is equal to 0.0
    except (ValueError, TypeError, OverflowError) as error:
        return type(error), str(error)


@given(rows)
def test_the_core_writes_what_python_writes(row: PlainRow) -> None:
    slow = written(row, lambda own: (7, *own.encoded()))
    assert written(row, lambda own: encoded_rows(7, [own])[0]) == slow


PLAIN: list[PlainRow] = [
    StateRow(3, (1, 0), 2, (4, 5), 1, 2, 3, 0.25),
    RunRow(3, "goal", 4, (1, 2), ((1, 0), (0, 0)), None, "said", 0.5, PermittedRow(True, 1, 2)),
    VerdictRow(3, "astar", 0, "BUG", "costly", 1, 2, 3, None, "x", (1,), ({"operator": 3},)),
    VerdictRow(3, "astar", -1, "UNKNOWN", lower=0),
    FaultRow(3, 1, (1, 0), None, 1, 1, None, 0.5, True, (0, 0)),
]


@pytest.mark.parametrize("row", PLAIN)
def test_plain_rows_are_written_by_the_core(row: PlainRow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the test above would compare Python with itself."""
    expected = (7, *row.encoded())
    monkeypatch.delattr(type(row), "encoded")
    assert encoded_rows(7, [row, row]) == [expected, expected]


def test_odd_rows_stand_among_plain_ones() -> None:
    odd = StateRow(4, (True, 2.5))
    assert encoded_rows(1, [PLAIN[0], odd, PLAIN[0]]) == [
        (1, *row.encoded()) for row in (PLAIN[0], odd, PLAIN[0])
    ]
    assert encoded_rows(1, []) == []
