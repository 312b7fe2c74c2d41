"""On a dask worker: the processes that do the work, and the report about one that ends.

Each thread of the worker that has a job gets a process of the session and the role of the job: an idle one or a new
one. The system ends a process with the thread that started it, so a separate thread starts all of them. Processes of a
session that have not been used for some time are ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic
from typing import IO

import misstep
from misstep.campaigns.cluster.child import DONE, NEED, NO_MEMORY
from misstep.campaigns.cluster.jobs import Answer, Died, Done, Late, NoMemory, Refused, Ticket
from misstep.campaigns.process import OVERDUE, hash_seed
from misstep.files import reason
from misstep.kept import NOT_FROM_HERE
from misstep.versions import identity

IDLE = 300.0  # seconds after which an unused process is ended
WORDS = 2000  # letters of the last words
GRACE = 2.0  # seconds to end by itself
_MAIN = (
    f"{NOT_FROM_HERE}import json, sys; fd, path = json.loads(sys.argv[1]); sys.path[:0] = path; "
    "from misstep.campaigns.cluster.child import main; main(fd)"
)
Key = tuple[str, int, int | None]  # session, role, memory limit


@dataclass
class Child:
    """A process, with its connection, a folder for files, and its last words so far."""

    process: subprocess.Popen[bytes]
    connection: Connection
    key: Key
    folder: str
    words: deque[bytes] = field(default_factory=lambda: deque(maxlen=40))
    idle_since: float = 0.0
    alive: bool = True

    def do(self, ticket: Ticket, body: bytes, blobs: dict[str, bytes]) -> Answer:
        end = None if ticket.seconds is None else monotonic() + max(ticket.seconds, 0) + 2 * OVERDUE
        try:
            self.connection.send((ticket.entry, body, ticket.needs, ticket.seconds))
            while True:
                if not self.connection.poll(None if end is None else max(0.0, end - monotonic())):
                    self.end()
                    return Late()
                kind, content = self.connection.recv()
                if kind == NEED:
                    self.connection.send([blobs[digest] for digest in content])
                elif kind == NO_MEMORY:
                    self.end()  # its state is unknown
                    return NoMemory()
                else:
                    assert kind == DONE
                    return Done(content)
        except (EOFError, OSError):
            return self._died()

    def _died(self) -> Died:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        code = self.process.poll()
        self.end()
        if code is None:
            how = "it closed its connection"
        elif code < 0:
            how = f"signal {-code}" + (" (out of memory?)" if -code == signal.SIGKILL else "")
        else:
            how = f"exit code {code}"
        words = b"".join(self.words).decode(errors="replace").strip()
        return Died(how, words[-WORDS:])

    def end(self) -> None:
        """An idle process ends when its connection closes, and closes its policy."""
        self.alive = False
        self.connection.close()
        if self.idle_since:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE)
        if self.process.poll() is None:
            self.process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        shutil.rmtree(self.folder, ignore_errors=True)


class Home:
    """All processes of this worker."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[Key, list[Child]] = {}
        self._busy: list[Child] = []
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="misstep-starter")
        # A coordinator that was killed releases nothing.
        threading.Thread(target=self._always_tidy, daemon=True).start()

    def _always_tidy(self) -> None:
        while not threading.Event().wait(IDLE / 10):
            self.tidy()

    def take(self, key: Key) -> Child:
        with self._lock:
            waiting = self._idle.get(key)
            child = waiting.pop() if waiting else None
        if child is None or child.process.poll() is not None:
            child = self._starter.submit(start, key).result()
        child.idle_since = 0.0
        with self._lock:
            self._busy.append(child)
        return child

    def give_back(self, child: Child) -> None:
        with self._lock:
            self._busy.remove(child)
            if child.alive:
                child.idle_since = monotonic()
                self._idle.setdefault(child.key, []).append(child)
        self.tidy()

    def tidy(self) -> None:
        """End processes that have not been used for some time."""
        old = []
        with self._lock:
            for waiting in self._idle.values():
                for child in [c for c in waiting if monotonic() - c.idle_since > IDLE]:
                    waiting.remove(child)
                    old.append(child)
        for child in old:
            child.end()

    def end_session(self, session: str) -> None:
        with self._lock:
            ended = [c for key in self._idle if key[0] == session for c in self._idle[key]]
            self._idle = {key: own for key, own in self._idle.items() if key[0] != session}
            busy = [child for child in self._busy if child.key[0] == session]
        for child in busy:
            child.process.kill()  # the thread that waits for it finds out
        for child in ended:
            child.end()


_HOME: Home | None = None
_FIRST = threading.Lock()


def home() -> Home:
    global _HOME
    with _FIRST:
        if _HOME is None:
            _HOME = Home()
        return _HOME


def start(key: Key) -> Child:
    """A new interpreter with the paths of this one; its standard error is kept for the last words."""
    _, role, memory_mb = key
    folder = tempfile.mkdtemp(prefix="misstep-worker-")
    ours, theirs = socket.socketpair()
    root = str(Path(misstep.__file__).parents[1])
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", _MAIN, json.dumps([theirs.fileno(), [root, *sys.path]])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONHASHSEED": hash_seed(role)},
        )
    child = Child(process, Connection(ours.detach()), key, folder)
    assert process.stderr is not None
    threading.Thread(target=_listen, args=(process.stderr, child.words), daemon=True).start()
    with contextlib.suppress(OSError):  # it has ended, which the first job finds out
        child.connection.send((memory_mb, os.getpid(), folder))
    return child


def _listen(stream: IO[bytes], words: deque[bytes]) -> None:
    with stream:
        for line in stream:
            words.append(line[-WORDS:])


def do_jobs(
    jobs: Sequence[tuple[Ticket, bytes]], digests: Sequence[str], *blobs: bytes
) -> list[tuple[Answer, float]]:
    """Called by dask in a thread of the worker: returns the answers, and the seconds that each took.

    The time that a job has waited here for earlier ones is deducted from its limit.
    """
    known = dict(zip(digests, blobs, strict=True))
    answers = []
    began = last = monotonic()
    for ticket, body in jobs:
        seconds = None if ticket.seconds is None else ticket.seconds - (last - began)
        own = [known[digest] for digest in ticket.needs]
        answer = do_job(replace(ticket, seconds=seconds), body, *own)
        now = monotonic()
        answers.append((answer, now - last))
        last = now
    return answers


def do_job(ticket: Ticket, body: bytes, *blobs: bytes) -> Answer:
    """Does one job, in a process of its session and role."""
    own = identity()
    if own.code != ticket.code:
        return Refused(str(own), _address())
    place = home()
    try:
        child = place.take((ticket.session, ticket.role, ticket.memory_mb))
    except OSError as error:  # no more processes, files or disk: another worker may have them
        return Died(f"no process could be started: {reason(error)}", "", _address())
    try:
        answer = child.do(ticket, body, dict(zip(ticket.needs, blobs, strict=True)))
    finally:
        place.give_back(child)
    return replace(answer, worker=_address()) if isinstance(answer, Died) else answer


def keep(content: bytes) -> bytes:
    """Larger data as a task of its own, so that dask makes it again if its worker was lost."""
    return content


def end_session(session: str) -> None:
    if _HOME is not None:
        _HOME.end_session(session)


def _address() -> str:
    try:
        from distributed import get_worker

        return str(get_worker().address)
    except (ImportError, ValueError):
        return ""  # not on a worker


__all__ = ["Child", "Home", "do_job", "do_jobs", "end_session", "home", "keep", "start"]
