"""State dicts without PyTorch: programs that are no state dicts, and the real thing where PyTorch is installed."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from misstep.errors import InputFormatError, MisstepError
from misstep.policies.torch_archive import read_state_dict, tensors_of

LIMIT = 2**20


def packed(program: bytes, numbers: bytes = b"\0" * 16) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a/data.pkl", program)
        archive.writestr("a/data/0", numbers)
    return buffer.getvalue()


def tensor(shape: bytes, strides: bytes, offset: bytes = b"K\x00", size: bytes = b"K\x04") -> bytes:
    """A dictionary with one tensor over the four numbers at hand."""
    storage = (
        b"((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x01\x00\x00\x00c"
    )
    start = b"\x80\x02}X\x01\x00\x00\x00tctorch._utils\n_rebuild_tensor_v2\n"
    return start + storage + size + b"tQ" + offset + shape + strides + b"\x89NtRs."


def test_a_tensor() -> None:
    numbers = np.arange(4, dtype="<f4").tobytes()
    found = read_state_dict(
        packed(tensor(b"K\x02K\x02\x86", b"K\x01K\x02\x86"), numbers), "here", "weights", LIMIT
    )
    assert found["t"].tolist() == [[0, 2], [1, 3]]


@pytest.mark.parametrize(
    "program",
    [
        b"",
        b".",
        b"\x80\x02}.",
        b"\x80\x02].",
        b"\x80\x02N.",
        b"\x80\x02h\x05.",
        b"\x80\x02u.",
        b"\x80\x02}(K\x01u.",
        b"\x80\x02})]s.",  # a key that cannot be hashed
        b"\x80\x02}" + b")" + b"\x85" * 300_000 + b"Ns.",  # and one that is nested too deep for it
        b"\x80\x02}X\x01\x00\x00\x00tcollections\nOrderedDict\nK\x01\x85Rs.",
        b"\x80\x02ccollections\nOrderedDict\n)R" + b"0" * 2_000_000,
        tensor(b"K\x09\x85", b"K\x01\x85"),
        tensor(b"K\x02\x85", b"K\x09\x85"),
        tensor(b"K\x02\x85", b"K\x01\x85", offset=b"K\x04"),
        tensor(b"K\x02\x85", b"K\x01\x85", offset=b"J\xff\xff\xff\xff"),
        tensor(b"J\xff\xff\xff\xff\x85", b"K\x01\x85"),
        tensor(b"K\x02K\x02\x86", b"K\x01\x85"),
        tensor(b"K\x02\x85", b"K\x01\x85", size=b"K\x05"),
        tensor(b"X\x01\x00\x00\x00x\x85", b"K\x01\x85"),
    ],
    ids=range(20),
)
def test_programs_that_are_no_state_dicts(program: bytes) -> None:
    with pytest.raises(MisstepError) as caught:
        read_state_dict(packed(program), "here", "weights", LIMIT)
    assert "\n" not in str(caught.value)


def test_tensors_may_not_show_the_same_numbers_until_memory_is_full() -> None:
    one = tensor(b"M\x10\x27\x85", b"K\x01\x85", size=b"M\x10\x27")[len(b"\x80\x02}") : -1]
    many = [one.replace(b"\x00t", b"\x00" + bytes([65 + i]), 1) for i in range(50)]
    few = packed(b"\x80\x02}" + b"".join(many[:25]) + b".", b"\0" * 40_000)
    content = packed(b"\x80\x02}" + b"".join(many) + b".", b"\0" * 40_000)
    assert len(read_state_dict(few, "here", "weights", 2**21)) == 25
    with pytest.raises(MisstepError, match="larger than the file"):
        read_state_dict(content, "here", "weights", 2**21)
    with pytest.raises(
        MisstepError, match="the state dict unpacks to 45,204 bytes, more than 30,000"
    ):
        read_state_dict(content, "here", "weights", 30_000)


def test_what_pytorch_writes() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    for state in (network.state_dict(), network.double().state_dict(), network.half().state_dict()):
        buffer = io.BytesIO()
        torch.save(state, buffer)
        found = read_state_dict(buffer.getvalue(), "here", "weights", LIMIT)
        assert list(found) == list(state)
        for name, values in state.items():
            assert found[name].tolist() == values.double().tolist()


@pytest.mark.parametrize("keys", [("a.weight", "a"), ("a", "a.weight")])
def test_two_tensors_of_one_name(keys: tuple[str, str]) -> None:
    """Only one of them would be evaluated."""
    matrix = np.ones((2, 2))
    stored = {key: {"weight": matrix} if key == "a" else 2 * matrix for key in keys}
    with pytest.raises(InputFormatError, match=r"two tensors are called 'a\.weight'"):
        tensors_of(stored, "f", "a network", 2**20)
