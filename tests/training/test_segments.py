"""The native operations of training against loops."""

from __future__ import annotations

import numpy as np
import pytest

from misstep import _core


@pytest.mark.parametrize("width", [1, 3, 16, 21])
def test_against_loops(width: int) -> None:
    random = np.random.default_rng(width)
    x = random.normal(size=(30, width)).astype(np.float32)
    x[7] = x[3]  # ties go to the first
    lengths = random.integers(0, 6, 40)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    members = random.integers(0, 30, offsets[-1]).astype(np.int32)
    out = np.empty((40, width), np.float32)
    winner = np.empty((40, width), np.int32)
    _core.segment_max(x, members, offsets, -1.0, out, winner)
    gradient = random.normal(size=out.shape).astype(np.float32)
    expected = np.zeros_like(x)
    for s in range(40):
        own = members[offsets[s] : offsets[s + 1]]
        for i in range(width):
            if len(own) == 0:
                assert (out[s, i], winner[s, i]) == (-1.0, -1)
                continue
            best = int(np.argmax(x[own, i]))  # the first of equals
            assert (out[s, i], winner[s, i]) == (x[own[best], i], own[best])
            expected[own[best], i] += gradient[s, i]
    scattered = np.zeros_like(x)
    _core.scatter_winners(gradient, winner, scattered)
    np.testing.assert_array_equal(scattered, expected)

    index = random.integers(0, 30, 50).astype(np.int32)
    rows = random.normal(size=(50, width)).astype(np.float32)
    added, naive = np.zeros_like(x), np.zeros_like(x)
    _core.scatter_rows(rows, index, added)
    np.add.at(naive, index, rows)
    np.testing.assert_array_equal(added, naive)


def test_wrong_arrays_are_refused() -> None:
    x = np.zeros((2, 4), np.float32)
    out, winner = np.zeros((1, 4), np.float32), np.zeros((1, 4), np.int32)
    for members, offsets in (([2], [0, 1]), ([-1], [0, 1]), ([0], [0, 2]), ([0], [0, 1, 1])):
        with pytest.raises(ValueError, match=r"row|sizes"):
            _core.segment_max(
                x, np.array(members, np.int32), np.array(offsets, np.int32), -1.0, out, winner
            )
    with pytest.raises(ValueError, match="decrease"):
        _core.segment_max(
            x,
            np.array([0], np.int32),
            np.array([0, 5, 1], np.int32),
            -1.0,
            np.zeros((2, 4), np.float32),
            np.zeros((2, 4), np.int32),
        )
    with pytest.raises(ValueError, match="row"):
        _core.scatter_rows(x, np.array([0, 2], np.int32), x.copy())
    with pytest.raises(ValueError, match="row"):
        _core.scatter_winners(x, np.full((2, 4), 2, np.int32), x.copy())
