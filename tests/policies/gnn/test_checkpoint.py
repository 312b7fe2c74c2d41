"""Files that are not checkpoints, or wrong ones, are refused in one line, and their code is never executed."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from misstep.errors import InputFileError, InputFormatError, MisstepError, UnsupportedError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from misstep.policies.gnn.checkpoint import read_checkpoint  # noqa: E402

Build = Callable[..., dict[str, Any]]
PREDICATES = [("on", 2), ("clear", 1), ("handempty", 0)]


def saved(stored: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(stored, buffer)
    return buffer.getvalue()


def refused(tmp_path: Path, content: bytes, kind: type[MisstepError] = InputFormatError) -> str:
    path = tmp_path / "model.ckpt"
    path.write_bytes(content)
    with pytest.raises(kind) as caught:
        read_checkpoint(path)
    message = str(caught.value)
    assert "model.ckpt" in message
    assert "\n" not in message
    assert len(message) < 400
    assert caught.value.expected or caught.value.hint
    return message


def test_reads_what_was_saved(tmp_path: Path, random_network: Build) -> None:
    path = tmp_path / "model.ckpt"
    path.write_bytes(saved(random_network(PREDICATES, solvable=True)))
    checkpoint = read_checkpoint(path)
    assert [(r.name, r.arity) for r in checkpoint.relations[:3]] == PREDICATES
    assert (checkpoint.width, checkpoint.rounds, checkpoint.has_solvable) == (8, 3, True)


class Payload:
    """Touches a file when it is unpickled by a careless reader."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("place", ["whole", "state_dict", "hyper_parameters", "extra"])
def test_code_is_not_executed(tmp_path: Path, random_network: Build, place: str) -> None:
    mark = tmp_path / "executed"
    payload: Any = Payload(mark)
    if place != "whole":
        payload = random_network(PREDICATES) | {place: payload}
    content = saved(payload)
    assert "other programs" in refused(tmp_path, content, UnsupportedError)
    assert not mark.exists()
    torch.load(io.BytesIO(content), weights_only=False)
    assert mark.exists()  # The payload works; it was not run before.


def test_plain_pickle_is_not_executed(tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    refused(tmp_path, pickle.dumps(Payload(mark)), UnsupportedError)
    assert not mark.exists()


@pytest.mark.parametrize("content", [b"", b"PK", b"(define (domain d))\n", bytes(range(256)) * 40])
def test_other_files(tmp_path: Path, content: bytes) -> None:
    refused(tmp_path, content)


def test_truncated_and_damaged(tmp_path: Path, random_network: Build) -> None:
    content = saved(random_network(PREDICATES))
    for length in range(1, len(content), len(content) // 12):
        refused(tmp_path, content[:length])
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("readme.txt", "no network")
    refused(tmp_path, empty.getvalue())


def test_archive_that_unpacks_to_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("misstep.policies.gnn.checkpoint.MAX_BYTES", 2**20)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in range(9):
            archive.writestr(f"archive/data/{part}", bytes(2**18))
    assert "unpacks to" in refused(tmp_path, bomb.getvalue(), UnsupportedError)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.ckpt", tmp_path):
        with pytest.raises(InputFileError):
            read_checkpoint(path)


def change(stored: dict[str, Any], part: str, key: str, value: Any) -> bytes:
    stored[part][key] = value
    return saved(stored)


UPDATE = "model.relation_network.update.0.weight"


def test_weights_that_do_not_fit(tmp_path: Path, random_network: Build) -> None:
    def weight(value: Any) -> str:
        content = change(random_network(PREDICATES), "state_dict", UPDATE, value)
        return refused(tmp_path, content)

    assert f"{UPDATE} has the shape (3, 4)" in weight(torch.zeros(3, 4))
    assert f"{UPDATE} is missing" in weight("text")
    assert "not finite" in weight(torch.full((16, 16), torch.nan))
    assert "not finite" in weight(torch.full((16, 16), torch.inf))
    assert "floating-point" in weight(torch.zeros(16, 16, dtype=torch.int64))
    assert "not finite" in weight(torch.full((16, 16), 1e300, dtype=torch.float64))
    half = random_network(PREDICATES, solvable=True)
    del half["state_dict"]["solvable_readout.post.2.bias"]
    assert "solvable_readout.post.2.bias is missing" in refused(tmp_path, saved(half))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("predicates", None),
        ("predicates", []),
        ("predicates", [("on", 2)]),
        ("predicates", [("on", 2), ("under", 2)]),
        ("predicates", [("on", "2"), ("on_goal", 2)]),
        ("predicates", [("on", 10**9), ("on_goal", 10**9)]),
        ("predicates", [("on", 2), ("on", 2), ("on_goal", 2), ("on_goal", 2)]),
        ("hidden_size", 7),
        ("hidden_size", 10**12),
        ("hidden_size", "64"),
        ("iterations", -1),
        ("iterations", True),
    ],
)
def test_hyper_parameters(tmp_path: Path, random_network: Build, key: str, value: Any) -> None:
    content = change(random_network(PREDICATES), "hyper_parameters", key, value)
    refused(tmp_path, content)


@pytest.mark.parametrize(
    "made",
    [
        lambda: torch.zeros(16, 16, device="meta"),
        lambda: torch.zeros(16, 16, dtype=torch.float8_e4m3fn),
        lambda: torch.nested.nested_tensor([torch.zeros(16, 16)]),
        lambda: torch.zeros(16, 16).to_sparse(),
        lambda: torch.zeros(16, 16, dtype=torch.complex64),
    ],
    ids=["meta", "eight bits", "nested", "sparse", "complex"],
)
@pytest.mark.filterwarnings("ignore")
def test_tensors_of_other_kinds(
    tmp_path: Path, random_network: Build, made: Callable[[], Any]
) -> None:
    content = change(random_network(PREDICATES), "state_dict", UPDATE, made())
    refused(tmp_path, content, MisstepError)


def test_other_keys_and_kinds(tmp_path: Path, random_network: Build) -> None:
    for stored in ([1, 2], {}, {"state_dict": 3, "hyper_parameters": {}}, torch.zeros(3)):
        refused(tmp_path, saved(stored))
    other = change(random_network(PREDICATES), "hyper_parameters", "aggregation", "sum")
    assert "'sum'" in refused(tmp_path, other, UnsupportedError)
