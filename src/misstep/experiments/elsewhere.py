"""Run the units of an experiment on the workers of a cluster instead of local processes.

Payloads and results are plain JSON. Files that a payload names must exist under the same path on every worker. If the
worker can see the experiment's folder, a killed training continues from its files there; otherwise it starts again.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType

from misstep.campaigns.cluster.address import read_address
from misstep.campaigns.cluster.jobs import Done, Shelf
from misstep.campaigns.cluster.link import GivenUp, Note
from misstep.campaigns.cluster.opening import open_cluster
from misstep.experiments.definition import Unit
from misstep.experiments.kinds import Json
from misstep.experiments.store import FAILED
from misstep.experiments.worker import answer, read_answer

ENTRY = "misstep.experiments.elsewhere:do_part"


def do_part(body: bytes, _: Shelf, folder: str, __: float | None) -> bytes:
    """In a process of a worker."""
    request: Json = json.loads(body)
    place = Path(request["place"])
    if not place.parent.parent.is_dir():  # this machine does not see the folder of the experiment
        request["place"] = str(Path(folder, place.name))
    return json.dumps(answer(request)).encode()


class ClusterPool:
    """Like the pool of local processes: gives out units while a worker is idle, and collects results."""

    def __init__(self, address: str, megabytes: int | None, work: Path, note: Note) -> None:
        self._address = read_address(address)
        self._megabytes = megabytes
        self._work = work
        self._note = note
        self._units: dict[int, Unit] = {}

    def __enter__(self) -> ClusterPool:
        self._link = open_cluster(self._address, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._link.close()

    def place(self, unit: Unit) -> Path:
        return self._work / unit.key

    @property
    def idle(self) -> bool:
        return self._link.free > 0

    @property
    def busy(self) -> bool:
        return bool(self._units)

    def give(self, unit: Unit) -> None:
        place = str(self.place(unit).absolute())
        request = {"kind": unit.kind, "payload": unit.payload, "place": place}
        body = json.dumps(request).encode()
        self._units[self._link.submit(ENTRY, body, memory_mb=self._megabytes)] = unit

    def collect(self) -> list[tuple[Unit, Json]]:
        number, found = self._link.next()
        unit = self._units.pop(number)
        if isinstance(found, Done):
            return [(unit, read_answer(found.content))]
        message = str(found) if isinstance(found, GivenUp) else "out of memory"
        return [(unit, {"outcome": FAILED, "result": {"message": message}, "seconds": 0.0})]


__all__ = ["ClusterPool", "do_part"]
