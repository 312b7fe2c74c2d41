"""Layouts of benchmark sets: which files make a task, and which tasks a folder, a pattern or a list stands for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from misstep.errors import InputFileError, InputFormatError, MisstepError, UsageError
from misstep.tasks.files import domain_of, task_files
from misstep.tasks.generate import generate
from misstep.tasks.load import load_suite, load_task
from misstep.tasks.suites import is_suite, suite_files

DOMAIN = "(define (domain d))"
PROBLEM = "(define (problem p) (:domain d))"
Lay = Callable[..., Path]


@pytest.fixture
def lay(tmp_path: Path) -> Lay:
    """Makes files: domains and problems by their names."""

    def make(*names: str) -> Path:
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(DOMAIN if "domain" in path.name else PROBLEM)
        return tmp_path

    return make


def tasks_of(folder: Path, *given: Path, domain: Path | None = None) -> dict[str, list[str]]:
    """Names, and files seen from the folder."""
    return {
        name: [str(file.relative_to(folder)) for file in files]
        for name, files in suite_files(given or (folder,), domain)
    }


# -- the domain of a problem ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "domain"),
    [
        ("p01.pddl", "domain.pddl"),
        ("p01.pddl", "p01-domain.pddl"),
        ("p01.pddl", "p01_domain.pddl"),
        ("p01.pddl", "domain-p01.pddl"),
        ("p01.pddl", "domain_p01.pddl"),
        ("p01.pddl", "domain01.pddl"),
        ("instance-3.pddl", "domain-3.pddl"),
        ("easy/p01.pddl", "domain.pddl"),
        ("testing/easy/p01.pddl", "domain.pddl"),
        ("a/b/c/p01.pddl", "domain.pddl"),
    ],
)
def test_where_domains_are_found(lay: Lay, problem: str, domain: str) -> None:
    folder = lay(problem, domain)
    assert task_files(folder / problem) == [folder / domain, folder / problem]


def test_the_nearest_domain_counts(lay: Lay) -> None:
    folder = lay("domain.pddl", "a/domain.pddl", "a/p1.pddl", "a/p2.pddl", "a/p2-domain.pddl")
    assert domain_of(folder / "a" / "p1.pddl") == folder / "a" / "domain.pddl"
    assert domain_of(folder / "a" / "p2.pddl") == folder / "a" / "p2-domain.pddl"


def test_a_domain_that_is_too_far_away(lay: Lay) -> None:
    folder = lay("domain.pddl", "a/b/c/d/p01.pddl")
    with pytest.raises(InputFileError, match="the domain of this problem was not found") as caught:
        task_files(folder / "a/b/c/d/p01.pddl")
    assert "up to 3 folders up" in str(caught.value)
    assert "DOMAIN.pddl --suite FOLDER" in str(caught.value)


def test_a_relative_name(lay: Lay, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = lay("domain.pddl", "testing/easy/p01.pddl")
    monkeypatch.chdir(folder / "testing" / "easy")
    assert task_files("p01.pddl")[0].resolve() == (folder / "domain.pddl").resolve()


# -- folders --------------------------------------------------------------------------------------


def test_a_folder_that_is_one_task(lay: Lay) -> None:
    folder = lay("domain.pddl", "one/p07.pddl", "two/problem.pddl", "two/other.pddl")
    assert task_files(folder / "one") == [folder / "domain.pddl", folder / "one" / "p07.pddl"]
    assert task_files(folder / "two")[1].name == "problem.pddl"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (("domain.pddl", "p1.pddl", "p2.pddl"), "more than one task: p1.pddl, p2.pddl"),
        (("domain.pddl", "easy/p1.pddl"), "in the folders below"),
        (("domain.pddl",), "there is no task in this folder"),
    ],
)
def test_folders_that_are_none(lay: Lay, files: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputFileError, match=message) as caught:
        task_files(lay(*files))
    if len(files) > 1:
        assert "--suite" in str(caught.value)


def refused(name: str, error: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking into folders of this name fails."""
    really = os.scandir

    def scandir(path: str | os.PathLike[str]) -> object:
        if Path(path).name == name:
            error.filename = str(path)
            raise error
        return really(path)

    monkeypatch.setattr(os, "scandir", scandir)


def test_a_folder_below_that_goes_while_it_is_searched(
    lay: Lay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As below /, where every process has a folder for a while."""
    folder = lay("a/x.txt")
    refused("a", FileNotFoundError(2, "No such file or directory"), monkeypatch)
    with pytest.raises(InputFileError, match="there is no task in this folder"):
        task_files(folder)


def test_a_folder_that_cannot_be_read_is_no_empty_one(
    lay: Lay, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = lay("domain.pddl", "a/p1.pddl", "b/p2.pddl")
    refused("a", PermissionError(13, "Permission denied"), monkeypatch)
    for find in (task_files, tasks_of):
        with pytest.raises(InputFileError, match="a: cannot read this folder: Permission denied"):
            find(folder / "a")
    with pytest.raises(InputFileError, match="a: cannot read this folder: Permission denied"):
        tasks_of(folder)  # whose tasks would be too few


def test_nested_folders(lay: Lay) -> None:
    folder = lay(
        "domain.pddl", "testing/easy/p01.pddl", "testing/hard/p01.pddl", "training/p1.pddl"
    )
    assert tasks_of(folder) == {
        "testing/easy/p01": ["domain.pddl", "testing/easy/p01.pddl"],
        "testing/hard/p01": ["domain.pddl", "testing/hard/p01.pddl"],
        "training/p1": ["domain.pddl", "training/p1.pddl"],
    }


def test_a_domain_for_each_problem(lay: Lay) -> None:
    folder = lay("p01.pddl", "p01-domain.pddl", "p02.pddl", "p02-domain.pddl")
    assert tasks_of(folder) == {
        "p01": ["p01-domain.pddl", "p01.pddl"],
        "p02": ["p02-domain.pddl", "p02.pddl"],
    }


def test_one_domain_for_a_folder(lay: Lay) -> None:
    folder = lay("elsewhere/my-domain.pddl", "problems/a.pddl", "problems/b.pddl")
    domain = folder / "elsewhere" / "my-domain.pddl"
    expected = {name: ["elsewhere/my-domain.pddl", f"problems/{name}.pddl"] for name in ("a", "b")}
    assert tasks_of(folder, folder / "problems", domain=domain) == expected
    assert tasks_of(folder, domain, *sorted((folder / "problems").iterdir())) == expected


# -- patterns and lists ---------------------------------------------------------------------------


def test_patterns(lay: Lay) -> None:
    folder = lay("domain.pddl", "p01.pddl", "p02.pddl", "p11.pddl", "deep/er/p03.pddl")
    assert list(tasks_of(folder, folder / "p0*.pddl")) == ["p01", "p02"]
    assert list(tasks_of(folder, folder / "**" / "p0*.pddl")) == ["p03", "p01", "p02"]
    assert list(tasks_of(folder, folder / "*.pddl")) == ["p01", "p02", "p11"]  # without the domain
    assert task_files(folder / "p1*.pddl")[1].name == "p11.pddl"
    with pytest.raises(
        UsageError, match=r"2 files match this pattern, such as p01.pddl and p02.pddl"
    ):
        task_files(folder / "p0*.pddl")
    with pytest.raises(InputFileError, match="no file matches"):
        suite_files([folder / "q*.pddl"])


def test_a_file_whose_name_looks_like_a_pattern(lay: Lay) -> None:
    folder = lay("domain.pddl", "p[1].pddl", "p1.pddl")
    assert task_files(folder / "p[1].pddl")[1].name == "p[1].pddl"


def test_lists(lay: Lay) -> None:
    folder = lay("domain.pddl", "a/p01.pddl", "a/p02.pddl", "b/x.pddl", "b/other-domain.pddl")
    chosen = folder / "tasks.txt"
    chosen.write_text(
        "# a comment\na/p0*.pddl\n\nb/other-domain.pddl b/x.pddl  # with its domain\n"
    )
    assert tasks_of(folder, chosen) == {
        "p01": ["domain.pddl", "a/p01.pddl"],
        "p02": ["domain.pddl", "a/p02.pddl"],
        "x": ["b/other-domain.pddl", "b/x.pddl"],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the list is empty"),
        ("# nothing\n", "the list is empty"),
        ("\na b c\n", r"tasks.txt:2: 'a b c' is not a task"),
        ("'open", "cannot read the line"),
        ("other.txt", "is not a task"),
        ("missing.pddl", "no such file or folder"),
        ("'" + "a" * 10**7 + "'", "it has more than 20,000 letters"),
        ("#" + "a" * 10**6, "the list is empty"),
        (
            "".join(f"d p{k}\n" for k in range(50_000)) + "d p49999\n",
            "p49999: a problem is given twice",
        ),
    ],
)
def test_bad_lists(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "tasks.txt").write_text(text)
    with pytest.raises(MisstepError, match=message):
        suite_files([tmp_path / "tasks.txt"])
    (tmp_path / "tasks.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputFormatError, match="not a text file"):
        suite_files([tmp_path / "tasks.txt"])


def test_names_tell_tasks_apart(lay: Lay) -> None:
    folder = lay("domain.pddl", "a/p1.pddl", "b/p1.pddl", "c/problem.pddl")
    given = [folder / "a" / "p1.pddl", folder / "b" / "p1.pddl"]
    assert list(tasks_of(folder, *given)) == ["a/p1", "b/p1"]
    assert list(tasks_of(folder, folder / "c")) == ["c"]
    with pytest.raises(UsageError, match="given twice"):
        suite_files([given[0], given[0]])


def test_names_that_differ_at_the_beginning_of_long_paths(lay: Lay) -> None:
    folder = lay("domain.pddl")
    deep = "/x" * 1000
    lines = [f"d p{k}" for k in range(20_000)]
    (folder / "tasks.txt").write_text("\n".join([f"d a{deep}", f"d b{deep}", *lines]))
    first, second, third, *_ = (name for name, _ in suite_files([folder / "tasks.txt"]))
    assert (first, second) == (f"a{deep}", f"b{deep}")
    assert third.endswith(str(folder / "p0"))


def test_what_is_a_suite(lay: Lay) -> None:
    folder = lay("domain.pddl", "p1.pddl", "p2.pddl")
    domain, first, second = (folder / name for name in ("domain.pddl", "p1.pddl", "p2.pddl"))
    assert not is_suite([first])
    assert not is_suite([domain, first])
    assert not is_suite([folder / "missing.pddl", first])
    assert is_suite([first, second])
    assert is_suite([domain, first, second])
    assert is_suite([folder / "p*.pddl"])
    assert is_suite([folder / "tasks.txt"])


def test_worlds_are_not_mixed(lay: Lay) -> None:
    folder = lay("domain.pddl", "p1.pddl")
    (folder / "m.jani").write_text("{}")
    with pytest.raises(InputFileError, match="problems and models"):
        suite_files([folder])
    with pytest.raises(InputFileError, match="not tested together"):
        suite_files([folder / "p1.pddl", folder / "m.jani"])
    with pytest.raises(InputFileError, match="no such file"):
        suite_files([folder], folder / "missing.pddl")
    with pytest.raises(UsageError, match="no tasks"):
        suite_files([])


# -- loaded ---------------------------------------------------------------------------------------


def test_a_suite_is_loaded(tmp_path: Path) -> None:
    generate("gripper", balls=2).write(tmp_path / "small")
    generate("gripper", balls=3).write(tmp_path / "large")
    tasks = load_suite(tmp_path)
    assert [task.name for task in tasks] == ["large/problem", "small/problem"]
    assert [task.digest for task in load_suite(tmp_path / "large", tmp_path / "small")] == [
        task.digest for task in tasks
    ]
    with pytest.raises(UsageError, match="is not a path"):
        load_suite(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["ferry", "spanner"])
def test_the_learning_track(shared: Path, name: str) -> None:
    folder = shared / "benchmarks" / "ipc23-learning" / name
    if not folder.is_dir():
        pytest.skip("the benchmarks of the learning track are not here")
    found = suite_files([folder])
    assert len(found) > 10
    assert {files[0] for _, files in found} == {folder / "domain.pddl"}
    assert len({name for name, _ in found}) == len(found)
    first = load_task(sorted((folder / "testing" / "easy").glob("p*.pddl"))[0])
    assert first.world == "planning"


def test_names_in_lists_may_hold_the_sign_of_comments(lay: Lay) -> None:
    """They were cut there, so that a list could stand for another task or folder."""
    folder = lay("domain.pddl", "a/p1.pddl", "a#2/p1.pddl", "b #3/p1.pddl")
    chosen = folder / "tasks.txt"
    chosen.write_text("a#2/p1.pddl\n'b #3/p1.pddl'# no comment\n")
    with pytest.raises(MisstepError, match="put names with spaces in quotes"):
        suite_files([chosen])
    chosen.write_text("a#2/p1.pddl # a comment\n'b #3/p1.pddl' # another 'one\n")
    problems = [files[-1] for _, files in suite_files([chosen])]
    assert problems == [folder / "a#2/p1.pddl", folder / "b #3/p1.pddl"]


def test_a_list_whose_pattern_fits_the_list(lay: Lay) -> None:
    folder = lay("domain.pddl", "p1.pddl", "p2.pddl")
    (folder / "tasks.txt").write_text("*\n")
    assert list(tasks_of(folder, folder / "tasks.txt")) == ["p1", "p2"]


@pytest.mark.parametrize("name", ["x" * 5000, "[" * 300, "a\0b", "p*" + "y" * 300 + "\0"])
def test_names_that_no_file_can_have(lay: Lay, name: str) -> None:
    folder = lay("domain.pddl", "p1.pddl")
    for line in (name, f"domain.pddl {name}"):
        (folder / "tasks.txt").write_text(f"{line}\n")
        with pytest.raises(InputFileError):
            suite_files([folder / "tasks.txt"])
