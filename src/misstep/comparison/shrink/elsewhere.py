"""Examine candidates on the workers of a cluster.

A candidate needs the examiner (settings, the policy's spec and files, the domain) and the task from which it is cut.
Both are sent once to each worker, by digest; the candidate itself is small. Results are used in the order of the
candidates, so that the outcome and all counts are the same as with one process.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from misstep.campaigns.cluster.address import read_address
from misstep.campaigns.cluster.files import FileCopy, at_hand, check_policy, copies
from misstep.campaigns.cluster.jobs import PROTOCOL, Blob, Done, NoMemory, Shelf, packed, unpacked
from misstep.campaigns.cluster.link import Link, Note
from misstep.campaigns.cluster.opening import open_cluster
from misstep.campaigns.workers import sendable
from misstep.comparison.shrink.examine import Base, Candidate, Examined, Examiner
from misstep.errors import MisstepError

ENTRY = "misstep.comparison.shrink.elsewhere:do_candidate"


@dataclass(frozen=True)
class Search:
    """What all candidates of a search have in common."""

    examiner: Examiner
    files: tuple[FileCopy, ...]


@dataclass(frozen=True)
class CandidateBody:
    candidate: Candidate
    search: str  # digests
    base: str


_EXAMINERS: dict[str, Examiner] = {}  # of a process on a worker: that of the last search


def do_candidate(body: bytes, shelf: Shelf, folder: str, _: float | None) -> bytes:
    """In a process of a worker."""
    own: CandidateBody = pickle.loads(body)
    try:
        base: Base | None = shelf.take(own.base)
        found: Examined | Exception = _examiner(own.search, shelf, folder).examine(
            own.candidate, base
        )
    except MisstepError as error:
        found = error
    except MemoryError:
        raise  # the process reports it and continues with the next one
    except Exception as error:
        found = sendable(error)
    return pickle.dumps(found, PROTOCOL)


def _examiner(digest: str, shelf: Shelf, folder: str) -> Examiner:
    if digest not in _EXAMINERS:
        search: Search = shelf.take(digest)
        given = search.examiner
        source = at_hand(given.judge.source, search.files, folder)
        _EXAMINERS.clear()
        _EXAMINERS[digest] = Examiner(replace(given.judge, source=source), given.domain, given.name)
    return _EXAMINERS[digest]


class OnCluster:
    """The workers at an address. The connection is made for the first candidate and serves all bugs."""

    def __init__(self, address: str, note: Note) -> None:
        self._address = read_address(address)
        self._note = note
        self._link: Link | None = None

    @contextmanager
    def examining(self, examiner: Examiner, files: Mapping[str, str]) -> Iterator[There]:
        spec = check_policy(examiner.judge.source)
        if self._link is None:
            self._link = open_cluster(self._address, self._note)
        search = packed(Search(examiner, copies(spec, files)))
        try:
            yield There(self._link, search, self._note)
        finally:
            self._link.release(search.digest)

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None


class There:
    """Sends the candidates of one search to the workers, a few of them ahead of time."""

    def __init__(self, link: Link, search: Blob, note: Note) -> None:
        self._link = link
        self._search = search
        self._note = note

    def each(
        self, candidates: Iterable[Candidate], base: Base | None
    ) -> Iterator[tuple[Candidate, Examined]]:
        under = packed(base)
        waiting: deque[tuple[int, Candidate]] = deque()
        ended: dict[int, Examined] = {}
        left = iter(candidates)
        try:
            while True:
                while self._link.free > 0 and (candidate := next(left, None)) is not None:
                    waiting.append((self._submit(candidate, under), candidate))
                if not waiting:
                    return
                number, candidate = waiting[0]
                while number not in ended:
                    self._take(ended)
                waiting.popleft()
                yield candidate, ended.pop(number)
        finally:
            for number, _ in waiting:
                self._link.forget(number)
            self._link.release(under.digest)

    def _submit(self, candidate: Candidate, under: Blob) -> int:
        body = CandidateBody(candidate, self._search.digest, under.digest)
        return self._link.submit(ENTRY, pickle.dumps(body, PROTOCOL), (self._search, under))

    def _take(self, ended: dict[int, Examined]) -> None:
        number, answer = self._link.next()
        if isinstance(answer, Done):
            found = unpacked(answer.content, Examined, Exception)
            if isinstance(found, BaseException):
                raise found
            ended[number] = found
            return
        # A candidate that crashes three processes cannot be a result.
        why = "there was too little memory" if isinstance(answer, NoMemory) else str(answer)
        self._note(f"a smaller task could not be examined: {why}")
        ended[number] = Examined(undecided=why)


__all__ = ["OnCluster", "There", "do_candidate"]
