"""Files: what is written is read again; two versions of keys; damaged, huge and foreign files in one line."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import InputFileError, InputFormatError, MisstepError, UnsupportedError
from misstep.policies.wl import model_file
from misstep.policies.wl.model_file import WlModel, decode, encode, read_model, write_model

Make = Callable[..., WlModel]


@pytest.fixture
def document(ranker: Make) -> dict[str, Any]:
    return encode(ranker(2))


def test_written_and_read_again(ranker: Make, saved: Path) -> None:
    model = ranker(2, multiset=True)
    write_model(model, saved, {"by": "a test"})
    content = saved.read_bytes()
    again = read_model(saved)
    assert (again.layers, again.initial, again.multiset) == (model.layers, model.initial, True)
    assert again.weights.tolist() == model.weights.tolist()
    assert again.predicates == model.predicates
    write_model(again, saved, {"by": "a test"})
    assert saved.read_bytes() == content


def test_parameters_alone(document: dict[str, Any], tmp_path: Path, ranker: Make) -> None:
    path = tmp_path / "rooms.params"
    path.write_text(json.dumps(document))
    assert read_model(path).layers == ranker(2).layers


def test_both_versions_of_keys(document: dict[str, Any]) -> None:
    """wlplan 2.0 has the own colour first, 2.1 last."""
    new = decode(document, "here")
    tables = document["colour_hash"]
    document["colour_hash"] = [
        tables[0],
        *(
            {".".join([*text.split(".")[-1:], *text.split(".")[:-1]]): c for text, c in t.items()}
            for t in tables[1:]
        ),
    ]
    document["package_version"] = "2.0.0"
    assert decode(document, "here").layers == new.layers
    document["package_version"] = "3.0.0"
    with pytest.raises(UnsupportedError, match=r"wlplan '3.0.0'"):
        decode(document, "here")


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("feature_name", "iwl", "feature_name is 'iwl'"),
        ("graph_representation", "ploig", "graph_representation is 'ploig'"),
        ("iterations", -1, "iterations is -1"),
        ("iterations", 10**9, "iterations is 1000000000"),
        ("iterations", True, "iterations is True"),
        ("iterations", 7, "not a list of 8 tables"),
        ("multiset_hash", 1, "multiset_hash is 1"),
        ("weights", [], "no weights"),
        ("weights", [1.0, "x"], "a weight is not a number"),
        ("weights", [float("nan")], "infinite or undefined"),
        ("weights", [10**400], "infinite or undefined"),
        ("weights", [1.0], "none of the 1 weights"),
        ("colour_hash", {}, "colour_hash is not a list"),
        ("colour_hash", [{}, [], {}], "not a table"),
        ("colour_hash", [{"x": 0}, {}, {}], "has a key 'x'"),
        ("colour_hash", [{"1.2.3.4": 0}, {}, {}], "has a key '1.2.3.4'"),
        ("colour_hash", [{}, {"1.2": 0}, {}], "has a key '1.2'"),
        ("colour_hash", [{"-1": 0}, {}, {}], "has a key '-1'"),
        ("colour_hash", [{"9" * 5000: 0}, {}, {}], "has a key '9999"),
        ("domain", None, "no domain"),
        ("domain", {"name": "d", "predicates": [["p"]]}, "is not a predicate"),
        ("domain", {"name": "d", "predicates": [["p", 1], ["P", 1]]}, "listed twice"),
    ],
)
def test_wrong_parts_are_named(
    document: dict[str, Any], key: str, value: object, told: str
) -> None:
    with pytest.raises(MisstepError, match=told) as caught:
        decode(document | {key: value}, "file.model")
    assert "\n" not in str(caught.value)
    assert "file.model" in str(caught.value)


def test_damaged_files(ranker: Make, saved: Path) -> None:
    write_model(ranker(2), saved, {})
    content = saved.read_bytes()
    for size in range(0, len(content), 97):
        saved.write_bytes(content[:size])
        with pytest.raises(InputFormatError) as caught:
            read_model(saved)
        assert "\n" not in str(caught.value)
    random = np.random.default_rng(0)
    for _ in range(100):
        broken = bytearray(content)
        broken[random.integers(len(content))] ^= 1 << random.integers(8)
        saved.write_bytes(broken)
        with suppress(MisstepError):
            read_model(saved)


def archive(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name.replace("_", "."), content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (archive(a_opts=b"{}"), "0 files that end in .params"),
        (archive(a_params=b"{}", b_params=b"{}"), "2 files that end in .params"),
        (archive(a_params=b"[]"), "not a JSON object"),
        (archive(a_params=b"[" * 200_000), "not JSON"),
        (b"{" + b'"a":{' * 100_000, "not JSON"),
        (b"\x80\x02cos\nsystem\n", "the file is not a ranker"),
        (b"PK\x03\x04 and no more", "cut short or damaged"),
    ],
)
def test_other_files(content: bytes, told: str, saved: Path) -> None:
    saved.write_bytes(content)
    with pytest.raises(InputFormatError, match=told):
        read_model(saved)


def test_a_bomb_is_not_unpacked(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_file, "MAX_BYTES", 10_000)
    saved.write_bytes(archive(a_params=b" " * 20_000))
    with pytest.raises(
        UnsupportedError, match="the ranker unpacks to 20,000 bytes, more than 10,000"
    ):
        read_model(saved)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="no such file"):
        read_model(tmp_path / "none.model")
