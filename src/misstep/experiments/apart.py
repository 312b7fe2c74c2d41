"""Runs a command's work in pieces: `census` of many tasks, repeats of `train`.

Like a unit of an experiment, a piece runs in a process of this machine or on a worker of a cluster. It ends with a
result or an error, and the others continue. Nothing is stored here: the caller takes the results as they arrive.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from misstep.campaigns.arguments import check_cluster
from misstep.campaigns.cluster.files import FileCopy, at_hand, check_policy, copies
from misstep.campaigns.cluster.link import Note
from misstep.campaigns.limits import Limits
from misstep.errors import MisstepError, ToolError
from misstep.experiments.definition import Unit
from misstep.experiments.driver import Pool
from misstep.experiments.elsewhere import ClusterPool
from misstep.experiments.kinds import Json
from misstep.experiments.store import DONE

FAILURE = "error"  # the key of an error in place of a result


@dataclass(frozen=True)
class Where:
    """Who does the pieces."""

    jobs: int = 1
    cluster: str | None = None
    megabytes: int | None = None  # of each process

    def check(self) -> None:
        if self.cluster is not None:
            check_cluster(self.cluster, self.jobs, Limits(task_memory=self.megabytes))


def done_apart(
    kind: str, payloads: Sequence[Json], where: Where, note: Note
) -> Iterator[tuple[int, Json]]:
    """The result of each piece, with its number, in the order in which they end."""
    units = [
        Unit(str(number), kind, kind, "", 0, str(number), payload, 1.0)
        for number, payload in enumerate(payloads)
    ]
    nowhere = Path()  # pieces have no folder that the pool knows of
    pool: Pool | ClusterPool = Pool(min(where.jobs, len(units)), where.megabytes, nowhere)
    if where.cluster is not None:
        pool = ClusterPool(where.cluster, where.megabytes, nowhere, note)
    waiting = iter(units)
    left = next(waiting, None)
    with pool:
        while left is not None or pool.busy:
            while left is not None and pool.idle:
                pool.give(left)
                left = next(waiting, None)
            for unit, found in pool.collect():
                yield int(unit.key), _result(found)


def _result(found: Json) -> Json:
    """The result of a piece. A dead process or a bug becomes a failure; pieces report errors in their input."""
    if found["outcome"] == DONE:
        result: Json = found["result"]
        return result
    return {FAILURE: found["result"]["message"], "exit_code": ToolError.exit_code}


def failure(error: MisstepError) -> Json:
    """The message of a piece without a result."""
    return {FAILURE: str(error), "exit_code": error.exit_code}


# -- files ----------------------------------------------------------------------------------------


def carried(where: Where, policy: str | None, files: Iterable[Path]) -> list[Json]:
    """Files that a worker of a cluster may not have, with their content; nothing for processes of this machine."""
    if where.cluster is None:
        return []
    spec = "" if policy is None else check_policy(policy)
    known = {str(file.resolve()): "" for file in files}
    return [
        {**vars(own), "content": base64.b64encode(own.content).decode()}
        for own in copies(spec, known)
    ]


def files_at_hand(names: Sequence[str], files: Sequence[Json], folder: str) -> list[str]:
    return [at_hand_here(name, files, folder) for name in names]


def at_hand_here(text: str, files: Sequence[Json], folder: str) -> str:
    """The name of a file, or the spec of a policy, with the copies in the folder instead of the original files."""
    unpacked = []
    for own in files:
        named = text if own["path"] == text else own["named"]
        content = base64.b64decode(own["content"])
        unpacked.append(FileCopy(own["path"], named, own["digest"], content))
    found: Any = at_hand(text, unpacked, folder)
    return str(found)


__all__ = ["FAILURE", "Where", "at_hand_here", "carried", "done_apart", "failure", "files_at_hand"]
