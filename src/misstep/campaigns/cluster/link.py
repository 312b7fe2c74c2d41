"""The connection to a scheduler: which workers may be used, and how jobs end.

Workers may join and leave at any time. A worker without Misstep, or with another version, is not used and is reported.
If a worker is lost, dask itself repeats its job elsewhere. A job whose process ends is given to another worker; after
three such ends the job fails with the last output of the process. Lost workers count less, because machines are lost
for reasons that have nothing to do with their jobs: a job fails only after twenty of them.
"""

from __future__ import annotations

import contextlib
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import Any

from misstep.campaigns.cluster import host
from misstep.campaigns.cluster.jobs import Answer, Blob, Died, Late, Refused, Ticket
from misstep.campaigns.cluster.parcels import Job, Pace, Parcel
from misstep.errors import MisstepError, ToolError
from misstep.raised import in_words
from misstep.versions import Identity, identity

STRIKES = 3  # ends of a process before a job is given up
LOSSES = 20  # workers that were lost with a job, running or next in turn, before it is given up
LOOK = 2.0  # seconds between two checks of the workers
RECONNECT = 15.0  # seconds for a scheduler to come back
ASK = 10.0  # seconds for a new worker to say what it has, and for the scheduler to name its workers
SILENT = 60.0  # seconds without an answer of the scheduler, after which it counts as gone
PART = 3.0  # seconds for workers to hear that the work is over; a lost one must not hold up the end
PATIENCE = 5.0  # seconds before it is said that there are no workers yet
FETCH = 60.0  # seconds for a result to arrive
AHEAD = 2  # jobs sent for each thread of a worker, so that the next one is there when one ends
OVERDUE = 10.0  # seconds after the limit of a job, for an answer that never comes

Note = Callable[[str], None]


def lacks_misstep(error: BaseException) -> bool:
    """Whether an answer says that our functions are unknown there; dask passes some errors on as text."""
    if isinstance(error, (ImportError, AttributeError)):
        return True
    return any(
        name in str(error) for name in ("ModuleNotFoundError", "ImportError", "AttributeError")
    )


@dataclass(frozen=True)
class GivenUp:
    """A job that ended its processes too often."""

    ends: int
    how: str
    words: str

    def __str__(self) -> str:
        said = f"; its last words: {self.words}" if self.words else ""
        return f"it ended {self.ends} processes ({self.how}){said}"


class Link:
    """Jobs of one session on the workers of one scheduler."""

    def __init__(self, client: Any, where: str, note: Note, close: Callable[[], None]) -> None:
        self.where = where
        self.gathers = False  # whether short jobs are sent together; then every given job is needed
        self.session = uuid.uuid4().hex
        self._client = client
        self._note = note
        self._close = close
        self._good: dict[str, int] = {}  # workers that may be used -> threads
        self._bad: dict[str, str] = {}  # the others -> what they have
        self._looked = 0.0
        self._heard = monotonic()  # when the scheduler answered last
        self._jobs: dict[int, Job] = {}
        self._waiting: list[Job] = []  # of these, those that are not under way yet
        self._parcels: set[Parcel] = set()  # under way
        self._pace = Pace()
        self._count = 0
        self._ended: SimpleQueue[tuple[Parcel, Any]] = SimpleQueue()
        self._answers: deque[tuple[int, Answer | GivenUp]] = deque()
        self._kept: dict[str, Any] = {}  # digest -> future of a larger thing

    # -- workers ----------------------------------------------------------------------------------

    @property
    def threads(self) -> int:
        """The threads of all workers that may be used."""
        self.look()
        return sum(self._good.values())

    @property
    def free(self) -> int:
        """How many jobs may be given now."""
        return AHEAD * max(1, self.threads) * self._size - len(self._jobs)

    @property
    def idle(self) -> bool:
        """Whether a worker may soon be idle, however short the jobs are."""
        return len(self._jobs) < AHEAD * max(1, self.threads)

    @property
    def _size(self) -> int:
        return self._pace.size if self.gathers else 1

    def look(self, *, now: bool = False) -> None:
        """Update the list of workers, and ask new ones for their version."""
        if not now and monotonic() - self._looked < LOOK:
            return
        self._looked = monotonic()
        try:
            # Not `scheduler_info`, which would wait for ever for a scheduler that is there and does not answer.
            ask = self._client.scheduler.identity
            found = self._client.sync(ask, n_workers=-1, callback_timeout=ASK)["workers"]
        except TimeoutError:
            if monotonic() - self._heard > SILENT:
                raise self._gone(TimeoutError(f"it has not answered for {SILENT:g} s")) from None
            return
        except Exception:
            return  # a lost scheduler is noticed when waiting for jobs
        self._heard = monotonic()
        threads = {address: int(own["nthreads"]) for address, own in found.items()}
        fresh = [own for own in threads if own not in self._good and own not in self._bad]
        for address in fresh:
            self._judge(address, self._ask(address))
        self._good = {own: threads[own] for own in threads if own not in self._bad}
        self._bad = {own: what for own, what in self._bad.items() if own in threads}

    def _ask(self, address: str) -> object:
        try:
            found = self._client.run(
                identity, workers=[address], on_error="return", callback_timeout=ASK
            )
        except Exception as error:
            return error
        return found.get(address)

    def _judge(self, address: str, answer: object) -> None:
        ours = identity()
        if isinstance(answer, Identity) and answer.code == ours.code:
            return
        if isinstance(answer, Identity):
            self._refuse(address, f"has {answer}")
        elif isinstance(answer, BaseException) and lacks_misstep(answer):
            self._refuse(address, f"has no Misstep like this one ({answer})")
        # Else it has gone meanwhile, and comes back under another address.

    def _refuse(self, address: str, what: str) -> None:
        if address not in self._bad:
            self._bad[address] = what
            self._good.pop(address, None)
            self._note(f"the worker {address} {what} and is not used; here is {identity()}")

    def require_workers(self, seconds: float | None) -> None:
        """Wait for a worker that may be used."""
        began, said = monotonic(), False
        while True:
            self.look(now=True)
            if self._good:
                return
            if self._bad:
                address, what = next(iter(self._bad.items()))
                raise ToolError(
                    f"no worker of the cluster can be used: {address} {what}",
                    where=self.where,
                    expected=f"{identity()} on all workers",
                    hint="install the same version there, and start the workers again",
                )
            if seconds is not None and monotonic() - began > seconds:
                raise ToolError(
                    f"the scheduler has no workers after {seconds:g} seconds",
                    where=self.where,
                    hint=f"start some: dask worker {self._client.scheduler.address}",
                )
            if not said and monotonic() - began > PATIENCE:
                said = True
                self._note("waiting for workers")
            sleep(0.2)  # and not for jobs to end: what `next` has not seen must not get lost here

    # -- jobs -------------------------------------------------------------------------------------

    def submit(
        self,
        entry: str,
        body: bytes,
        blobs: Collection[Blob] = (),
        *,
        role: int = 0,
        seconds: float | None = None,
        memory_mb: int | None = None,
        priority: float = 0.0,
    ) -> int:
        """Give a job to the cluster; returns the number with which `next` returns its answer."""
        self._count += 1
        needs = tuple(blob.digest for blob in blobs)
        ticket = Ticket(self.session, role, identity().code, entry, needs, seconds, memory_mb)
        end = None if seconds is None else monotonic() + max(seconds, 0) + OVERDUE
        job = Job(self._count, ticket, body, tuple(blobs), end, priority)
        self._jobs[job.name] = job
        if not self.gathers or len(self._parcels) < self.threads:  # a worker is idle
            self._send([job])
        else:
            self._waiting.append(job)
        return job.name

    def _hand_out(self) -> None:
        """Send waiting jobs: full parcels while there are more to come, otherwise all that are left."""
        size = self._size
        if self.free > 0:
            places = max(1, AHEAD * max(1, self.threads) - len(self._parcels))
            size = min(size, -(-len(self._waiting) // places))
        while self._waiting and (
            len(self._waiting) >= size or self.free > 0 or len(self._parcels) < self.threads
        ):
            own, self._waiting = self._waiting[:size], self._waiting[size:]
            self._send(own)

    def _send(self, jobs: list[Job]) -> None:
        parcel = Parcel(jobs)
        needed = {blob.digest: blob for job in jobs for blob in job.blobs}
        blobs = [self._keep(blob) for blob in needed.values()]
        where = self._places(jobs[0])
        key = f"misstep-unit-{self.session}-{jobs[0].name}-{uuid.uuid4().hex[:8]}"
        try:
            parcel.future = self._client.submit(
                host.do_jobs,
                [(job.ticket, job.body) for job in jobs],
                tuple(needed),
                *blobs,
                key=key,
                pure=False,
                priority=max(job.priority for job in jobs),
                **where,
            )
        except Exception as error:
            raise self._gone(error) from error
        for job in jobs:
            job.parcel = parcel
        self._parcels.add(parcel)
        ended = self._ended
        parcel.future.add_done_callback(lambda future: ended.put((parcel, future)))

    def _places(self, job: Job) -> Mapping[str, object]:
        """The workers for a job: not those where it ended a process, if there are others; never a refused one."""
        tried = {death.worker for death in job.deaths}
        others = [own for own in self._good if own not in tried]
        if tried and others:
            return {"workers": others, "allow_other_workers": not self._bad}
        return {"workers": list(self._good)} if self._bad and self._good else {}

    def _keep(self, blob: Blob) -> Any:
        """Larger data, which dask moves once to each worker that needs it."""
        future = self._kept.get(blob.digest)
        if future is None or future.status in ("cancelled", "lost", "error"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it is large
                # A new key: dask remembers that it could not make one.
                key = f"misstep-blob-{blob.digest}-{uuid.uuid4().hex[:8]}"
                future = self._client.submit(host.keep, blob.content, key=key, pure=False)
            self._kept[blob.digest] = future
        return future

    def release(self, digest: str) -> None:
        """This larger data is no longer needed."""
        self._kept.pop(digest, None)

    @property
    def has_answers(self) -> bool:
        """Whether `next` can return at once, with other jobs of a parcel that has ended."""
        return bool(self._answers)

    def next(self) -> tuple[int, Answer | GivenUp]:
        """Wait for a job to end."""
        while not self._answers:
            self._hand_out()
            try:
                parcel, future = self._ended.get(timeout=self._patience())
            except Empty:
                self._give_up_overdue()
                self.look()
                continue
            self._parcels.discard(parcel)
            # A job may have been given up meanwhile.
            jobs = [job for job in parcel.jobs if self._jobs.get(job.name) is job]
            if jobs:
                self._arrived(jobs, parcel, future)
        number, answer = self._answers.popleft()
        return number, answer

    def forget(self, number: int) -> None:
        """The job is no longer needed. If it is running, its result is dropped."""
        job = self._jobs.pop(number, None)
        if job is None:  # it has ended, and its answer may lie here
            self._answers = deque(own for own in self._answers if own[0] != number)
            return
        if job in self._waiting:
            self._waiting.remove(job)
        parcel = job.parcel
        if parcel is not None and not any(own.name in self._jobs for own in parcel.jobs):
            self._parcels.discard(parcel)
            with contextlib.suppress(Exception):
                parcel.future.cancel()

    def _patience(self) -> float:
        ends = [job.end for job in self._jobs.values() if job.end is not None]
        return max(0.0, min([LOOK, *(end - monotonic() for end in ends)]))

    def _give_up_overdue(self) -> None:
        """Jobs whose time is up, also in a queue or on a machine that does not answer."""
        for name, job in list(self._jobs.items()):
            if job.end is not None and monotonic() > job.end:
                self.forget(name)
                self._answers.append((name, Late()))

    def _arrived(self, jobs: list[Job], parcel: Parcel, future: Any) -> None:
        """The answers of these jobs of a parcel, unless they were sent again."""
        status = future.status
        if status in ("cancelled", "lost"):
            self._require_scheduler()
            self._kept.clear()
            self._send_each(jobs)
            return
        if status == "error":
            self._failed(jobs, future)
            return
        try:
            found: object = future.result(timeout=FETCH)
        except Exception:  # the worker was lost between the end of the job and our question
            self._require_scheduler()
            self._send_each(jobs)
            return
        for job, (answer, seconds) in zip(parcel.jobs, self._checked(found, parcel), strict=True):
            if job not in jobs:
                continue
            if isinstance(answer, Refused):
                self._refuse(answer.worker, f"has {answer.version}")
                self.require_workers(RECONNECT)
                self._send([job])
            elif isinstance(answer, Died):
                self._strike(job, answer)
            else:
                self._pace.see(seconds)
                self._end(job, answer)

    def _checked(self, found: object, parcel: Parcel) -> list[tuple[Answer, float]]:
        """One answer and its time for each job; anything else is an error of the cluster."""
        if isinstance(found, list) and len(found) == len(parcel.jobs):
            pairs = [own for own in found if isinstance(own, tuple) and len(own) == 2]
            if len(pairs) == len(found) and all(
                isinstance(answer, Answer) and type(seconds) in (int, float)
                for answer, seconds in pairs
            ):
                return pairs
        raise ToolError("the answer of a worker is not one of ours", where=self.where)

    def _end(self, job: Job, answer: Answer | GivenUp) -> None:
        del self._jobs[job.name]
        self._answers.append((job.name, answer))

    def _send_each(self, jobs: list[Job]) -> None:
        """Send each one alone: one of them may be the cause."""
        for job in jobs:
            self._send([job])

    def _failed(self, jobs: list[Job], future: Any) -> None:
        from distributed.scheduler import KilledWorker

        error = future.exception(timeout=FETCH)
        if isinstance(error, KilledWorker):
            for job in jobs:
                self._loss(job, error.allowed_failures + 1)
        elif lacks_misstep(error):  # a new worker without Misstep
            self.look(now=True)
            self.require_workers(RECONNECT)
            for job in jobs:
                self._strike(job, Died(f"a worker cannot do it: {error}", ""))
        else:
            raise MisstepError(
                f"internal error on a worker: {in_words(error)}",
                where=self.where,
                hint="please report it, with the output of the same command and --jobs 1 --debug",
            )

    def _loss(self, job: Job, workers: int) -> None:
        """Count workers that were lost while they had the job."""
        job.losses += workers
        if job.losses >= LOSSES:
            self._end(job, GivenUp(job.losses, "whole workers were lost with it", ""))
        else:
            self._send([job])

    def _strike(self, job: Job, death: Died) -> None:
        job.deaths.append(death)
        if len(job.deaths) >= STRIKES:
            how = "; ".join(dict.fromkeys(own.how for own in job.deaths))
            words = next((own.words for own in reversed(job.deaths) if own.words), "")
            self._end(job, GivenUp(len(job.deaths), how, words))
        else:
            self._send([job])

    # -- the scheduler ----------------------------------------------------------------------------

    def _require_scheduler(self) -> None:
        """An error if it is away and does not come back."""
        end = monotonic() + RECONNECT
        while self._client.status in ("connecting", "newly-created") and monotonic() < end:
            sleep(0.1)
        if self._client.status != "running":
            raise self._gone()
        self.look(now=True)

    def _gone(self, error: Exception | None = None) -> ToolError:
        why = "" if error is None else f" ({error})"
        return ToolError(
            f"the scheduler has gone away{why:.200}",
            where=self.where,
            hint="what is stored is kept: the same command with --resume continues, also on another cluster",
        )

    def close(self) -> None:
        """End all work at once."""
        with contextlib.suppress(Exception):
            self._client.cancel([parcel.future for parcel in self._parcels], force=True)
        if self._client.status == "running" and self._good:
            with contextlib.suppress(Exception):
                self._client.run(
                    host.end_session,
                    self.session,
                    workers=list(self._good),
                    on_error="ignore",
                    callback_timeout=PART,
                )
        self._jobs.clear()
        self._waiting.clear()
        self._parcels.clear()
        self._kept.clear()
        with contextlib.suppress(Exception):
            self._client.close(timeout=2)
        self._close()


__all__ = ["GivenUp", "Link", "Note", "lacks_misstep"]
