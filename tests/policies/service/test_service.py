"""The inference service: which questions share a batch, which processes may end, and that nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from misstep.campaigns.alarm import Alarm, OutOfTime
from misstep.errors import PolicyAwayError, ToolError, UnsupportedError, UsageError
from misstep.policies import service
from misstep.policies.gnn.policy import NOISE
from misstep.policies.policy import States
from misstep.policies.service import address
from misstep.policies.service.address import folder
from misstep.policies.service.client import Client, client_of
from misstep.tasks.task import Task
from misstep.versions import identity
from support.served import StandinPolicy, opened, standin
from support.tasks import small_task

Ends = Callable[[int], bool]


def rows(count: int, seed: int = 0) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    states = np.random.default_rng(seed).integers(0, 9, (count, 3)).astype(np.int32)
    return states, np.array([0, count], dtype=np.int64)


def random_states(task: Task, count: int) -> States:
    states = np.tile(np.array(task.initial_state.values, dtype=np.int32), (count, 1))
    random = np.random.default_rng(count)
    for _ in range(8):
        offsets, operators = task.applicable_batch(states)
        states = task.apply_batch(states, operators[random.integers(offsets[:-1], offsets[1:])])
    return states


def test_answers_come_back() -> None:
    served = opened(client_of("cpu"))
    for count in (1, 5, 400_000, 7):  # the third one needs a larger block
        states, offsets = rows(count)
        reply = served.ask(states, offsets)
        assert np.array_equal(reply.columns[0], standin(states))


def test_many_clients_at_once_get_their_own_answers() -> None:
    clients = [Client("cpu") for _ in range(8)]
    wrong = []

    def ask(number: int) -> None:
        served = opened(clients[number], salt=number % 3)
        for turn in range(20):
            states, offsets = rows(1 + number * turn, number * 100 + turn)
            offsets = np.array([0, *offsets[1:]], dtype=np.int64)
            found = served.ask(states, offsets, alone=True).columns[0]
            if not np.array_equal(found, standin(states, number % 3)):
                wrong.append((number, turn))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for client in clients:
        client.close()
    assert not wrong


def test_what_arrives_together_is_evaluated_together() -> None:
    first, others = Client("cpu"), [Client("cpu") for _ in range(3)]
    busy = opened(first, seconds=1.0)
    served = [opened(client, salt=1) for client in others]
    sizes: list[float] = []
    waiting = threading.Thread(target=lambda: busy.ask(*rows(1)))
    waiting.start()
    time.sleep(0.3)
    asking = [
        threading.Thread(target=lambda own=own: sizes.append(own.ask(*rows(10)).columns[1, 0]))
        for own in served
    ]
    for thread in asking:
        thread.start()
    for thread in (waiting, *asking):
        thread.join(30)
    for client in (first, *others):
        client.close()
    assert sizes == [30.0] * 3


def test_models_of_one_family_share_a_batch() -> None:
    first, others = Client("cpu"), [Client("cpu") for _ in range(2)]
    busy = opened(first, seconds=1.0)
    served = [opened(own, width=3, salt=n, family="one") for n, own in enumerate(others)]
    found: dict[int, NDArray[np.float64]] = {}
    threads = [threading.Thread(target=lambda: busy.ask(*rows(1)))]
    threads[0].start()
    time.sleep(0.3)
    for number in range(2):

        def ask(number: int = number) -> None:
            found[number] = served[number].ask(*rows(10 + number)).columns

        threads.append(threading.Thread(target=ask))
        threads[-1].start()
    for thread in threads:
        thread.join(30)
    for client in (first, *others):
        client.close()
    for number in (0, 1):
        assert np.array_equal(found[number][0], standin(rows(10 + number)[0], number))
        assert set(found[number][1]) == {21.0}


@pytest.mark.parametrize("name", ["transport-2", "blocksworld-4", "ferry-3"])
def test_decisions_do_not_depend_on_the_company(name: str) -> None:
    """The stand-in rounds differently in each batch, and most decisions are close to ties."""
    task = small_task(name)
    states = random_states(task, 200)
    local, served = StandinPolicy(task, served=False), StandinPolicy(task, served=True)
    expected = np.concatenate([local.decide(states[[row]]).operators for row in range(200)])
    assert np.array_equal(served.decide(states).operators, expected)
    for size in (1, 3, 64):
        parts = [served.decide(states[i : i + size]).operators for i in range(0, 200, size)]
        assert np.array_equal(np.concatenate(parts), expected)


def test_the_stand_in_would_show_decisions_that_depend_on_the_company(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from misstep.policies.gnn import policy

    monkeypatch.setattr(policy, "NOISE", 0.0)  # so that nothing is asked again alone
    task = small_task("transport-2")
    states = random_states(task, 200)
    served = StandinPolicy(task, served=True)
    alone = np.concatenate([served.decide(states[[row]]).operators for row in range(200)])
    assert not np.array_equal(served.decide(states).operators, alone)


# -- ends -------------------------------------------------------------------------------------------


def test_the_service_ends_with_its_last_client(ends: Ends) -> None:
    one, two = Client("cpu"), Client("cpu")
    pid = opened(one).about["pid"]
    assert opened(two).about["pid"] == pid != os.getpid()
    one.close()
    served = opened(two, salt=1)
    assert served.about["pid"] == pid
    two.close()
    assert ends(pid)


def test_the_service_ends_even_where_the_device_hangs(ends: Ends) -> None:
    client = Client("cpu")
    served = opened(client, seconds=1000)
    with pytest.raises(OutOfTime), Alarm(0.3):
        served.ask(*rows(1))
    assert ends(served.about["pid"])


def test_a_service_that_died_is_started_again_and_asked_the_same(tmp_path: Path) -> None:
    client = client_of("cpu")
    served = opened(client, once=str(tmp_path / "mark"))
    before = served.about["pid"]
    states, offsets = rows(50)
    assert np.array_equal(served.ask(states, offsets).columns[0], standin(states))
    assert served.about["pid"] != before
    os.kill(served.about["pid"], signal.SIGKILL)
    assert np.array_equal(served.ask(states, offsets).columns[0], standin(states))


def test_a_question_that_ends_every_service_is_named() -> None:
    served = opened(client_of("cpu"), deadly=True)
    with pytest.raises(PolicyAwayError, match=r"ended 3 times.*the device is on fire"):
        served.ask(*rows(1))


def test_a_service_that_asks_itself_neither_hangs_nor_stays(ends: Ends) -> None:
    other = Client("cpu")
    pid = opened(other).about["pid"]
    with pytest.raises(PolicyAwayError, match="ended 3 times"):
        opened(client_of("cpu"), asks_itself=True)
    other.close()
    client_of("cpu").close()
    assert ends(pid)


_WORKER = """
import sys, numpy as np
sys.path[:0] = {path!r}
from misstep.policies.service.client import client_of
from support.served import opened
served = opened(client_of("cpu"), seconds={seconds})
print("ready", flush=True)
served.ask(np.zeros((200_000, 3), dtype=np.int32), np.array([0, 200_000]))
"""


def blocks_of(pid: int) -> int:
    return Path(f"/proc/{pid}/maps").read_text().count("memfd:misstep")


def test_a_dead_worker_takes_its_questions_and_its_memory_along() -> None:
    client = client_of("cpu")
    served = opened(client)
    served.ask(*rows(5))
    pid = served.about["pid"]
    before = blocks_of(pid)
    code = _WORKER.format(path=sys.path, seconds=0.5)
    workers = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(3)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"ready\n"
    time.sleep(0.2)  # their questions are under way or wait
    assert blocks_of(pid) > before
    for worker in workers:
        worker.kill()
        worker.communicate()
    states, offsets = rows(5)
    assert np.array_equal(served.ask(states, offsets).columns[0], standin(states))
    deadline = time.monotonic() + 20
    while blocks_of(pid) > before and time.monotonic() < deadline:
        served.ask(states, offsets)
    assert blocks_of(pid) == before
    assert served.about["pid"] == pid


def test_an_interrupted_question_does_not_answer_the_next_one() -> None:
    client = client_of("cpu")
    other = Client("cpu")  # so that the service goes on
    opened(other)
    slow, quick = opened(client, seconds=0.5), opened(client, salt=4)
    with pytest.raises(OutOfTime), Alarm(0.1):
        slow.ask(*rows(5))
    states, offsets = rows(8)
    assert np.array_equal(quick.ask(states, offsets).columns[0], standin(states, 4))
    other.close()


def test_a_fork_asks_by_itself() -> None:
    served = opened(client_of("cpu"))
    served.ask(*rows(1))
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            states, offsets = rows(9)
            found = opened(client_of("cpu")).ask(states, offsets).columns[0]
            code = 0 if np.array_equal(found, standin(states)) else 2
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    states, offsets = rows(3)
    assert np.array_equal(served.ask(states, offsets).columns[0], standin(states))


def test_a_model_that_was_opened_before_a_fork_answers_both() -> None:
    """Each gets its own answers, also where both ask at the same time."""
    served = opened(client_of("cpu"), seconds=0.002)
    served.ask(*rows(1))
    pid = os.fork()
    wrong = 0
    try:
        for count in range(40):
            # Sizes that both layouts share, and states that differ.
            states, offsets = rows(count % 5 + 1)
            states = states + (pid == 0)
            found = served.ask(states, offsets).columns[0]
            wrong += not np.allclose(found, standin(states), atol=NOISE)
    finally:
        if pid == 0:
            os._exit(1 if wrong else 0)
    assert os.waitpid(pid, 0)[1] == 0
    assert wrong == 0


def test_another_code_has_another_service(monkeypatch: pytest.MonkeyPatch) -> None:
    before = address.place("cpu")
    other = identity()._replace(code="edited")
    monkeypatch.setattr(address, "identity", lambda: other)
    assert address.place("cpu") != before


# -- errors -----------------------------------------------------------------------------------------


def test_errors_keep_their_words() -> None:
    with pytest.raises(UnsupportedError) as caught:
        opened(client_of("cpu"), refuse="this network is too old")
    assert (caught.value.what, caught.value.where) == ("this network is too old", "here")
    assert caught.value.hint == "do not"


def test_one_bad_question_does_not_condemn_the_others() -> None:
    good, bad = Client("cpu"), Client("cpu")
    served = [opened(client, fails_at=8, seconds=0.3) for client in (good, bad)]
    states = np.zeros((4, 3), dtype=np.int32)
    offsets = np.array([0, 4])
    found: list[object] = []

    def ask() -> None:
        for _ in range(4):
            found.append(served[0].ask(states, offsets))

    thread = threading.Thread(target=ask)
    thread.start()
    for _ in range(3):
        with pytest.raises(ToolError, match="this state is too much"):
            served[1].ask(states + 8, offsets)
    thread.join(30)
    assert len(found) == 4
    good.close()
    bad.close()


def test_a_folder_that_others_may_enter_is_closed(place: Path) -> None:
    own = place / f"misstep-{os.getuid()}"
    own.mkdir(mode=0o777)
    own.chmod(0o777)
    assert folder() == own
    assert own.stat().st_mode & 0o777 == 0o700


def test_no_place_for_the_socket(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    own = place / f"misstep-{os.getuid()}"
    own.symlink_to("/")  # somebody else's trap
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(place))
    assert folder().parent == Path("/tmp")


# -- who uses it ------------------------------------------------------------------------------------


def test_who_uses_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not service.wanted("cuda")
    with service.sharing():
        assert service.wanted("cuda")
        assert service.wanted("cuda:1")
        assert not service.wanted("cpu")
        monkeypatch.setenv(service.VARIABLE, "off")
        assert not service.wanted("cuda")
    with service.sharing(False):
        assert not service.wanted("cuda")
    monkeypatch.setenv(service.VARIABLE, "on")
    assert service.wanted("cpu")
    monkeypatch.setenv(service.VARIABLE, "perhaps")
    with pytest.raises(UsageError, match="MISSTEP_SERVICE is 'perhaps'; expected auto, on, off"):
        service.wanted("cpu")
