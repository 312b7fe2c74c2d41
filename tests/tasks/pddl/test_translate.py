from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from misstep.errors import (
    InputFileError,
    InputFormatError,
    MemoryLimitError,
    MissingDependencyError,
    MisstepError,
    TimeLimitError,
    ToolError,
    UnsupportedError,
    UsageError,
)
from misstep.tasks.pddl import translate as module
from misstep.tasks.pddl.cache import TranslationCache
from misstep.tasks.pddl.text import MAX_FILE_BYTES
from support.pddl import DOMAIN, PROBLEM, changed, translate

# Grounding enumerates all tuples of seven objects: it would run for hours.
ENDLESS_DOMAIN = """(define (domain endless)
 (:predicates (p ?a) (q ?a ?b ?c ?d ?e ?f ?g))
 (:action a :parameters (?a ?b ?c ?d ?e ?f ?g)
  :precondition (and (p ?a) (p ?b) (p ?c) (p ?d) (p ?e) (p ?f) (p ?g))
  :effect (q ?a ?b ?c ?d ?e ?f ?g)))
"""
_NAMES = [f"o{number}" for number in range(60)]
ENDLESS_PROBLEM = f"""(define (problem endless) (:domain endless)
 (:objects {" ".join(_NAMES)})
 (:init {" ".join(f"(p {name})" for name in _NAMES)})
 (:goal (q o0 o1 o2 o3 o4 o5 o6)))
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The good task in a folder of its own, and temporary and cache folders to look into."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("MISSTEP_CACHE_DIR", str(tmp_path / "cache"))
    domain, problem = tmp_path / "domain.pddl", tmp_path / "problem.pddl"
    domain.write_text(DOMAIN)
    problem.write_text(PROBLEM)
    return domain, problem


def leftovers(folder: Path) -> list[str]:
    """Temporary files, and processes that run in the temporary folder."""
    found = [path.name for path in (folder / "tmp").iterdir()]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            place = os.readlink(process / "cwd")  # noqa: PTH115 (keeps the mark "(deleted)")
        except OSError:
            continue
        if place.startswith(str(folder / "tmp")):
            found.append(process.name)
    return found


def test_good_task(files: tuple[Path, Path], tmp_path: Path) -> None:
    sas = translate(*files)
    assert sas.startswith(b"begin_version\n3\nend_version\n")
    assert b"Atom at(r1)" in sas
    assert sas.count(b"begin_operator") == 6
    assert leftovers(tmp_path) == []


def test_unimportant_variables_are_kept_by_default(files: tuple[Path, Path]) -> None:
    domain, _ = files
    extra = " (:predicates (lit) "
    toggle = ")))\n (:action light :parameters () :precondition (free) :effect (lit))\n)"
    text = changed(changed(DOMAIN, " (:predicates ", extra), ")))\n)", toggle)
    domain.write_text(text)
    assert b"Atom lit()" in translate(*files)
    assert b"Atom lit()" not in translate(*files, keep_unimportant=False)


def test_second_translation_comes_from_the_cache(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = translate(*files)
    assert TranslationCache().size() > 0
    monkeypatch.setattr(module, "_LAUNCHER", "raise SystemExit('must not run')")
    assert translate(*files) == first
    with pytest.raises(MisstepError):
        translate(*files, use_cache=False)


def test_unusable_cache_is_no_cache(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MISSTEP_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert translate(*files).startswith(b"begin_version")


@pytest.mark.parametrize(
    "goal", ["(in b1 r1)", "(at r1)", "(and)", "(not (at r1))", "(or (at r2) (at hall))"]
)
def test_odd_goals_are_tasks(files: tuple[Path, Path], goal: str) -> None:
    # Unsolvable, already true, empty, negative, disjunctive.
    files[1].write_text(changed(PROBLEM, "(and (at r2))", goal))
    assert b"begin_goal" in translate(*files)


def test_no_operators_is_a_task(files: tuple[Path, Path]) -> None:
    files[0].write_text(DOMAIN[: DOMAIN.index(" (:action")] + ")")
    assert translate(*files).count(b"begin_operator") == 0


@pytest.mark.parametrize(
    "content",
    [
        b"; caf\xe9 in latin-1\n" + DOMAIN.encode(),
        b"\xef\xbb\xbf" + DOMAIN.encode(),
        DOMAIN.replace("\n", "\r\n").encode(),
        DOMAIN.replace("\n", "\r").encode(),
        DOMAIN.upper().encode(),
    ],
    ids=["latin-1 comment", "byte order mark", "CRLF", "CR", "upper case"],
)
def test_odd_encodings(files: tuple[Path, Path], content: bytes) -> None:
    files[0].write_bytes(content)
    assert translate(*files).count(b"begin_operator") == 6


# Which file, how it is changed, the error, the line, a part of the message.
Bad = tuple[str, str, str, type[MisstepError], int | None, str]
DOMAIN_ERRORS: list[Bad] = [
    ("requirement", ":typing", ":typing :foo", UnsupportedError, 2, ":foo"),
    ("precondition", "(at ?a) (not (=", "(att ?a) (not (=", InputFormatError, 8, "att"),
    ("effect", "(not (at ?a))", "(not (att ?a))", InputFormatError, 10, "att"),
    ("variable", "(at ?b)\n", "(at ?c)\n", InputFormatError, 9, "?c"),
    ("constant", "(at ?b)\n", "(at nowhere)\n", InputFormatError, 9, "nowhere"),
    ("parameter type", "?a ?b - room", "?a ?b - rom", InputFormatError, 7, "'rom'"),
    ("constant type", "hall - room", "hall - rom", InputFormatError, 4, "'rom'"),
    ("arity", "(at ?a) (not (=", "(at ?a ?b) (not (=", InputFormatError, 8, "arity 1"),
    ("section", "(:types", "(:typez", InputFormatError, 3, ":typez"),
    ("durative", "(:action", "(:durative-action", UnsupportedError, 6, "durative"),
    ("numeric", "(at ?a) (not (=", "(>= (f) 3) (not (=", UnsupportedError, 8, "numeric"),
    ("cost", "(at ?b)\n", "(increase (total-cost) (f))\n", InputFormatError, 9, "'f'"),
    ("negative", "(at ?b)\n", "(increase (total-cost) -1)\n", UnsupportedError, 9, "-1"),
    ("nested", "(at ?a) (not (=", "(at (?a)) (not (=", InputFormatError, 8, "unexpected '('"),
    ("unclosed", "(:action", "(:action a :effect (free)\n (:action", InputFormatError, 6, "closed"),
    ("extra )", "(free))", "(free)))", InputFormatError, 6, "')' too many"),
    (
        "twice",
        ")))\n)",
        ")))\n (:action move :parameters () :effect (free)))",
        InputFormatError,
        11,
        "first in line 6",
    ),
    (
        "digits",
        "(:action move",
        f"(:action m#{'9' * 5000} :effect (x))(:action move",
        InputFormatError,
        6,
        "x",
    ),
    ("object fluent", "(:action", "(:functions (f) - room)(:action", UnsupportedError, None, "f"),
]
PROBLEM_ERRORS: list[Bad] = [
    ("init predicate", "(free)", "(fre)", InputFormatError, 6, "fre"),
    ("goal predicate", "(and (at r2))", "(and (att r2))", InputFormatError, 7, "att"),
    ("init object", "(in b1 r2)", "(in b1 r9)", InputFormatError, 5, "r9"),
    ("goal object", "(at r2)", "(at r9)", InputFormatError, 7, "r9"),
    ("object type", "b1 - ball", "b1 - bal", InputFormatError, 4, "'bal'"),
    ("init arity", "(at r1)", "(at r1 r2)", InputFormatError, 5, "arity 1"),
    ("object twice", "b1 - ball", "b1 r1 - ball", InputFormatError, 4, "r1"),
    ("domain name", "(:domain rooms)", "(:domain other)", InputFormatError, 2, "other"),
    ("no goal", "(:goal (and (at r2)))", "", InputFormatError, None, "goal"),
    ("text after", ")))\n)\n", ")))\n)\nhello", InputFormatError, 9, "'hello'"),
    ("word in init", "(free)", "free", InputFormatError, 6, "fact"),
    ("true and false", "(free)", "(free) (not (free))", InputFormatError, 6, "true and false"),
    ("not ASCII", "b1 - ball", "b\xe9 - ball", InputFormatError, 4, "'é'"),
    ("metric", "r2)))\n", "r2)))(:metric maximize (f))\n", UnsupportedError, 7, "metric"),
]


@pytest.mark.parametrize(
    ("side", "bad"),
    [(0, bad) for bad in DOMAIN_ERRORS] + [(1, bad) for bad in PROBLEM_ERRORS],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_error_names_the_line(
    files: tuple[Path, Path], tmp_path: Path, side: int, bad: Bad
) -> None:
    _, old, new, error, line, part = bad
    text = changed((DOMAIN, PROBLEM)[side], old, new)
    files[side].write_text(text, encoding="latin-1")
    with pytest.raises(error) as caught:
        translate(*files)
    assert caught.value.where == str(files[side]) + (f":{line}" if line else "")
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)
    assert type(caught.value) is error
    assert leftovers(tmp_path) == []
    assert TranslationCache().size() == 0


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)


@pytest.mark.parametrize(
    ("make", "error", "part"),
    [
        (lambda _: None, InputFileError, "no such file"),
        (lambda path: path.mkdir(), InputFileError, "folder"),
        (lambda path: path.symlink_to(path.name), InputFileError, "circle"),
        (os.mkfifo, InputFileError, "regular"),
        (lambda path: path.symlink_to("/dev/zero"), InputFileError, "regular"),
        (_huge, InputFileError, "64 MiB"),
        (lambda path: path.write_bytes(b""), InputFormatError, "no content"),
        (lambda path: path.write_bytes(b"; nothing\n"), InputFormatError, "no content"),
        (lambda path: path.write_bytes(bytes(range(256)) * 9), InputFormatError, "not a text"),
        (lambda path: path.write_text(DOMAIN, encoding="utf-16"), InputFormatError, "UTF-16"),
        (lambda path: path.write_text("begin_version\n3"), InputFormatError, "starts with"),
        (lambda path: path.write_text("(" * 100_000), UnsupportedError, "nested"),
        (lambda path: path.write_text("()"), InputFormatError, "define"),
        (lambda path: path.write_text("(define)"), InputFormatError, "define"),
        (lambda path: path.write_text("(define (domain))"), InputFormatError, "domain"),
    ],
)
def test_not_a_pddl_file(
    files: tuple[Path, Path], make: Callable[[Path], object], error: type[MisstepError], part: str
) -> None:
    files[0].unlink()
    make(files[0])
    with pytest.raises(error) as caught:
        translate(*files)
    assert part in str(caught.value)
    assert str(caught.value).startswith(str(files[0]))


def test_swapped_files(files: tuple[Path, Path]) -> None:
    with pytest.raises(InputFormatError, match="the files seem to be swapped"):
        translate(files[1], files[0])


def test_same_file_twice(files: tuple[Path, Path]) -> None:
    with pytest.raises(InputFormatError, match="this is a domain file"):
        translate(files[0], files[0])


def test_deep_formula_within_the_limit(files: tuple[Path, Path]) -> None:
    deep = "(not " * 150 + "(at r2)" + ")" * 150
    files[1].write_text(changed(PROBLEM, "(at r2)", deep))
    assert b"begin_goal" in translate(*files)


@pytest.mark.parametrize("limit", [0, -1, float("nan")])
def test_senseless_time_limit(files: tuple[Path, Path], limit: float) -> None:
    with pytest.raises(UsageError):
        translate(*files, time_limit=limit)


def test_crash_of_the_translator_is_one_line(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LAUNCHER", "raise KeyError('inside')")
    with pytest.raises(ToolError, match="KeyError: 'inside'"):
        translate(*files)


def test_missing_translator(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKAGE", "no-such-package")
    with pytest.raises(MissingDependencyError, match="pip install"):
        translate(*files)


def test_unwritable_temporary_folder(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    with pytest.raises(ToolError, match="TMPDIR"):
        translate(*files)


@pytest.fixture
def endless(files: tuple[Path, Path]) -> tuple[Path, Path]:
    files[0].write_text(ENDLESS_DOMAIN)
    files[1].write_text(ENDLESS_PROBLEM)
    return files


def test_time_limit(endless: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(TimeLimitError, match=r"0\.5 s"):
        translate(*endless, time_limit=0.5)
    assert leftovers(tmp_path) == []
    assert TranslationCache().size() == 0


@pytest.mark.parametrize("limit", [15, 120])
def test_memory_limit(endless: tuple[Path, Path], tmp_path: Path, limit: int) -> None:
    # Too little even for the interpreter, and too little for the task.
    with pytest.raises(MemoryLimitError, match=f"{limit} MB|signal"):
        translate(*endless, memory_limit_mb=limit, time_limit=60)
    assert leftovers(tmp_path) == []


def test_ctrl_c_leaves_nothing_behind(endless: tuple[Path, Path], tmp_path: Path) -> None:
    program = "import sys; from support.pddl import translate; translate(*sys.argv[1:])"
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    with subprocess.Popen(
        [sys.executable, "-c", program, *map(str, endless)],
        env=environment,
        stderr=subprocess.PIPE,
    ) as process:
        deadline = time.monotonic() + 20
        while len(leftovers(tmp_path)) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(leftovers(tmp_path)) == 2  # The folder and the process in it.
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert b"KeyboardInterrupt" in errors
    deadline = time.monotonic() + 10  # a process that was killed takes a moment to go
    while leftovers(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert leftovers(tmp_path) == []
