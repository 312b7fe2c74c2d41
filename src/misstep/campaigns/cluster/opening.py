"""Opens a cluster for all commands: connects to a scheduler, or starts one, and reports its dashboard."""

from __future__ import annotations

import contextlib
import logging
import threading
import warnings
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from misstep.campaigns.cluster.address import Address, Local, Remote, Slurm
from misstep.campaigns.cluster.link import Link, Note, lacks_misstep
from misstep.campaigns.cluster.local import LocalCluster
from misstep.errors import MissingDependencyError, ToolError
from misstep.versions import identity

CONNECT = 10.0  # seconds
GREETING = 40.0  # seconds, for all tries to connect and for what the scheduler says at first
WORKERS = 30.0  # seconds for the first worker of a cluster that runs already
HINT = "pip install 'misstep[cluster]', here and on all workers"


def open_cluster(address: Address, note: Note) -> Link:
    """A connection to the workers of a cluster; whatever is started for it ends when the link is closed."""
    _require_dask()
    link = _opened(address, note)
    try:
        link.require_workers(None if isinstance(address, Slurm) else WORKERS)
    except BaseException:
        link.close()
        raise
    return link


def _opened(address: Address, note: Note) -> Link:
    if isinstance(address, Remote):
        client = _connect(address.url, address.url)
        return _told(Link(client, address.url, note, lambda: None), client, note)
    if isinstance(address, Local):
        cluster = LocalCluster(address.workers)
        where = f"local:{address.workers}"
        try:
            client = _connect(cluster.address, where)
        except BaseException:
            cluster.close()
            raise
        return _told(Link(client, where, note, cluster.close), client, note)
    jobs = _slurm(address)
    where = f"slurm:{address.file}"
    close = _closing(jobs)
    try:
        client = _connect(jobs, where)
    except BaseException:
        close()
        raise
    return _told(Link(client, where, note, close), client, note)


def _require_dask() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "--cluster needs dask.distributed, which is not installed", hint=HINT
        ) from error


def _connect(target: Any, where: str) -> Any:
    """A client of the scheduler; the certificates for tls:// are those that dask is configured with."""
    import distributed

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # we report what matters ourselves
    try:
        client = _within(GREETING, lambda: _client(target))
    except (OSError, TimeoutError) as error:
        raise ToolError(
            f"no scheduler answers: {error!s:.200}",
            where=where,
            expected="a scheduler of dask that runs, as 'dask scheduler' starts it",
        ) from error
    except Exception as error:  # such as an answer that this version cannot read, or no certificate
        raise ToolError(
            f"no connection to the scheduler: {type(error).__name__}: {error!s:.200}",
            where=where,
            hint=f"here is dask.distributed {distributed.__version__}; for tls://, see docs/cluster.md",
        ) from error
    try:
        _check_dask(client, where)
    except BaseException:
        with contextlib.suppress(Exception):
            client.close(timeout=2)
        raise
    return client


def _within(seconds: float, connect: Callable[[], Any]) -> Any:
    """Connect in a thread, which is left alone when the time is up.

    dask limits the time to connect, but not the time for the scheduler to greet: one that is stopped has none.
    """
    made: SimpleQueue[tuple[Any, Exception | None]] = SimpleQueue()

    def work() -> None:
        try:
            made.put((connect(), None))
        except Exception as error:
            made.put((None, error))

    threading.Thread(target=work, name="misstep-connect", daemon=True).start()
    try:
        client, error = made.get(timeout=seconds)
    except Empty:
        raise TimeoutError(f"it is there, and has said nothing for {seconds:g} s") from None
    if error is not None:
        raise error
    return client


def _client(target: Any, tries: int = 3) -> Any:
    import distributed

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # versions are compared later
            return distributed.Client(target, timeout=CONNECT, set_as_default=False, name="misstep")
    except AssertionError:
        # dask expects the scheduler's greeting alone, and rarely gets it together with another message.
        if tries == 1:
            raise
        return _client(target, tries - 1)


def _check_dask(client: Any, where: str) -> None:
    """Refuse a scheduler of another version: it would fail in ways that are hard to recognise."""
    try:
        found = client.get_versions()
        theirs = found["scheduler"]["packages"]["distributed"]
        ours = found["client"]["packages"]["distributed"]
    except Exception as error:
        raise ToolError(
            f"the scheduler does not say its version: {error!s:.200}", where=where
        ) from error
    if theirs != ours:
        raise ToolError(
            f"the scheduler has dask.distributed {theirs}",
            where=where,
            expected=f"{ours}, as here",
            hint=f"pip install 'distributed=={theirs}' here, or the other way round",
        )
    _check_misstep(client, where)


def _check_misstep(client: Any, where: str) -> None:
    """Check that the scheduler has Misstep too, because it reads the jobs before it passes them on."""
    ours = identity()
    try:
        theirs = client.run_on_scheduler(identity)
    except Exception as error:
        if not lacks_misstep(error):
            raise ToolError(
                f"the scheduler does not say its version: {error!s:.200}", where=where
            ) from error
        theirs = None
    if theirs is None or theirs.code != ours.code:
        has = "no Misstep like this one" if theirs is None else str(theirs)
        raise ToolError(
            f"the scheduler has {has}",
            where=where,
            expected=f"{ours}, as here",
            hint="install the same version there, and start the scheduler again",
        )


def _told(link: Link, client: Any, note: Note) -> Link:
    note(
        f"cluster {link.where}: scheduler {client.scheduler.address}, dashboard {client.dashboard_link}"
    )
    return link


def _slurm(address: Slurm) -> Any:
    try:
        from dask_jobqueue import SLURMCluster
    except ImportError as error:
        raise MissingDependencyError(
            "slurm: needs dask-jobqueue, which is not installed", hint=HINT
        ) from error
    try:
        cluster = SLURMCluster(**address.options)
        cluster.scale(jobs=address.jobs)
    except Exception as error:
        raise ToolError(
            f"the jobs could not be handed to Slurm: {error!s:.300}",
            where=str(address.file),
            hint="sbatch has to work on this machine",
        ) from error
    return cluster


def _closing(cluster: Any) -> Callable[[], None]:
    def close() -> None:
        with contextlib.suppress(Exception):
            cluster.close(timeout=10)

    return close


__all__ = ["open_cluster"]
