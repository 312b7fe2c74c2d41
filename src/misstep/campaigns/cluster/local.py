"""A cluster of this machine: one process with the scheduler, and a process for each worker.

The scheduler does not run in the coordinator's process: its threads would keep the policy from being forked later, and
dask would run the user's script again to start workers from it. Everything listens on the loopback device only. The
process ends when its standard input does, so that nothing stays behind however the coordinator ends; dask ends the
workers with it, and starts a new worker for one that dies.
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
from typing import IO

import misstep
from misstep.errors import ToolError
from misstep.files import reason
from misstep.kept import end_with_parent

HOST = "127.0.0.1"
GRACE = 5.0  # seconds to end by itself


class LocalCluster:
    """A cluster for one command."""

    def __init__(self, workers: int) -> None:
        self._folder = tempfile.mkdtemp(prefix="misstep-cluster-")
        root = str(Path(misstep.__file__).parents[1])
        path = os.pathsep.join([root, *filter(None, sys.path)])
        try:
            self._errors: IO[bytes] = Path(self._folder, "errors").open("w+b")  # noqa: SIM115
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(workers), self._folder],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**os.environ, "PYTHONPATH": path, "TMPDIR": self._folder},
                start_new_session=True,  # Ctrl-C is for the coordinator, who ends this
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
        """All at once: there is nothing to save, and the system ends the processes of workers with them."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self._errors.close()
        shutil.rmtree(self._folder, ignore_errors=True)


async def serve(workers: int, folder: str) -> None:
    """The program of the process with the scheduler."""
    import asyncio

    import dask
    import distributed

    dask.config.set(
        {
            "temporary-directory": folder,
            # The coordinator hands out few units at a time; each worker may have its next one at hand.
            "distributed.scheduler.worker-saturation": 2.0,
            "distributed.comm.retry.count": 2,
        }
    )
    async with distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host=HOST,
        dashboard_address=f"{HOST}:0",
        worker_dashboard_address=None,
        memory_limit=0,  # the limits of units are those of their processes
        asynchronous=True,
        silence_logs=50,
        local_directory=folder,
    ) as cluster:
        print(json.dumps([cluster.scheduler_address, cluster.dashboard_link]), flush=True)
        await asyncio.to_thread(sys.stdin.buffer.read)


def main() -> None:
    import asyncio

    end_with_parent()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(int(sys.argv[1]), sys.argv[2]))


if __name__ == "__main__":
    main()


__all__ = ["LocalCluster", "main", "serve"]
