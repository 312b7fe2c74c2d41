"""A cluster of this machine: one process with the scheduler, and a process for each worker.

The scheduler does not run in the coordinator's process: its threads would keep the policy from being forked later, and
dask would run the user's script again to start workers from it. Everything listens on the loopback device only. The
operating system ends this process with the coordinator, and the workers with this process, so nothing stays behind. A
worker that dies is replaced, even if it dies while it starts (dask's own nanny then gives up, and the cluster would
shrink).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic, sleep
from typing import IO

import misstep
from misstep.errors import ToolError
from misstep.files import reason
from misstep.kept import NOT_FROM_HERE, end_with_parent

HOST = "127.0.0.1"
GRACE = 5.0  # seconds to end by itself
AGAIN = 1.0  # seconds between two starts of the same worker, at least
WORKER = "--worker"
PROGRAM = f"{NOT_FROM_HERE}from misstep.campaigns.cluster.local import main; main()"
CONFIG = {
    # The coordinator hands out few units at a time; each worker may already have its next one.
    "distributed.scheduler.worker-saturation": 2.0,
    "distributed.comm.retry.count": 2,
    "distributed.worker.profile.enabled": False,  # the profiler would sample every thread a hundred times a second
    # Each idle server would measure itself several times a second, which takes a sixth of a core for four idle
    # workers.
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    # The scheduler would balance the load ten times a second, although workers have at most one waiting unit.
    "distributed.scheduler.work-stealing-interval": "1s",
    # It would drop data that was already sent to workers.
    "distributed.scheduler.active-memory-manager.start": False,
}


class LocalCluster:
    """A cluster for one command."""

    def __init__(self, workers: int) -> None:
        self._folder = tempfile.mkdtemp(prefix="misstep-cluster-")
        root = str(Path(misstep.__file__).parents[1])
        path = os.pathsep.join([root, *filter(None, sys.path)])
        try:
            self._errors: IO[bytes] = Path(self._folder, "errors").open("w+b")  # noqa: SIM115
            self._process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(workers), self._folder],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**os.environ, "PYTHONPATH": path, "TMPDIR": self._folder},
                start_new_session=True,  # Ctrl-C is for the coordinator, which ends this process
            )
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise ToolError(f"cannot start a local cluster: {reason(error)}") from error
        try:
            self.address, self.dashboard = self._hear()
        except BaseException:
            self.close()
            raise

    def _hear(self) -> tuple[str, str]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait(GRACE)
            self._errors.seek(0)
            words = self._errors.read()[-500:].decode(errors="replace").strip().split("\n")[-1]
            raise ToolError(f"the local cluster did not start: {words}")
        address, dashboard = json.loads(line)
        return address, dashboard

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        """End everything at once: there is nothing to save, and the system ends the workers' processes with them."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self._errors.close()
        _remove(self._folder)


def _remove(folder: str) -> None:
    """Remove the folder; workers that are being ended may still write to it."""
    end = monotonic() + GRACE
    while Path(folder).exists() and monotonic() < end:
        shutil.rmtree(folder, ignore_errors=True)
        sleep(0.01)


async def serve(workers: int, folder: str) -> None:
    """The program of the process with the scheduler."""
    import asyncio

    import dask
    import distributed

    dask.config.set(CONFIG)
    async with distributed.Scheduler(
        host=HOST, port=0, dashboard=True, dashboard_address=f"{HOST}:0"
    ) as scheduler:
        port = scheduler.http_server.port
        print(json.dumps([scheduler.address, f"http://{HOST}:{port}/status"]), flush=True)
        places = [_always(scheduler.address, folder) for _ in range(workers)]
        end = asyncio.to_thread(sys.stdin.buffer.read)
        await asyncio.wait(
            [asyncio.ensure_future(own) for own in (end, *places)],
            return_when=asyncio.FIRST_COMPLETED,
        )


async def _always(address: str, folder: str) -> None:
    """Runs a worker, and starts another one when it dies."""
    import asyncio

    while True:
        began = monotonic()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, WORKER, address, folder
        )
        await process.wait()
        await asyncio.sleep(max(0.0, AGAIN - (monotonic() - began)))


async def work(address: str, folder: str) -> None:
    """The program of a worker."""
    import dask
    import distributed

    dask.config.set(CONFIG)
    async with distributed.Worker(
        address,
        nthreads=1,
        host=HOST,
        memory_limit=0,  # the limits of units are those of their processes
        local_directory=folder,
        dashboard=False,
    ) as worker:
        await worker.finished()


def main() -> None:
    import asyncio
    import logging

    end_with_parent()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with contextlib.suppress(KeyboardInterrupt):
        if sys.argv[1] == WORKER:
            asyncio.run(work(*sys.argv[2:]))
        else:
            asyncio.run(serve(int(sys.argv[1]), sys.argv[2]))


__all__ = ["LocalCluster", "main", "serve", "work"]
