"""Settings survive the way through TOML."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misstep.campaigns.settings import from_toml, to_toml, without_none
from misstep.errors import InputFormatError, UsageError

TEXT = st.text(st.characters(codec="utf-8"))
SCALAR = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), TEXT
)
VALUE = st.recursive(
    SCALAR, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=10
)


@given(st.dictionaries(TEXT, VALUE | st.none()))
def test_round_trip(settings: dict[str, Any]) -> None:
    assert from_toml(to_toml(settings)) == without_none(settings)


def test_readable() -> None:
    settings = {"seed": 1, "fuzz": {"bias": "loop", "limit": None}, "tasks": ["a", "b"]}
    assert to_toml(settings) == 'seed = 1\ntasks = ["a", "b"]\n\n[fuzz]\nbias = "loop"\n'


def test_refusals() -> None:
    with pytest.raises(UsageError, match="setting seed"):
        to_toml({"seed": object()})
    with pytest.raises(InputFormatError, match="not TOML"):
        from_toml("seed = ")
