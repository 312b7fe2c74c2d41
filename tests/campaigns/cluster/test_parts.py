"""Parts of the code for clusters that need no cluster: addresses, digests, files, costs, the processes of a worker."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from misstep.campaigns.arguments import check_cluster
from misstep.campaigns.cluster import host
from misstep.campaigns.cluster.address import Local, Remote, Slurm, read_address
from misstep.campaigns.cluster.files import at_hand, check_policy, copies, files_in
from misstep.campaigns.cluster.jobs import (
    Died,
    Done,
    Late,
    NoMemory,
    Refused,
    Shelf,
    Ticket,
    packed,
)
from misstep.campaigns.costs import Costs
from misstep.campaigns.limits import Limits
from misstep.campaigns.units import Result, Stage, Unit
from misstep.errors import InputFileError, InputFormatError, UsageError
from misstep.versions import identity

# -- addresses ------------------------------------------------------------------------------------


def test_addresses_of_clusters_are_read() -> None:
    assert read_address("local:3") == Local(3)
    assert read_address("tcp://10.0.0.1:8786") == Remote("tcp://10.0.0.1:8786")
    assert read_address("tls://head.example.org:8786") == Remote("tls://head.example.org:8786")
    assert read_address("tcp://[::1]:80") == Remote("tcp://[::1]:80")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "local",
        "local:",
        "local:0",
        "local:x",
        "tcp://",
        "tcp://host",
        "tcp://host:0",
        "tcp://h:99999",
        "http://host:80",
        "slurm:",
        "ucx://h:1",
        3,
    ],
)
def test_wrong_addresses_are_refused(text: object) -> None:
    with pytest.raises(UsageError, match="local:N"):
        read_address(text)


def test_options_of_slurm(tmp_path: Path) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text('jobs = 4\ncores = 8\nmemory = "16GB"\nwalltime = "01:00:00"\n')
    found = read_address(f"slurm:{file}")
    assert isinstance(found, Slurm)
    assert found.jobs == 4
    assert found.options == {"cores": 8, "memory": "16GB", "walltime": "01:00:00"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("jobs = 4", "cores, memory not given"),
        ('jobs = 0\ncores = 1\nmemory = "1GB"', "numbers from 1"),
        ('jobs = 1\ncores = 1\nmemory = "1GB"\nwaltime = "x"', "no option 'waltime'"),
        ('jobs = "many"\ncores = 1\nmemory = "1GB"', "the option jobs is 'many'"),
        ("jobs =", "not TOML"),
    ],
)
def test_wrong_options_of_slurm_are_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text(text)
    with pytest.raises(InputFormatError, match=said):
        read_address(f"slurm:{file}")
    with pytest.raises(InputFileError):
        read_address(f"slurm:{tmp_path}/none.toml")


def test_options_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(UsageError, match="both --jobs and --cluster"):
        check_cluster("local:2", 2, Limits())
    with pytest.raises(UsageError, match="--task-memory"):
        check_cluster("local:2", 1, Limits(memory=1000))
    check_cluster("local:2", 1, Limits(task_memory=1000))


# -- policies and their files ---------------------------------------------------------------------


def test_a_policy_in_memory_cannot_be_sent() -> None:
    class Mine:
        name = "python object agents.Mine"

    for policy in (Mine(), "python object agents.greedy"):
        with pytest.raises(UsageError, match=r"exists in this process only.*python:FILE\.py:NAME"):
            check_policy(policy)
    assert check_policy("random:3") == "random:3"


def test_files_in_a_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("agents.py", "weights.pt", "tool"):
        Path(name).write_text("x")
    Path("tool").chmod(0o755)
    assert list(files_in("python:agents.py:Make?model=weights.pt&k=3")) == [
        "weights.pt",
        "agents.py",
    ]
    assert list(files_in("noisy:0.1:3+python:agents.py:f")) == ["agents.py"]
    assert list(files_in("exec:tool agents.py --fast")) == [
        "agents.py"
    ]  # programs stay where they are
    assert list(files_in("heuristic:ff")) == []


def test_a_worker_reads_the_coordinators_version_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "lib" / "agents.py"
    source.parent.mkdir()
    source.write_text("first version")
    (source.parent / "helper.py").write_text("helps")
    spec = "noisy:0.1:3+python:lib/agents.py:f"
    sent = copies(spec, {str(source.parent / "helper.py"): "known"})
    assert [Path(own.path).name for own in sent] == ["agents.py", "helper.py"]
    assert at_hand(spec, sent, str(tmp_path / "scratch")) == spec  # the same files are here
    source.write_text("another version")
    renamed = at_hand(spec, sent, str(tmp_path / "scratch"))
    assert renamed == f"noisy:0.1:3+python:{tmp_path}/scratch/agents.py:f"
    assert (tmp_path / "scratch" / "agents.py").read_text() == "first version"
    assert (tmp_path / "scratch" / "helper.py").read_text() == "helps"


def test_a_damaged_copy_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "w.txt"
    file.write_text("x")
    (sent,) = copies(f"network:{file}", {})
    file.unlink()
    with pytest.raises(InputFormatError, match="damaged"):
        at_hand(f"network:{file}", [replace(sent, content=b"y")], str(tmp_path / "s"))


# -- larger things by digest ----------------------------------------------------------------------


def test_a_shelf_hands_out_the_same_object() -> None:
    shelf, blob = Shelf(2), packed([1, 2, 3])
    assert shelf.missing([blob.digest, blob.digest]) == [blob.digest]
    shelf.put(*blob)
    assert shelf.take(blob.digest) is shelf.take(blob.digest)
    assert shelf.missing([blob.digest]) == []
    with pytest.raises(ValueError, match="is not"):
        shelf.put(blob.digest, pickle.dumps([4]))


def test_a_shelf_keeps_what_was_used_last() -> None:
    shelf, blobs = Shelf(2), [packed(n) for n in range(4)]
    for blob in blobs[:3]:
        shelf.put(*blob)
    shelf.take(blobs[0].digest)
    shelf.tidy([blobs[3].digest])
    assert shelf.missing([own.digest for own in blobs]) == [blobs[1].digest, blobs[3].digest]
    shelf.put(*blobs[3])
    shelf.tidy([own.digest for own in blobs])  # nothing that is needed goes
    assert shelf.missing([own.digest for own in blobs]) == [blobs[1].digest]


# -- what takes long goes first -------------------------------------------------------------------


class Half(Stage):
    name = "judge"
    title = "judging"

    def __init__(self, done: int, total: int) -> None:
        self.done, self.total = done, total

    def rounds(self) -> Iterator[Sequence[Unit]]:
        raise AssertionError

    def keep(self, unit: Unit, result: Result) -> None:  # noqa: ARG002
        raise AssertionError

    def progress(self) -> tuple[int, int | None]:
        return self.done, self.total


def test_long_tasks_are_started_first() -> None:
    costs = Costs({"small": 10, "large": 1000, "also small": 10})
    assert costs.order(["small", "also small", "large"]) == ["large", "small", "also small"]


def test_what_was_measured_counts_more_than_the_size() -> None:
    costs = Costs({"a": 10, "b": 1000, "c": 20})
    assert costs.left("b", Half(0, 100), 4) > costs.left("a", Half(0, 100), 4)
    costs.see("a", "judge", 8.0)
    costs.see("b", "judge", 1.0)
    # 25 of 100 states took 8 seconds, and 1 second.
    assert costs.left("a", Half(25, 100), 3) == pytest.approx(24.0)
    assert costs.left("b", Half(25, 100), 3) == pytest.approx(3.0)
    # A task that has not begun costs by its size what the others did: 9 s for 1010 bytes in two units.
    assert costs.left("c", Half(0, 100), 2) == pytest.approx(2 * 20 * 9 / 1010)


# -- the processes of a worker --------------------------------------------------------------------


@pytest.fixture
def ticket() -> Ticket:
    return Ticket("a test", 0, identity().code, "support.jobs:echo")


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    host.end_session("a test")


def entry(name: str) -> str:
    return f"support.jobs:{name}"


def test_jobs_share_a_process_and_roles_do_not(ticket: Ticket) -> None:
    own = replace(ticket, entry=entry("echo"))
    answers = []
    for role in (0, 0, 1, 2):
        found = host.do_job(replace(own, role=role), b"hello")
        assert isinstance(found, Done)
        answers.append(found.content.decode().split())
    assert [seed for _, _, seed in answers] == ["0", "0", "1", "2"]
    assert answers[0] == answers[1]
    assert len({pid for _, pid, _ in answers}) == 3


def test_a_larger_thing_is_sent_to_a_process_once(ticket: Ticket) -> None:
    blob = packed(["large"])
    own = replace(ticket, entry=entry("needy"), needs=(blob.digest,))
    assert host.do_job(own, blob.digest.encode(), blob.content) == Done(b"['large']")
    # The process does not ask for it again: what comes with the second job is not even looked at.
    assert host.do_job(own, blob.digest.encode(), b"nothing") == Done(b"['large']")


def test_the_end_of_a_process_is_reported_with_its_last_output(ticket: Ticket) -> None:
    found = host.do_job(replace(ticket, entry=entry("crash")), b"")
    assert isinstance(found, Died)
    assert found.how == "signal 11"
    assert "farewell" in found.words
    assert "crash" in found.words  # where it was
    assert isinstance(host.do_job(replace(ticket, entry=entry("echo")), b"next"), Done)


def test_a_process_that_does_not_hear_its_alarm_is_killed(ticket: Ticket) -> None:
    assert host.do_job(replace(ticket, entry=entry("sleep"), seconds=0.01), b"") == Late()


def test_too_little_memory_is_reported(ticket: Ticket) -> None:
    own = replace(ticket, entry=entry("grow"), memory_mb=500)
    assert host.do_job(own, b"") == NoMemory()
    assert isinstance(host.do_job(replace(own, entry=entry("echo")), b""), Done)


def test_a_worker_with_other_code_refuses(ticket: Ticket) -> None:
    found = host.do_job(replace(ticket, code="of another version"), b"")
    assert isinstance(found, Refused)
    assert "Misstep" in found.version


def test_a_folder_in_which_a_worker_still_writes_goes_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from misstep.campaigns.cluster import local

    folder = tmp_path / "cluster"
    folder.mkdir()
    true, left = shutil.rmtree, [1, 2]

    def remove(path: str, ignore_errors: bool) -> None:
        if left.pop() == 1:
            true(path, ignore_errors=ignore_errors)

    monkeypatch.setattr(shutil, "rmtree", remove)
    local._remove(str(folder))
    assert not folder.exists()
