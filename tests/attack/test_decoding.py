"""Small files that expand to huge contents are refused before memory is allocated for them."""

from __future__ import annotations

import base64
import copy
import io
import json
import resource
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from misstep.campaigns.testing import test as run_campaign
from misstep.campaigns.toml import from_toml
from misstep.checking.errors import CheckError
from misstep.checking.sas import parse_sas
from misstep.checking.stored import StoredTask, source_of
from misstep.decoding import MAX_DEPTH, parse_json, read_npz, unpack
from misstep.errors import InputFormatError, MisstepError, UnsupportedError
from misstep.policies.networks.activation import Activation
from misstep.policies.networks.declaration import Declaration
from misstep.policies.networks.load import load_network
from misstep.policies.process.protocol import MalformedError, object_of
from misstep.policies.sb3.agent import read_agent
from misstep.policies.wl.model_file import read_model
from misstep.tasks.jani.load import load_jani
from misstep.training.resumable import ResumableFolder
from support import agents
from support.attacks import change
from support.commands import misstep
from support.jani import TINY_LINE, write
from support.tasks import generated_task

BOMB = zlib.compress(
    bytes(3 * 2**30 // 2), 9
)  # one and a half gigabytes in one and a half megabytes


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """What would fill the memory fails here instead."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + 2**29, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


@pytest.mark.parametrize("column", ["tasks SET source", "dominance SET tables"])
def test_compressed_data_in_a_campaign(
    folder: Path, column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits are up to a gigabyte, which would take the tests long."""
    monkeypatch.setattr("misstep.campaigns.sources.MAX_BYTES", 2**24)
    monkeypatch.setattr("misstep.checking.stored.MAX_SOURCE", 2**24)
    monkeypatch.setattr("misstep.campaigns.tables.MAX_UNPACKED", 2**24)
    monkeypatch.setattr("misstep.checking.stored.MAX_BYTES", 2**24)
    change(folder, "INSERT OR IGNORE INTO dominance VALUES (1, NULL, 'x')")
    change(folder, f"UPDATE {column} = ?", parameters=(BOMB,))
    for command in (
        ("records", folder, "--json"),
        ("replay", folder),
        ("test", "--resume", "--pool", "20", "--out", folder),
    ):
        done = misstep(*command)
        assert done.returncode in (0, 1, 31, 35), done.stderr
        if column.startswith("tasks"):
            assert done.returncode in (31, 35)


def test_a_task_of_more_lines_than_any_that_is_known(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kilobytes stood for half a billion lines, which took minutes and gigabytes of memory to read."""
    monkeypatch.setattr("misstep.campaigns.sources.MAX_LINES", 10_000)
    monkeypatch.setattr("misstep.checking.stored.MAX_LINES", 10_000)
    text = base64.b64encode(b"\n" * 10_001).decode()
    source = {"world": "planning", "name": "x", "files": {"task.sas": text}}
    packed = zlib.compress(json.dumps(source).encode())
    change(folder, "UPDATE tasks SET source = ?", parameters=(packed,))
    done = misstep("records", folder, "--json")
    assert done.returncode == 31
    assert "more than 10,000 lines" in done.stderr
    done = misstep("replay", folder)
    assert done.returncode == 35
    assert "more than 10000 lines" in done.stdout
    with pytest.raises(CheckError, match="more than 10000 lines"):
        source_of(StoredTask(1, "x", "planning", "", packed))


def test_a_task_that_nobody_would_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = generated_task("gripper", balls=2)
    for limit in ("MAX_BYTES", "MAX_LINES"):
        with monkeypatch.context() as patch:
            patch.setattr(f"misstep.campaigns.sources.{limit}", 200)
            with pytest.raises(UnsupportedError, match="too large to be kept in a campaign"):
                run_campaign(task, "first", out=tmp_path / "found", pool=3)
        assert not (tmp_path / "found").exists()
    run_campaign(task, "first", out=tmp_path / "found", pool=3).close()


def test_a_line_of_many_numbers() -> None:
    text = generated_task("gripper", balls=2).sas.decode()
    lines = text.split("\n")
    at = lines.index("begin_operator") + 2
    lines[at] = "0 " * 2**24 + "0"
    with pytest.raises(InputFormatError, match="a line of 33554433 characters"):
        parse_sas("\n".join(lines), "task.sas")


def test_unpack() -> None:
    assert unpack(zlib.compress(b"abc"), 3) == b"abc"
    for data, limit in ((zlib.compress(b"abc"), 2), (BOMB, 2**20), (b"x", 9), (None, 9), ("x", 9)):
        with pytest.raises(ValueError, match="compressed data"):
            unpack(data, limit)
    for cut in (zlib.compress(b"abc")[:-1], zlib.compress(b"abc") + b"x"):
        with pytest.raises(ValueError, match="cut off"):
            unpack(cut, 9)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[" * 100_000, "nested too deeply"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "nested too deeply"),
        ('["]",' * (MAX_DEPTH + 1) + "1" + "]" * (MAX_DEPTH + 1), "nested too deeply"),
        ('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), "nested too deeply"),
        ("9" * 1_000_000, "a number of 1,000,000 digits"),
        ("-" + "9" * 100, "a number of 101 digits"),
        ("1e999", "too large"),
        # A search for the end of this string must not begin again at each of its marks.
        ("[" * (MAX_DEPTH + 1) + '"' + '\\"' * 1_000_000, "nested too deeply"),
        ("[]" * (MAX_DEPTH + 1) + '"' + '\\"' * 1_000_000, "Extra data"),
        ("NaN", "not a number in JSON"),
        ("[1, Infinity]", "not a number in JSON"),
    ],
)
def test_json(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        parse_json(text)


def test_json_that_is_meant() -> None:
    deep = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    many = "[" + ",".join(["[]"] * 5000) + "]"
    texts = (deep, many, '{"a": "[[[["}', "1e300", "12345678901234567890", '"\\"[" ', "[1.5e-400]")
    for text in texts:
        assert parse_json(text) == json.loads(text)
    assert parse_json(b"\xef\xbb\xbf[1]") == [1]


BAD_JSON = ["[" * 100_000, "9" * 1_000_000, '{"a":' * 3000]


@pytest.mark.parametrize("text", BAD_JSON)
def test_everybody_who_reads_json(tmp_path: Path, text: str) -> None:
    for name in ("x.jani", "x.json", "x.jani2nnet"):
        (tmp_path / name).write_text(text)
    with pytest.raises(InputFormatError):
        load_jani(tmp_path / "x.jani")
    with pytest.raises(InputFormatError):
        load_network(tmp_path / "x.json")
    header = struct.pack("<Q", len(text)) + text.encode()
    (tmp_path / "x.safetensors").write_bytes(header)
    with pytest.raises(InputFormatError):
        load_network(tmp_path / "x.safetensors")
    with pytest.raises(MalformedError):
        object_of(text.encode(), "an answer")


# -- TOML -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        "a." * 200_000 + "a = 1",
        "[" + "a ." * 200_000 + "a]",
        "x = {" + "'a'. " * 200_000 + "a = 1}",
        'x = ["""x"""", """ """]\n' + '"\\"".' * 200_000 + "a = 1",
        "x = ['''x'''', ''' ''']\n" + "a." * 200_000 + "a = 1",
    ],
)
def test_a_dotted_key_of_many_parts(key: str) -> None:
    """The standard reader takes half a minute for 40,000 of them, and four times as long for twice as many."""
    with pytest.raises(InputFormatError, match="a key of more than 100 parts"):
        from_toml(key)


def test_dots_that_are_no_keys() -> None:
    dots = "a." * 1000 + "a"
    parts = ".".join("k" * 100)
    text = f'a = "{dots}"\nb = """\n\\"""{dots}"""""\n# {dots}\nc = [{"1.5, " * 1000}]\n[{parts}]\nx = \'{dots}\'\n'
    assert from_toml(text)["a"] == dots
    assert from_toml(text)["b"] == f'"""{dots}""'


# -- arrays ---------------------------------------------------------------------------------------


class Training(ResumableFolder):
    FORMAT = "test"
    PARTS = ("parts",)


def npz(**arrays: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in arrays.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def npy(shape: tuple[int, ...], data: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    about = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, about)
    return buffer.getvalue() + data


@pytest.mark.parametrize(
    "content",
    [
        npz(a=npy((2**33,))),
        npz(a=npy((2**20, 2**20, 2**20))),
        npz(a=npy((0, 2**63, 2**63))),
        npz(a=npy((0, 2**70))),
        npz(a=npy((2,), bytes(8))),
        npz(a=npy((2**22,), bytes(2**25))),
        npz(a=npy((2,), bytes(16)).replace(b"(2,), }", b"(2,),  ")),
        npz(a=npy((2,), bytes(16)).replace(b"(2,), ", b"(2L,),")),
        b"PK\3\4 no archive",
        b"",
    ],
    ids=[
        "more than is there",
        "more than any machine",
        "nothing, beyond counting",
        "nothing, beyond numbers",
        "cut",
        "a bomb",
        "header",
        "old header",
        "damaged",
        "empty",
    ],
)
def test_archives_of_arrays(tmp_path: Path, content: bytes) -> None:
    with Training.create(tmp_path / "training", {}) as folder:
        (folder.path / "state.npz").write_bytes(content)
        with pytest.raises(ValueError, match=r"arr|archive|bytes|cut|magic|EOF|data"):
            read_npz(content, 2**24)
        if len(content) < 2**12:
            with pytest.raises(InputFormatError):
                folder.read_arrays("state.npz", ["a"])


def safetensors(tensors: Mapping[str, object], data: bytes) -> bytes:
    header = json.dumps(tensors).encode()
    return struct.pack("<Q", len(header)) + header + data


def test_tensors_that_share_their_bytes(tmp_path: Path) -> None:
    """Each of them fits into the file, and all of them together into no memory."""
    size = 2**20
    entry = {"dtype": "F32", "shape": [512, 512], "data_offsets": [0, size]}
    shared = {f"{i}.weight": entry for i in range(200)}
    (tmp_path / "x.safetensors").write_bytes(safetensors(shared, bytes(size)))
    with pytest.raises(InputFormatError, match="overlap"):
        load_network(tmp_path / "x.safetensors")


@pytest.mark.parametrize(
    "places", [((0, 16), (8, 24)), ((8, 24),), ((0, 16),), ((0, 16), (20, 24))]
)
def test_tensors_that_do_not_fill_their_file(
    places: tuple[tuple[int, int], ...], tmp_path: Path
) -> None:
    """The library of the format refuses these files, so nobody knows what they decide."""
    tensors = {
        f"{i}.weight": {"dtype": "F32", "shape": [2, (e - b) // 8], "data_offsets": [b, e]}
        for i, (b, e) in enumerate(places)
        if e - b > 4
    } | {
        f"{i}.bias": {"dtype": "F32", "shape": [1], "data_offsets": [b, e]}
        for i, (b, e) in enumerate(places)
        if e - b == 4
    }
    (tmp_path / "x.safetensors").write_bytes(safetensors(tensors, bytes(24)))
    declared = Declaration(activation=Activation("relu"))
    with pytest.raises(InputFormatError, match=r"overlap each other|before its end"):
        load_network(tmp_path / "x.safetensors", declared)


def test_tensors_beyond_counting(tmp_path: Path) -> None:
    entry = {"dtype": "F32", "shape": [0, 0], "data_offsets": [0, 0]}
    many = {f"{i}.weight": entry for i in range(50_000)}
    deep = {"a.weight": {**entry, "shape": [10**17] * 100_000}}
    digits = {"9" * 200 + ".weight": {**entry, "shape": [1, 1], "data_offsets": [0, 4]}}
    for tensors, what in ((many, "50,000 tensors"), (deep, "the shape"), (digits, None)):
        data = b"" if what == "the shape" else bytes(4)
        (tmp_path / "x.safetensors").write_bytes(safetensors(tensors, data))
        if what is None:
            load_network(tmp_path / "x.safetensors")
            continue
        with pytest.raises(InputFormatError, match=what):
            load_network(tmp_path / "x.safetensors")


def test_long_names_of_tensors(tmp_path: Path) -> None:
    """Layers are put in order by the numbers in their names, which took minutes for a megabyte."""
    entries = {
        f"{'1a' * 500}.{i}.weight": {"dtype": "F32", "shape": [1, 1], "data_offsets": [i, i + 4]}
        for i in range(0, 16, 4)
    }
    (tmp_path / "x.safetensors").write_bytes(safetensors(entries, bytes(16)))
    with pytest.raises(InputFormatError, match="a name of 1,009 letters"):
        load_network(tmp_path / "x.safetensors")


def test_json_in_an_agent(tmp_path: Path) -> None:
    """Megabytes of it take gigabytes of memory, and kilobytes in the archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("data", b"[" + b"{}," * (2**24 // 3) + b"{}]")
        archive.writestr("policy.pth", agents.state_dict(agents.actor([3, 2])))
    (tmp_path / "x.zip").write_bytes(buffer.getvalue())
    with pytest.raises(InputFormatError, match="more than 16,777,216 bytes"):
        read_agent(tmp_path / "x.zip")


def test_a_torch_file_of_repeated_numbers(tmp_path: Path) -> None:
    """Strides of 0: kilobytes that stand for gigabytes."""
    torch = pytest.importorskip("torch")
    huge = torch.zeros(1).expand(2**16, 2**14)
    torch.save({"0.weight": huge, "0.bias": torch.zeros(2**16)}, tmp_path / "x.pt")
    assert (tmp_path / "x.pt").stat().st_size < 2**20
    with pytest.raises(MisstepError, match="a tensor beyond its numbers"):
        load_network(tmp_path / "x.pt")


def text(letters: bytes) -> bytes:
    """An instruction of a pickle."""
    return b"X" + struct.pack("<I", len(letters)) + letters


def long_number(value: int) -> bytes:
    return b"\x8a\x08" + value.to_bytes(8, "little")


def stored(kind: bytes, size: int) -> bytes:
    return b"(" + text(b"storage") + b"ctorch\n" + kind + b"\n" + text(b"0") + text(b"cpu") + (
        b"J" + struct.pack("<i", size) + b"t"
    )  # fmt: skip


MEGABYTE, TIMES = text(b"a" * 2**20) + b"q\x00", 2_000
TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n("


def tensor(*shape: int) -> bytes:
    sizes = b"(" + b"".join(map(long_number, shape)) + b"t"
    return TENSOR + stored(b"HalfStorage", 4) + b"QK\0" + sizes + sizes + b"\x89NtR"


SHARED = 64  # tensors of a megabyte that are one
PICKLES = {
    # Each makes something large of what exists once, many times.
    "numbers": stored(b"BFloat16Storage", 2**19) + b"q\x00(" + b"h\x00Q" * TIMES + b"l",
    "names": MEGABYTE + b"(" + b"h\x00h\x00\x93" * TIMES + b"l",
    "bytes": MEGABYTE
    + text(b"latin1")
    + b"\x86q\x01c_codecs\nencode\nq\x02("
    + b"h\x02h\x01R" * TIMES
    + b"l",
    "lists": b"]q\x00" + b"(h\x00h\x00lq\x00" * 60 + b"h\x00)}\x92",
    "keys": b"}q\x00("
    + b"".join(text(bytes([97 + i]) * 2**20) + b"h\x00" for i in range(4))
    + text(b"0.weight")
    + b"ctorch._utils\n_rebuild_parameter\n"
    + tensor(1, 1)
    + b"\x85R"
    + b"u",
    "long names": b"}q\x00("
    + b"".join(text(bytes([97 + i]) + b"1a" * 450 + b".weight") + tensor(1, 1) for i in range(4))
    + b"u"
    + b"".join(
        b"h%c0}q%c(" % (level, level + 1)
        + b"".join(text(bytes([97 + i]) + b"1a" * 450) + b"h%c" % level for i in range(4))
        + b"u"
        for level in range(7)
    ),
    "shared": b"}("
    + text(b"0.weight")
    + TENSOR
    + stored(b"HalfStorage", 2**19)
    + b"QK\0"
    + b"("
    + long_number(1024)
    + long_number(512)
    + b"t"
    + b"("
    + long_number(512)
    + long_number(1)
    + b"t"
    + b"\x89NtRq\x00"
    + b"".join(text(b"%d.weight" % i) + b"h\x00" for i in range(1, SHARED))
    + b"u",
    "itself": b"}q\x00" + text(b"model") + b"h\x00s",
    "digits": b"}\x8b" + struct.pack("<i", 8192) + b"\x01" * 8192 + b"Ns",
    "nothing": b"}" + text(b"0.weight") + tensor(2**40, 0) + b"s",
    "nowhere": b"}" + text(b"0.weight") + tensor(2**39, 2**21, 0) + b"s",
}


@pytest.mark.parametrize("name", PICKLES)
def test_small_pickles_of_large_things(name: str, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", b"\x80\x04" + PICKLES[name] + b".")
        archive.writestr("a/data/0", bytes(2**20))
    assert len(buffer.getvalue()) < 2**14
    (tmp_path / "x.pt").write_bytes(buffer.getvalue())
    with pytest.raises(MisstepError):
        load_network(tmp_path / "x.pt")


def test_tensors_that_are_larger_than_their_file(tmp_path: Path) -> None:
    """Kilobytes in an archive, or one tensor with many names, took gigabytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", b"\x80\x04" + PICKLES["shared"] + b".")
        archive.writestr("a/data/0", bytes(2**20))
    (tmp_path / "x.pt").write_bytes(buffer.getvalue())
    with pytest.raises(MisstepError, match="larger than the file that holds them"):
        load_network(tmp_path / "x.pt")


@pytest.mark.parametrize("shape", [[2**40, 0], [2**40, 2**40, 0], [2**40] * 7 + [0]])
def test_tensors_of_no_elements_and_large_dimensions(shape: list[int], tmp_path: Path) -> None:
    entry = {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}
    (tmp_path / "x.safetensors").write_bytes(safetensors({"0.weight": entry}, b""))
    with pytest.raises(InputFormatError):
        load_network(tmp_path / "x.safetensors")


# -- archives -------------------------------------------------------------------------------------


def encrypted(content: bytes) -> bytes:
    """The archive with the mark of encryption on every member."""
    changed = bytearray(content)
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        found = content.find(signature)
        while found >= 0:
            changed[found + place] |= 1
            found = content.find(signature, found + 1)
    return bytes(changed)


def test_archives_that_cannot_be_read_are_told_alike(tmp_path: Path) -> None:
    ranker = tmp_path / "ranker.model"
    with zipfile.ZipFile(ranker, "w") as archive:
        archive.writestr("x.params", "{}")
    agent = agents.archive(agents.state_dict(agents.actor([3, 2])))
    weights = agents.archive(encrypted(agents.state_dict(agents.actor([3, 2]))))
    for name, content, read in (
        ("a.zip", encrypted(agent), read_agent),
        ("b.zip", weights, read_agent),
        ("c.model", encrypted(ranker.read_bytes()), read_model),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputFormatError, match=r"cut short or damaged.*fetch the file again"):
            read(tmp_path / name)
    arrays = io.BytesIO()
    np.savez(arrays, a=np.zeros(3))
    with pytest.raises(ValueError, match="a damaged archive"):
        read_npz(encrypted(arrays.getvalue()), 10**6)


def members_at(content: bytes, changed: bytes, place: int) -> bytes:
    """The archive with other bytes at a place of the first entry of its directory."""
    at = content.index(b"PK\x01\x02") + place
    return content[:at] + changed + content[at + len(changed) :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[10:],  # members before the beginning
        lambda content: members_at(content, b"\x0e\x00", 10),  # LZMA
        lambda content: members_at(content, b"\x63\x00", 10),  # no method
        lambda content: content.replace(b"a.params", b"\xff.params").replace(
            b"PK\x03\x04\x14\x00\x00\x00", b"PK\x03\x04\x14\x00\x00\x08"
        ),
    ],
    ids=["moved", "lzma", "unknown", "name"],
)
def test_members_that_cannot_be_opened(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """Findings of the fuzzer: `zipfile` answers some of them with a ValueError."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        # With a fixed date: its bytes come first where the beginning is cut off.
        archive.writestr(zipfile.ZipInfo("a.params"), "{}")
    content = damage(buffer.getvalue())
    assert content != buffer.getvalue()
    (tmp_path / "x.model").write_bytes(content)
    with pytest.raises(InputFormatError, match=r"cut short or damaged|is not a ranker"):
        read_model(tmp_path / "x.model")


# -- what longer fuzzing found --------------------------------------------------------------------


def test_half_of_a_surrogate_pair_in_a_model(tmp_path: Path) -> None:
    document = copy.deepcopy(TINY_LINE)
    document["automata"][0]["edges"][0]["guard"]["exp"] = {"op": "\ud800", "left": 1, "right": 2}
    with pytest.raises(InputFormatError, match="half of a surrogate pair"):
        load_jani(write(document, folder=tmp_path))


def test_what_has_no_type_is_no_constant_that_the_user_must_give(tmp_path: Path) -> None:
    document = copy.deepcopy(TINY_LINE)
    document["constants"] = document["properties"]
    with pytest.raises(InputFormatError, match="'type' is missing"):
        load_jani(write(document, folder=tmp_path))
