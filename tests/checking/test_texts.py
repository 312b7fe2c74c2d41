"""The JSON reader of the checker: what it reads, and what is too large for it."""

from __future__ import annotations

import json

import pytest

from misstep.checking.errors import CheckError
from misstep.checking.jani.documents import MAX_DEPTH as MAX_MODEL_DEPTH
from misstep.checking.jani.documents import Documents
from misstep.checking.jani.errors import ModelError, UnsupportedModelError
from misstep.checking.stored import integers, loaded
from misstep.checking.texts import MAX_DEPTH, MAX_DIGITS, TooDeepError, parse


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, -2.5, None, True, "[[[", '"{\\']},
        [10 ** (MAX_DIGITS - 1), -(10**20), 1e300, 1e-300],
        [[], [[]]] * MAX_DEPTH,
        ["[" * 2 * MAX_DEPTH],
    ],
)
def test_usual_texts_are_read(value: object) -> None:
    text = json.dumps(value)
    assert parse(text) == parse(text.encode()) == value


def test_a_string_without_an_end_is_looked_through_once() -> None:
    with pytest.raises(ValueError, match="Extra data"):
        parse("[]" * (MAX_DEPTH + 1) + '"' + '\\"' * 1_000_000)


def nest(depth: int) -> str:
    return "[" * depth + "]" * depth


def test_texts_that_are_nested_too_deeply_are_refused() -> None:
    parse(nest(MAX_DEPTH))
    for text in (nest(MAX_DEPTH + 1), "[" * 10**6, '{"a":' * 10**5, '["\\"",' + "[" * 1000):
        with pytest.raises(TooDeepError):
            parse(text)


@pytest.mark.parametrize(
    "text",
    ["9" * (MAX_DIGITS + 1), "-" + "9" * 10**6, "1e999", "NaN", "-Infinity", "1" * 400 + ".0"],
)
def test_numbers_that_are_too_large_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"digits|too large|not a number"):
        parse(f"[{text}]")


@pytest.mark.parametrize("text", ["[" * 10**5, "[" + "9" * 10**6 + "]", "[1e999]", b"\xff\xfe\x00"])
def test_columns_that_are_not_json_are_refused(text: str | bytes) -> None:
    with pytest.raises(CheckError, match="is not JSON") as caught:
        loaded(text, "the state")
    assert len(str(caught.value)) < 300


def test_long_values_are_not_quoted() -> None:
    with pytest.raises(CheckError) as caught:
        integers(json.dumps(["x" * 10_000]), "the state")
    assert len(str(caught.value)) < 300


def test_texts_of_models_are_limited() -> None:
    with pytest.raises(UnsupportedModelError, match="nested too deeply"):
        Documents({"m.jani": nest(MAX_MODEL_DEPTH + 1).encode()}).read("m.jani")
    with pytest.raises(ModelError, match="digits"):
        Documents({"m.jani": b"[" + b"9" * 10**6 + b"]"}).read("m.jani")
    Documents({"m.jani": nest(MAX_MODEL_DEPTH - 100).encode()}).read("m.jani")
    assert Documents({"m.jani": b"\xef\xbb\xbf[1]"}).read("m.jani") == [1]
