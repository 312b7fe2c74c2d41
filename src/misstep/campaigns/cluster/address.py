"""The addresses that `--cluster ADDRESS` accepts.

tcp://HOST:PORT    a scheduler of dask that runs already; tls://HOST:PORT with the certificates that dask is
                   configured with
local:N            a scheduler and N workers on this machine, for this command alone; nothing listens beyond it
slurm:FILE.toml    a scheduler on this machine, and workers that are jobs of Slurm, through dask-jobqueue
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from misstep.campaigns.toml import from_toml
from misstep.decoding import whole_number
from misstep.errors import InputFormatError, UsageError
from misstep.files import decoded, read_bytes

EXPECTED = "tcp://HOST:PORT, tls://HOST:PORT, local:N or slurm:FILE.toml"
MOST_LOCAL = 1024
MAX_FILE_BYTES = 2**20
_URL = re.compile(r"(tcp|tls)://(\[[0-9A-Fa-f:.]+\]|[^\s/:@]+):(\d{1,5})")


@dataclass(frozen=True)
class Remote:
    url: str


@dataclass(frozen=True)
class Local:
    workers: int


@dataclass(frozen=True)
class Slurm:
    """Jobs of Slurm: `jobs` of them, with options by the names of dask_jobqueue.SLURMCluster."""

    file: Path
    jobs: int
    options: Mapping[str, Any]


Address = Remote | Local | Slurm


def read_address(text: object) -> Address:
    if not isinstance(text, str):
        raise UsageError(f"cluster is {text!r:.80}", expected=EXPECTED)
    kind, _, rest = text.partition(":")
    if kind == "local":
        workers = whole_number(rest, MOST_LOCAL + 1)
        if not workers:
            raise UsageError(
                f"the cluster {text!r:.80} has no number of workers",
                expected=f"local:N, N from 1 to {MOST_LOCAL}",
            )
        return Local(workers)
    if kind == "slurm":
        return _slurm(Path(rest)) if rest else _wrong(text)
    found = _URL.fullmatch(text)
    if found is None or not 0 < int(found[3]) < 2**16:
        return _wrong(text)
    return Remote(text)


def _wrong(text: str) -> Address:
    raise UsageError(f"the cluster {text!r:.80} is no address", expected=EXPECTED)


# The options of dask-jobqueue, with their TOML types. It would pass a misspelt option on to every worker.
_SLURM: Mapping[str, type | tuple[type, ...]] = {
    "jobs": int,
    "cores": int,
    "memory": str,
    "processes": int,
    "queue": str,
    "account": str,
    "walltime": str,
    "interface": str,
    "local_directory": str,
    "log_directory": str,
    "python": str,
    "job_cpu": int,
    "job_mem": str,
    "death_timeout": (int, str),
    "job_script_prologue": list,
    "job_extra_directives": list,
    "job_directives_skip": list,
    "worker_extra_args": list,
    "protocol": str,
    "scheduler_options": dict,
}


def _slurm(path: Path) -> Slurm:
    where = str(path)
    text = decoded(read_bytes(path, MAX_FILE_BYTES, "a file of options for Slurm"), where)
    options = from_toml(text, where)
    for name, value in options.items():
        if name not in _SLURM:
            raise InputFormatError(
                f"no option {name!r:.40} of jobs", where=where, expected=", ".join(_SLURM)
            )
        if not isinstance(value, _SLURM[name]) or isinstance(value, bool):
            raise InputFormatError(f"the option {name} is {value!r:.40}", where=where)
    missing = [name for name in ("jobs", "cores", "memory") if name not in options]
    if missing:
        raise InputFormatError(
            f"{', '.join(missing)} not given",
            where=where,
            expected='such as: jobs = 10, cores = 8, memory = "16GB", walltime = "04:00:00"',
        )
    jobs = options.pop("jobs")
    if jobs < 1 or options["cores"] < 1:
        raise InputFormatError("jobs and cores are numbers from 1", where=where)
    return Slurm(path, jobs, options)


__all__ = ["EXPECTED", "Address", "Local", "Remote", "Slurm", "read_address"]
