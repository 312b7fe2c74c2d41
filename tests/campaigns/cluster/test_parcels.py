"""Several short jobs are sent as one task of dask: how many they are, and the result of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from misstep.campaigns.cluster import host
from misstep.campaigns.cluster.coordinator import Cluster
from misstep.campaigns.cluster.jobs import Answer, Died, Done, Late, Ticket, packed
from misstep.campaigns.cluster.link import STRIKES, GivenUp, Link
from misstep.campaigns.cluster.parcels import MOST, TOGETHER, Pace
from misstep.campaigns.engine import ANY
from misstep.campaigns.settings import Settings
from misstep.campaigns.workers import Worker
from misstep.versions import identity

Found = list[tuple[Answer, float]]


class Future:
    """A task of dask that ends when the test says so."""

    def __init__(self, jobs: Sequence[tuple[Ticket, bytes]]) -> None:
        self.jobs = list(jobs)
        self.status = "pending"
        self.found: Found = []
        self.cancelled = False
        self.error: Exception | None = None
        self._told: Callable[[Any], None] = print

    def add_done_callback(self, call: Callable[[Any], None]) -> None:
        self._told = call

    def end(
        self, seconds: float = 0.01, status: str = "finished", died: Sequence[bytes] = ()
    ) -> None:
        self.status = status
        self.found = [
            (Died("signal 9", "", "w") if body in died else Done(body), seconds)
            for _, body in self.jobs
        ]
        self._told(self)

    def result(self, timeout: float) -> Found:  # noqa: ARG002
        return self.found

    def exception(self, timeout: float) -> Exception | None:  # noqa: ARG002
        return self.error

    def cancel(self) -> None:
        self.cancelled = True

    @property
    def bodies(self) -> list[bytes]:
        return [body for _, body in self.jobs]


class Client:
    """A scheduler with two workers of one thread."""

    status = "running"

    def __init__(self) -> None:
        self.futures: list[Future] = []

    @property
    def scheduler(self) -> Client:
        return self

    def sync(self, function: Callable[..., Any], callback_timeout: float, **how: object) -> Any:  # noqa: ARG002
        return function(**how)

    def identity(self, n_workers: int) -> Any:  # noqa: ARG002
        return {"workers": {name: {"nthreads": 1} for name in ("tcp://a", "tcp://b")}}

    def run(self, _: object, workers: Sequence[str], on_error: str, **_more: object) -> Any:  # noqa: ARG002
        return dict.fromkeys(workers, identity())

    def submit(self, function: object, *arguments: Any, **_: object) -> Future:
        assert function is host.do_jobs
        self.futures.append(Future(arguments[0]))
        return self.futures[-1]


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture
def link(client: Client) -> Link:
    made = Link(client, "a test", lambda _: None, lambda: None)
    made.look(now=True)
    made.gathers = True
    return made


def give(link: Link, count: int) -> list[int]:
    return [link.submit("x:y", f"{number}".encode()) for number in range(count)]


def learn(link: Link, client: Client, seconds: float) -> None:
    """Report one job that took the given time."""
    link.submit("x:y", b"first")
    client.futures.pop().end(seconds)
    link.next()


def test_how_many_jobs_are_sent_together() -> None:
    pace = Pace()
    assert pace.size == 1  # nothing is known yet
    pace.see(TOGETHER / 4)
    assert pace.size == 4
    for _ in range(50):
        pace.see(10.0)
    assert pace.size == 1
    for _ in range(50):
        pace.see(0.0)
    assert pace.size == MOST


def test_full_parcels_while_there_is_more_to_come(link: Link, client: Client) -> None:
    learn(link, client, TOGETHER / 4)
    assert link.free == 2 * 2 * 4
    given = give(link, link.free)
    assert [len(own.jobs) for own in client.futures] == [1, 1]  # both workers have something to do
    client.futures[0].end(TOGETHER / 4)
    number, answer = link.next()
    assert (number, answer) == (given[0], Done(b"0"))
    # What waited was sent in full parcels, and the rest waits for more.
    assert [len(own.jobs) for own in client.futures] == [1, 1, 4, 4, 4]
    assert [body for own in client.futures for body in own.bodies] == [
        f"{n}".encode() for n in range(14)
    ]


def test_short_jobs_make_room_for_units_but_not_for_other_tasks(link: Link, client: Client) -> None:
    learn(link, client, TOGETHER / 4)
    worker = Worker(Settings(), "first")
    workers = Cluster(link, worker, {})
    give(link, 3)
    assert workers.takes(ANY)
    give(link, 1)
    assert not workers.takes(ANY)
    assert workers.takes(replace(ANY, task="a task"))


def test_the_last_ones_are_spread_over_all_workers(link: Link, client: Client) -> None:
    learn(link, client, TOGETHER / 4)
    give(link, 6)
    client.futures[0].end()
    link.next()
    assert [len(own.jobs) for own in client.futures] == [1, 1, 2, 2]


def test_a_job_that_ends_its_process_is_sent_alone_and_the_others_are_answered(
    link: Link, client: Client
) -> None:
    learn(link, client, TOGETHER / 4)
    given = give(link, 6)
    client.futures[0].end()
    assert link.next()[0] == given[0]
    bad = client.futures[2]
    bad.end(died=[b"2"])
    assert link.next() == (given[3], Done(b"3"))
    for again in range(STRIKES - 1):
        assert client.futures[-1].bodies == [b"2"]
        client.futures[-1].end(died=[b"2"])
        if again < STRIKES - 2:
            client.futures[1].end()
            assert link.next() == (given[1], Done(b"1"))
    number, answer = link.next()
    assert number == given[2]
    assert isinstance(answer, GivenUp)
    assert answer.ends == STRIKES


def test_a_parcel_that_is_lost_is_sent_again_job_by_job(link: Link, client: Client) -> None:
    learn(link, client, TOGETHER / 4)
    given = give(link, 6)
    client.futures[0].end()
    link.next()
    client.futures[2].end(status="lost")
    client.futures[1].end()
    found = [link.next()]
    assert [own.bodies for own in client.futures[4:]] == [[b"2"], [b"3"]]
    for own in client.futures[3:]:
        own.end()
    found += [link.next() for _ in range(4)]
    assert sorted(found) == [
        (number, Done(str(place + 1).encode())) for place, number in enumerate(given[1:])
    ]


def test_a_parcel_is_cancelled_when_nobody_waits_for_any_of_it(link: Link, client: Client) -> None:
    learn(link, client, TOGETHER / 4)
    given = give(link, 6)
    client.futures[0].end()
    link.next()
    parcel = client.futures[2]
    link.forget(given[2])
    assert not parcel.cancelled
    link.forget(given[3])
    assert parcel.cancelled


def test_an_answer_that_nobody_waits_for_is_dropped(link: Link, client: Client) -> None:
    learn(link, client, TOGETHER / 4)
    given = give(link, 6)
    client.futures[0].end()
    link.next()
    client.futures[2].end()  # two jobs
    client.futures[3].end()
    assert link.next()[0] == given[2]
    link.forget(given[3])
    assert link.next()[0] == given[4]


def test_without_gathering_every_job_is_a_task(client: Client) -> None:
    link = Link(client, "a test", lambda _: None, lambda: None)
    link.look(now=True)
    learn(link, client, 0.001)
    assert link.free == 4
    give(link, 4)
    assert [len(own.jobs) for own in client.futures] == [1, 1, 1, 1]


def test_jobs_of_a_parcel_share_what_they_need_and_their_time() -> None:
    blob = packed(["large"])
    ticket = Ticket("parcels", 0, identity().code, "support.jobs:echo")
    needy = Ticket("parcels", 0, identity().code, "support.jobs:needy", (blob.digest,))
    slow = Ticket("parcels", 0, identity().code, "support.jobs:sleep", seconds=0.01)
    late = Ticket("parcels", 0, identity().code, "support.jobs:sleep", seconds=0.5)
    jobs = [(ticket, b"hello"), (needy, blob.digest.encode()), (slow, b""), (late, b"")]
    try:
        found = host.do_jobs(jobs, (blob.digest,), blob.content)
    finally:
        host.end_session("parcels")
    assert isinstance(found[0][0], Done)
    assert [own for own, _ in found[1:]] == [Done(b"['large']"), Late(), Late()]
    # The last one has waited for the others longer than it had.
    assert found[3][1] < found[2][1] + 0.5


def test_a_job_that_ends_while_there_are_no_workers_is_not_lost(link: Link, client: Client) -> None:
    """A worker that cannot do a job has gone, and all others with it, when it is looked for."""
    first, second = give(link, 2)
    failed, other = client.futures
    looks: list[None] = []

    def named(n_workers: int) -> Any:  # noqa: ARG001
        looks.append(None)
        if len(looks) == 3:
            other.end()
        return {"workers": {"tcp://c": {"nthreads": 1}} if len(looks) > 4 else {}}

    client.identity = named  # type: ignore[method-assign]
    failed.error = ImportError("no such module")
    failed.end(status="error")
    assert link.next() == (second, Done(other.bodies[0]))
    client.futures[-1].end()
    assert link.next() == (first, Done(failed.bodies[0]))


def test_a_machine_that_starts_no_process_fails_its_jobs_and_not_the_campaign(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(_: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(host, "start", start)
    monkeypatch.setattr(host, "_HOME", None)
    ticket = Ticket("s", 0, identity().code, "x:y", (), None, None)
    found = host.do_jobs([(ticket, b"0"), (ticket, b"1")], ())
    assert [type(answer) for answer, _ in found] == [Died, Died]
    assert "Resource temporarily unavailable" in str(found[0][0])
