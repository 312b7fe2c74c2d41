"""How a process on a cluster runs a unit of a campaign."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

from misstep.campaigns.cluster.files import FileCopy, at_hand
from misstep.campaigns.cluster.jobs import PROTOCOL, Shelf
from misstep.campaigns.units import Unit
from misstep.campaigns.workers import Lost, Outcome, Worker, sendable


@dataclass(frozen=True)
class Campaign:
    """The common data of all units of a campaign."""

    worker: Worker
    files: tuple[FileCopy, ...]


@dataclass(frozen=True)
class UnitBody:
    """A unit, its resources by digest."""

    unit: Unit  # with its small resources
    campaign: str
    resources: tuple[tuple[str, str], ...]  # name, digest


class _Ready(Worker):
    """A worker that keeps data only of loaded tasks, since all resources come with the job."""

    def do(self, unit: Unit, seconds: float | None = None) -> Outcome:
        outcome = super().do(unit, seconds)
        for name in self._resources.keys() - self._works.keys():
            del self._resources[name]
        return outcome


_WORKERS: dict[str, _Ready] = {}  # by the digest of the campaign


def do_unit(body: bytes, shelf: Shelf, folder: str, seconds: float | None) -> bytes:
    return pickle.dumps(_outcome(body, shelf, folder, seconds), PROTOCOL)


def _outcome(body: bytes, shelf: Shelf, folder: str, seconds: float | None) -> Outcome | Exception:
    try:
        own: UnitBody = pickle.loads(body)
        worker = _worker(own.campaign, shelf, folder)
        resources = {name: shelf.take(digest) for name, digest in own.resources}
        unit = replace(own.unit, resources={**own.unit.resources, **resources})
        return worker.do(unit, seconds)
    except MemoryError:
        return Lost("memory")
    except Exception as error:
        return sendable(error)


def _worker(digest: str, shelf: Shelf, folder: str) -> _Ready:
    if digest not in _WORKERS:
        campaign: Campaign = shelf.take(digest)
        given = campaign.worker
        policy = at_hand(given.policy, campaign.files, folder)
        _WORKERS[digest] = _Ready(given.settings, policy, given.batch_size)
    return _WORKERS[digest]


__all__ = ["Campaign", "UnitBody", "do_unit"]
