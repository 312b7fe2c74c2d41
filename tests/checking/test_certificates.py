"""Certificates that were damaged are refused, each with the reason."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from misstep.checking.__main__ import main
from misstep.checking.certificates import (
    CertificateReport,
    check_model,
    container,
    read_certificate,
)
from misstep.checking.certificates.container import MAGIC
from misstep.checking.errors import CheckError
from misstep.checking.jani.documents import digest_of
from misstep.faults.prove import prove
from misstep.safety.prove import ProveSettings
from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask
from support import jani
from support.prove import (
    Change,
    Columns,
    Header,
    changed_header,
    model_of,
    put_together,
    table_policy,
    taken_apart,
    with_row,
    without_row,
)
from support.safety import GOAL, UNSAFE, Explicit


# A car on a road of four cells, with brakes that may fail: s is the place, v the speed, w a real number.
@cache
def road() -> JaniTask:
    step = jani.op("+", "s", "v")
    prop = jani.pa(
        jani.op("=", "s", 4),
        jani.op("∧", jani.op("=", "s", 3), jani.op("=", "v", 0)),
        {
            "op": "state-condition",
            "exp": jani.op(
                "∧",
                jani.op("≤", "s", 1),
                jani.op("=", "v", 0),
                jani.op("=", "w", 0.5),
                jani.op("≤", jani.op("+", "s", "v"), 1),
            ),
        },
    )
    return jani.task(
        jani.model(
            [
                jani.variable("s", jani.bounded(0, 4)),
                jani.variable("v", jani.bounded(0, 1)),
                jani.variable("w", jani.bounded(0.0, 1.0, "real")),
            ],
            [
                jani.edge("go", jani.op("<", "s", 4), jani.destination({"s": step, "v": 1})),
                jani.edge(
                    "slow",
                    jani.op("<", "s", 3),
                    jani.destination({"v": 0}, 0.5),
                    jani.destination({"s": jani.op("+", "s", 1), "v": 0}, 0.5),
                ),
            ],
            actions="go slow",
            prop=prop,
        )
    )


def drive(state: Any) -> str:
    return "go" if state["s"] == 0 and state["v"] == 0 else "slow"


@cache
def safe_road() -> bytes:
    proof = prove(road(), drive, ProveSettings(ask="all"))
    assert proof.verdict == "PROVEN", proof
    assert proof.certificate is not None
    return proof.certificate


def check(content: bytes, task: JaniTask | None = None) -> CertificateReport:
    task = task or road()
    return check_model(
        read_certificate(content), list(task.source["files"].values()), digest=task.digest
    )


def row_of(columns: Columns, *values: int) -> int:
    rows = list(zip(*columns[: len(values)], strict=True))
    return rows.index(values)


def test_the_certificate_is_valid() -> None:
    report = check(safe_road())
    assert report.valid, report
    assert (report.starts, report.states) == (2, len(taken_apart(safe_road())[1][0]))


def changed_label(row: int, code: int) -> Change:
    def change(header: Header, columns: Columns) -> tuple[Header, Columns]:
        columns[-1][row] = code
        return header, columns

    return change


HALF = 4602678819172646912  # the bits of 0.5
DAMAGE: dict[str, tuple[Change, str]] = {
    "a start is missing": (
        lambda h, c: (h, without_row(d := without_row(c, row_of(c, 0, 0)), row_of(d, 0, 1))),
        "a start is missing: s=0, v=0",
    ),
    "a reachable state is missing": (
        lambda h, c: (h, without_row(c, row_of(c, 0, 1))),
        "the label 'go' leads out of the set",
    ),
    "an outcome that is unlikely is missing": (
        lambda h, c: (h, without_row(c, row_of(c, 2, 0))),
        "the label 'slow' leads out of the set",
    ),
    "an unsafe state is added": (
        lambda h, c: (h, with_row(c, 4, 0, HALF, 0)),
        "a state is unsafe: s=4",
    ),
    "a state beyond the bounds is added": (
        lambda h, c: (h, with_row(c, 5, 0, HALF, 0)),
        "the variable 's'",
    ),
    "a state that leads out is added": (
        lambda h, c: (h, with_row(c, 3, 1, HALF, 2)),
        "the label 'go' leads out of the set",
    ),
    "a state stands twice": (
        lambda h, c: (h, with_row(c, *(column[0] for column in c))),
        "a state stands twice",
    ),
    "a label is another one": (
        lambda h, c: changed_label(row_of(c, 1, 0), 2)(h, c),
        "the label 'go' leads out of the set",
    ),
    "a label is none": (
        lambda h, c: changed_label(row_of(c, 1, 0), 0)(h, c),
        "no label is given for s=1",
    ),
    "a label that does not exist": (changed_label(0, 9), "the model has no label number 7"),
    "any label where one leads out": (
        lambda h, c: changed_label(row_of(c, 1, 0), 1)(h, c),
        "leads out of the set",
    ),
    "a label that does not apply": (
        lambda h, c: (h, with_row(c, 3, 1, HALF, 3)),
        "the label 'slow' does not apply in s=3, v=1",
    ),
    "a real number is another one": (
        lambda h, c: (h, [*c[:2], [n + 1 for n in c[2]], c[3]]),
        "a start is missing",
    ),
    "no state": (lambda h, c: (h, [[] for _ in c]), "the certificate has no state"),
    "the digest of the task": (
        changed_header("task.digest", "0" * 64),
        "the digest of the task differs",
    ),
    "the digest of a file": (
        changed_header("task.files.0.sha256", "0" * 64),
        "the model is another one",
    ),
    "the digest of the property": (
        changed_header("property", "0" * 64),
        "the digest of the property",
    ),
    "an option": (
        changed_header("task.options.silent", "as_action"),
        "the digest of the task differs",
    ),
    "the labels swapped": (changed_header("labels", ["slow", "go"]), "the labels are not those"),
    "the name of a variable": (
        changed_header("columns.0.name", "x"),
        "the variables are not those of the model",
    ),
    "the kind of a variable": (
        changed_header("columns.1.kind", "bool"),
        "the variables are not those of the model",
    ),
    "the lowest value": (changed_header("columns.0.low", 1), "a state is unsafe: s=4"),
    "the lowest value, out of bounds": (changed_header("columns.0.low", 9), "the variable 's'"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_refused(name: str) -> None:
    change, reason = DAMAGE[name]
    header, columns = taken_apart(safe_road())
    report = check(put_together(*change(copy.deepcopy(header), copy.deepcopy(columns))))
    assert not report.valid
    assert not report.undecided
    assert reason in report.reason, report.reason


def cut(content: bytes) -> bytes:
    return content[:-3]


UNREADABLE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "this is not a certificate"),
    "another file": (lambda _: b"begin_version\n3\n", "this is not a certificate"),
    "cut in the header": (lambda c: c[: len(MAGIC) + 20], "ends within its header"),
    "cut in a column": (cut, "ends within the column"),
    "something behind": (lambda c: c + b"x", "something follows the last column"),
    "no JSON": (lambda c: c.replace(b'{"claim"', b'{"claim', 1), "is not JSON"),
    "a column of noise": (
        lambda c: (
            c[: c.index(b"\n", len(MAGIC)) + 1] + bytes(len(c) - c.index(b"\n", len(MAGIC)) - 1)
        ),
        "is damaged",
    ),
    "more states than rows": (
        lambda c: c.replace(b'"states": ', b'"states": 1', 1),
        "has not one number for each",
    ),
    "as large as a bomb": (
        lambda c: c.replace(b'"states": ', b'"states": 99999999', 1).replace(
            b'"width": 1', b'"width": 8'
        ),
        "unpacks to more than",
    ),
    "a width of three bytes": (
        lambda c: c.replace(b'"width": 1', b'"width": 3', 1),
        "numbers of 3 bytes",
    ),
    "a real number counted from 1": (
        lambda c: c.replace(b'"real", "low": 0', b'"real", "low": 1', 1),
        "does not hold values of the kind 'real'",
    ),
    "a Boolean counted from -1": (
        lambda c: c.replace(b'"int", "low": 0', b'"bool", "low": -1', 1),
        "does not hold values of the kind 'bool'",
    ),
    "a Boolean that is 2": (
        lambda c: c.replace(b'"int", "low": 0', b'"bool", "low": 0', 1),
        "does not hold values of the kind 'bool'",
    ),
    "a kind that does not exist": (
        lambda c: c.replace(b'"kind": "int"', b'"kind": "odd"', 1),
        "holds values of the kind 'odd'",
    ),
    "no labels": (
        lambda c: c.replace(b'"=label"', b'"=lab"', 1),
        "does not say what the policy does",
    ),
    "no policy": (
        lambda c: c.replace(b'"policy": {', b'"nobody": {', 1),
        "does not say which policy",
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_files_that_cannot_be_read_are_refused(name: str) -> None:
    change, reason = UNREADABLE[name]
    with pytest.raises(CheckError, match=reason):
        check(change(safe_road()))


@pytest.mark.parametrize("start", range(4))
def test_random_damage_is_refused_or_harmless(start: int) -> None:
    """A certificate with random changes is refused or still proves the claim. There is never another error."""
    random = Random(start)
    content = safe_road()
    header, columns = taken_apart(content)
    rows = set(zip(*columns, strict=True))
    for _ in range(150):
        damaged = bytearray(content)
        for _ in range(random.randint(1, 3)):
            damaged[random.randrange(len(damaged))] = random.randrange(256)
        with suppress(CheckError):
            check(bytes(damaged))
        changed = copy.deepcopy(columns)
        column = random.choice([0, 1, 3])
        changed[column][random.randrange(len(changed[0]))] = random.randrange(6)
        if set(zip(*changed, strict=True)) != rows:
            with suppress(CheckError):
                report = check(put_together(header, changed))
                assert not report.valid or _is_inductive(changed)


def _is_inductive(columns: Columns) -> bool:
    """Whether the set is inductive, by the definition and with the engine."""
    task = road()
    label_of = {(s, v): code for s, v, _, code in zip(*columns, strict=True)}
    if not {(0, 0), (1, 0)} <= label_of.keys():
        return False
    for (s, v), code in label_of.items():
        state = (s, v, 0.5)
        if task.is_unsafe(state):
            return False
        if task.is_goal(state):
            continue
        labels = ("go", "slow") if code == 1 else (task.labels[code - 2],)
        if any((t[0], t[1]) not in label_of for one in labels for t in task.outcomes(state, one)):
            return False
    return True


def test_a_certificate_of_another_model_is_refused() -> None:
    other = jani.task(jani.model([jani.variable("s", jani.bounded(0, 4), 0)], []))
    assert "the model is another one" in check(safe_road(), other).reason


def test_a_certificate_with_another_digest_is_refused() -> None:
    files = list(road().source["files"].values())
    report = check_model(read_certificate(safe_road()), files, digest="1" * 64)
    assert "the digest of the task differs" in report.reason


def test_a_certificate_of_more_states_than_fit_is_not_unpacked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Eight megabytes of zeros stood for a thousand million states, which took all memory."""
    header = {"states": 2**30, "columns": [{"width": 8, "bytes": 0}]}
    content = MAGIC + json.dumps(header).encode() + b"\n"
    monkeypatch.setattr(container, "_memory", lambda: 24 * 2**30)
    with pytest.raises(CheckError, match="1,073,741,824 states takes more memory than this"):
        read_certificate(content)


def _header(content: bytes) -> tuple[dict[str, Any], bytes]:
    line, _, rest = content[len(MAGIC) :].partition(b"\n")
    return json.loads(line), rest


def test_the_model_is_that_of_the_caller(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A certificate that brings another model along proves nothing about the one that is asked about."""
    (content,) = road().source["files"].values()
    unsafe, proof = tmp_path / "unsafe.jani", tmp_path / "forged.proof"
    document = json.loads(content)
    document["properties"][0]["expression"]["reach"] = True
    unsafe.write_text(json.dumps(document))
    header, rest = _header(safe_road())
    (own,) = header["task"]["files"]
    (tmp_path / Path(own["name"]).name).write_bytes(content)  # where the certificate would find it
    brought = {**own, "content": content.decode()}
    elsewhere = str(Path(own["name"]).parent / "no" / ".." / Path(own["name"]).name)
    for files, path in (
        ([own], own["name"]),
        ([brought], own["name"]),
        ([{**brought, "name": "(given)"}], "(given)"),
        ([own], elsewhere),
        ([own], own["name"] + "/../" + Path(own["name"]).name),
    ):
        task = {**header["task"], "files": files, "path": path}
        proof.write_bytes(MAGIC + json.dumps({**header, "task": task}).encode() + b"\n" + rest)
        assert main([str(proof), str(unsafe)]) != 0
        assert "VALID no run" not in capsys.readouterr().out


def test_a_file_that_the_model_includes_cannot_be_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the file of the first property, another one would be the first that can be read."""
    (content,) = road().source["files"].values()
    document = json.loads(content)
    (harmless,) = document["properties"]
    strict = {**harmless["expression"], "reach": True}
    (tmp_path / "strict.jani").write_text(json.dumps(strict))
    document["properties"] = [{"name": "strict", "expression": {"file": "strict.jani"}}, harmless]
    model, proof = tmp_path / "model.jani", tmp_path / "forged.proof"
    model.write_text(json.dumps(document))
    task = load_jani(model, property=harmless["name"])
    certificate = prove(task, drive).certificate
    assert certificate is not None
    proof.write_bytes(certificate)
    assert main([str(proof), str(model)]) == 0
    assert f'property "{harmless["name"]}"' in capsys.readouterr().out
    header, rest = _header(certificate)
    header["task"]["options"]["property"] = None
    files = {str(model): model.read_bytes()}
    header["task"]["digest"] = digest_of({**header["task"]["options"], "files": files})
    proof.write_bytes(MAGIC + json.dumps(header).encode() + b"\n" + rest)
    assert main([str(proof), str(model)]) == 1
    assert "'strict.jani' was not kept with the model" in capsys.readouterr().out


def test_it_is_said_how_a_certificate_reads_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The claim is about the conditions that the certificate brings along, so these are shown."""
    path = tmp_path / "model.jani"
    path.write_bytes(next(iter(road().source["files"].values())))
    start = "s = 0 and v = 0 and w = 0.5"
    proof = prove(load_jani(path, unsafe="s > 100", start=start), "first")
    assert proof.certificate is not None
    (tmp_path / "safe.proof").write_bytes(proof.certificate)
    assert main([str(tmp_path / "safe.proof"), str(path)]) == 0
    assert '"right": 100' in capsys.readouterr().out


def test_a_certificate_is_checked_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = road().source
    (content,) = source["files"].values()
    model, proof = tmp_path / "model.jani", tmp_path / "safe.proof"
    model.write_bytes(content)
    proof.write_bytes(safe_road())
    assert main([str(proof), str(model)]) == 0
    assert capsys.readouterr().out.startswith("VALID no run of the policy")
    assert main([str(proof), str(model), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["starts"] == 2
    model.write_bytes(content + b"\n")
    assert main([str(proof), str(model)]) == 1
    assert "the digest of a file differs" in capsys.readouterr().out


def test_a_prism_model_is_not_called_another_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The checker cannot translate it, so that it says nothing of the certificate."""
    model, proof = tmp_path / "model.prism", tmp_path / "safe.proof"
    model.write_text("mdp\n")
    proof.write_bytes(safe_road())
    assert main([str(proof), str(model)]) == 31
    told = capsys.readouterr()
    assert "INVALID" not in told.out
    assert "misstep prove MODEL --check FILE translates it again" in told.err


# -- starts that are left out -----------------------------------------------------------------------


@cache
def half_road() -> tuple[JaniTask, bytes]:
    """0 can stay. 1 and 2 can only go on, or go back, until 3, which is unsafe. 4 is a goal."""
    world = Explicit(
        [0, 0, 0, UNSAFE, GOAL],
        [[(0, [0])], [(0, [2]), (1, [2, 4])], [(0, [3]), (1, [1, 3])], [], []],
        [0, 0, 0, -1, -1],
    )
    task = model_of(world, [0, 1], True)
    settings = ProveSettings(ask="all", leave_out=True)
    proof = prove(task, table_policy(world), settings)
    assert (proof.verdict, proof.hopeless) == ("PROVEN", 1), proof.reason
    assert proof.certificate is not None
    return task, proof.certificate


def test_lost_starts_may_be_left_out() -> None:
    task, content = half_road()
    report = check(content, task)
    assert report.valid, report
    assert report.claim.endswith("from a start that can be kept safe")
    assert report.about["hopeless"] == 1
    _, (states, _, ranks) = taken_apart(content)
    assert dict(zip(states, ranks, strict=True)) == {0: 0, 1: 3, 2: 2, 3: 1}


# State, label and rank of a row that is put in the place of another one, or added.
LEFT_OUT: dict[str, tuple[dict[int, tuple[int, int] | None], str]] = {
    "a rank is as large as the next one": ({1: (0, 2)}, "may keep a state safe"),
    "the proof has a gap": ({2: None}, "may keep a state safe"),
    "the unsafe state is missing": ({3: None}, "may keep a state safe"),
    "a state that can stay is left out": ({0: (0, 4)}, "may keep a state safe"),
    "a goal is left out": ({4: (0, 9)}, "a run ends well in a state that is left out"),
    "an unsafe state is not left out": ({3: (0, 0)}, "may keep a state safe"),
    "a lost state is not left out": ({1: (2, 0)}, "leads out of the set"),
    "the start is missing": ({0: None}, "a start is missing"),
    "no start is left": ({0: (0, 4), 1: None}, "may keep a state safe"),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_damage_of_the_proof_for_lost_starts_is_refused(name: str) -> None:
    task, content = half_road()
    header, columns = taken_apart(content)
    rows = {s: (code, rank) for s, code, rank in zip(*columns, strict=True)}
    changes, reason = LEFT_OUT[name]
    for s, change in changes.items():
        if change is None:
            del rows[s]
        else:
            rows[s] = change
    damaged = [list(column) for column in zip(*((s, *row) for s, row in rows.items()), strict=True)]
    report = check(put_together(header, damaged), task)
    assert not report.valid
    assert reason in report.reason, report.reason


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_files_that_never_end(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A certificate names the files of its model, and may come from a stranger."""
    header, columns = taken_apart(safe_road())
    (own,) = header["task"]["files"]
    other = tmp_path / "other"
    if kind == "pipe":
        os.mkfifo(other)
    elif kind == "device":
        other.symlink_to("/dev/zero")
    else:
        other.mkdir()
    header["task"]["files"] = [own, {**own, "name": str(Path(own["name"]).parent / "other")}]
    proof, model = tmp_path / "safe.proof", tmp_path / Path(own["name"]).name
    proof.write_bytes(put_together(header, columns))
    model.write_bytes(next(iter(road().source["files"].values())))
    assert main([str(proof), str(model)]) == 30
    assert "not a regular file" in capsys.readouterr().err
