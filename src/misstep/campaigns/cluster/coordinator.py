"""The workers of a campaign on a cluster.

The engine uses them like local processes: it hands out units and collects their outcomes. Dask decides which worker
does a unit. A resource (the task, its dominance function, the results of earlier rounds) is packed when it is new, and
sent to each worker once.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from misstep.campaigns.cluster.address import Address
from misstep.campaigns.cluster.files import check_policy, copies
from misstep.campaigns.cluster.jobs import (
    INLINE,
    PROTOCOL,
    Blob,
    Done,
    Late,
    NoMemory,
    packed,
    unpacked,
)
from misstep.campaigns.cluster.link import GivenUp, Link, Note
from misstep.campaigns.cluster.opening import open_cluster
from misstep.campaigns.cluster.units import Campaign, UnitBody
from misstep.campaigns.units import Result, Unit
from misstep.campaigns.workers import Lost, Outcome, Worker, Workers
from misstep.errors import MisstepError, ToolError

ENTRY = "misstep.campaigns.cluster.units:do_unit"
KEPT_TASKS = 64  # whose resources stay on the cluster


class Cluster(Workers):
    """Units go to the workers of a cluster."""

    def __init__(
        self,
        link: Link,
        worker: Worker,
        files: Mapping[str, str],
        memory_mb: int | None = None,
    ) -> None:
        spec = check_policy(worker.policy)
        plain = Worker(worker.settings, spec, worker.batch_size)
        self._link = link
        link.gathers = True
        self._memory_mb = memory_mb
        self._campaign = packed(Campaign(plain, copies(spec, files)))
        self._units: dict[int, Unit] = {}
        # task -> name -> the resource and what it is packed into; None: it is small and travels with the unit
        self._resources: dict[str, dict[str, tuple[Any, Blob | None]]] = {}

    def takes(self, unit: Unit) -> bool:
        # Another task is begun only if a worker is idle: a process keeps few tasks loaded, and would load each of
        # many again for every unit.
        return self._link.free > 0 if unit.task else self._link.idle

    def expect(self, process: int) -> None:
        """Does nothing: a worker starts the process with its first unit, while the others work."""

    def submit(self, unit: Unit, seconds: float | None) -> None:
        small: dict[str, Any] = {}
        large: dict[str, Blob] = {}
        try:
            for name, value in unit.resources.items():
                blob = self._packed(unit.task, name, value)
                if blob is None:
                    small[name] = value
                else:
                    large[name] = blob
            names = tuple((name, blob.digest) for name, blob in large.items())
            body = UnitBody(replace(unit, resources=small), self._campaign.digest, names)
            content = pickle.dumps(body, PROTOCOL)
        except (AttributeError, TypeError, pickle.PicklingError) as error:
            raise ToolError(
                f"cannot send work to another machine: {error}", hint="use --jobs 1"
            ) from error
        number = self._link.submit(
            ENTRY,
            content,
            list({blob.digest: blob for blob in (self._campaign, *large.values())}.values()),
            role=unit.process,
            seconds=seconds,
            memory_mb=self._memory_mb,
        )
        self._units[number] = unit

    def _packed(self, task: str, name: str, value: Any) -> Blob | None:
        known = self._resources.pop(task, {})
        self._resources[task] = known  # the last one used
        while len(self._resources) > KEPT_TASKS:
            self._forget(next(iter(self._resources)))
        if name not in known or known[name][0] is not value:
            blob = packed(value)
            before = known[name][1] if name in known else None
            known[name] = value, None if len(blob.content) < INLINE else blob
            if before is not None and before.digest != blob.digest:
                self._release(before.digest)
        return known[name][1]

    def _forget(self, task: str) -> None:
        for _, blob in self._resources.pop(task).values():
            if blob is not None:
                self._release(blob.digest)

    def _release(self, digest: str) -> None:
        """Unless another task needs the same."""
        for known in self._resources.values():
            if any(blob is not None and blob.digest == digest for _, blob in known.values()):
                return
        self._link.release(digest)

    def ends_within(self, seconds: float) -> bool:  # noqa: ARG002
        return self._link.has_answers

    def next(self) -> tuple[Unit, Outcome]:
        number, answer = self._link.next()
        unit = self._units.pop(number)
        if isinstance(answer, Late):
            return unit, Lost("time")
        if isinstance(answer, NoMemory):
            return unit, Lost("memory")
        if isinstance(answer, GivenUp):
            return unit, Lost("crash", str(answer))
        content = answer.content if isinstance(answer, Done) else None
        outcome = unpacked(content, Result, Lost, Exception)
        if isinstance(outcome, BaseException) and not isinstance(outcome, MisstepError):
            raise outcome
        return unit, outcome

    def close(self) -> None:
        self._units.clear()
        self._link.close()


def on_cluster(
    address: Address, worker: Worker, files: Mapping[str, str], memory_mb: int | None, note: Note
) -> Workers:
    """The workers at an address, connected when there is work for them."""
    link = open_cluster(address, note)
    try:
        return Cluster(link, worker, files, memory_mb)
    except BaseException:
        link.close()
        raise


__all__ = ["Cluster", "on_cluster"]
