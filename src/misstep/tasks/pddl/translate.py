"""Translates PDDL to SAS with the Fast Downward translator, run as a separate program.

The translator is never imported: its licence differs, and a separate program can have limits and
can be killed. It reads copies of the two files in a temporary folder, so that the translation
belongs to exactly the content that the cache key is computed from.
"""

from __future__ import annotations

import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from misstep.errors import (
    MemoryLimitError,
    MissingDependencyError,
    TimeLimitError,
    ToolError,
    UsageError,
)
from misstep.kept import Kept, start
from misstep.tasks.pddl.cache import TranslationCache, cache_key
from misstep.tasks.pddl.diagnose import diagnose
from misstep.tasks.pddl.precheck import check_pair
from misstep.tasks.pddl.text import Source

PACKAGE = "fast-downward-translate"

# The limits are set by the child itself, before the translator is loaded: the hook of
# `subprocess` that runs between fork and exec can deadlock in a program with threads.
_LAUNCHER = """
import resource, runpy, sys
for kind, limit in ((resource.RLIMIT_AS, sys.argv[1]), (resource.RLIMIT_CPU, sys.argv[2])):
    soft, hard = resource.getrlimit(kind)
    if limit != "none" and (hard == resource.RLIM_INFINITY or int(limit) < hard):
        resource.setrlimit(kind, (int(limit), hard))
del sys.argv[1:3]
runpy.run_module("fast_downward.translate", run_name="__main__", alter_sys=True)
"""

# Exit codes of the translator.
_OUT_OF_MEMORY = 20
_OUT_OF_TIME = 21

# How often the translator is checked, in seconds, and for how many checks in a row it may be at
# its memory limit.
_SLICE = 0.5
_PRESSED_SLICES = 4


class _Finished(NamedTuple):
    code: int
    output: str
    errors: str


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def translate_sources(
    sources: tuple[Source, Source],
    *,
    keep_unimportant: bool = True,
    time_limit: float = 300,
    memory_limit_mb: int | None = 4096,
    use_cache: bool = True,
) -> bytes:
    """Translate a PDDL task (a domain and a problem) and return the SAS file.

    `keep_unimportant` keeps variables that cannot matter for the goal: a policy may look at them.
    An unsolvable task is a task like any other, even if the translator notices that it is unsolvable.
    """
    if not _is_number(time_limit) or not time_limit > 0:
        raise UsageError(
            f"the time limit is {time_limit!r}", expected="a positive number of seconds"
        )
    if memory_limit_mb is not None and (not _is_number(memory_limit_mb) or memory_limit_mb < 1):
        raise UsageError(
            f"the memory limit is {memory_limit_mb!r} MB", expected="a positive number or none"
        )
    version = translator_version()
    options = _options(keep_unimportant)
    cache = TranslationCache() if use_cache else None
    key = cache_key(*(s.content for s in sources), version.encode(), " ".join(options).encode())
    cached = cache.get(key) if cache is not None else None
    if cached is not None:
        return cached
    trees = check_pair(*sources)
    try:
        with tempfile.TemporaryDirectory(prefix="misstep-translate-") as name:
            folder = Path(name)
            finished = _run(sources, folder, options, time_limit, memory_limit_mb)
            _raise_limits(finished, sources[1], time_limit, memory_limit_mb)
            if finished.code != 0:
                raise diagnose(finished.output, finished.errors, finished.code, sources, trees)
            sas = (folder / "output.sas").read_bytes()
    except OSError as error:
        raise ToolError(
            f"cannot run the translator: {error.strerror or error}",
            where=tempfile.gettempdir(),
            hint="is the disk full, or TMPDIR not writable?",
        ) from error
    if cache is not None:
        cache.put(key, sas)
    return sas


def translator_version() -> str:
    """The version of the installed translator."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError as error:
        raise MissingDependencyError(
            f"the package {PACKAGE} is not installed", hint=f"pip install {PACKAGE}"
        ) from error


def _options(keep_unimportant: bool) -> list[str]:
    # By default the translator stops looking for invariants after 300 seconds and continues with
    # those it has, so the task would depend on the machine's speed. Our own limit ends it instead.
    options = ["--invariant-generation-max-time", "1000000000"]
    if keep_unimportant:
        options.append("--keep-unimportant-variables")
    return options


def _run(
    sources: tuple[Source, Source],
    folder: Path,
    options: list[str],
    time_limit: float,
    memory_limit_mb: int | None,
) -> _Finished:
    """Run the translator in the folder; it has always ended when this returns."""
    (folder / "domain.pddl").write_bytes(sources[0].content)
    (folder / "problem.pddl").write_bytes(sources[1].content)
    memory = "none" if memory_limit_mb is None else str(memory_limit_mb * 2**20)
    # A safety net below the limit on wall-clock time.
    cpu = "none" if math.isinf(time_limit) else str(math.ceil(time_limit) + 1)
    command = [sys.executable, "-c", _LAUNCHER, memory, cpu, *options]
    program = start(
        [*command, "--sas-file", "output.sas", "domain.pddl", "problem.pddl"],
        folder=folder,
        cwd=folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        output, errors = _watch(program, sources[1], time_limit, memory_limit_mb)
    finally:
        program.end()  # also on Ctrl-C
    code = program.returncode
    assert code is not None
    return _Finished(code, output.decode("latin-1"), errors.decode("utf-8", "replace"))


def _watch(
    program: Kept,
    problem: Source,
    time_limit: float,
    memory_limit_mb: int | None,
) -> tuple[bytes, bytes]:
    """Wait for the translator; raise when it is at one of its limits."""
    end = time.monotonic() + time_limit
    pressed = 0
    while True:
        try:
            return program.process.communicate(timeout=max(0, min(_SLICE, end - time.monotonic())))
        except subprocess.TimeoutExpired:
            pass
        # At the limit, an interpreter may still run very slowly for minutes on freed memory, while
        # the system refuses its request for every object.
        pressed = pressed + 1 if _at_memory_limit(program.pid, memory_limit_mb) else 0
        if pressed >= _PRESSED_SLICES:
            raise _memory_error(problem, memory_limit_mb)
        if time.monotonic() >= end:
            raise TimeLimitError(
                f"the translator took longer than {time_limit:g} s",
                where=problem.path,
                hint="raise the time limit or use a smaller task",
            )


def _at_memory_limit(pid: int, memory_limit_mb: int | None) -> bool:
    if memory_limit_mb is None:
        return False
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    except (OSError, IndexError, ValueError):
        return False
    return pages * resource.getpagesize() > (memory_limit_mb - 2) * 2**20


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    # Iteration over sets must not make the task differ from run to run.
    environment["PYTHONHASHSEED"] = "0"
    if environment.get("PYTHONPATH"):
        # The translator runs in another folder, where relative entries would mean another place.
        entries = environment["PYTHONPATH"].split(os.pathsep)
        environment["PYTHONPATH"] = os.pathsep.join(str(Path(e).absolute()) for e in entries if e)
    return environment


def _raise_limits(
    finished: _Finished, problem: Source, time_limit: float, memory_limit_mb: int | None
) -> None:
    if finished.code in (_OUT_OF_TIME, -signal.SIGXCPU):
        raise TimeLimitError(
            f"the translator used more than {time_limit:g} s of processor time",
            where=problem.path,
            hint="raise the time limit or use a smaller task",
        )
    # Not every shortage of memory reaches the translator's own handler.
    if finished.code == _OUT_OF_MEMORY or "MemoryError" in finished.errors:
        raise _memory_error(problem, memory_limit_mb)
    if finished.code < 0:
        raise MemoryLimitError(
            f"the translator was ended by signal {-finished.code}, most likely for lack of memory",
            where=problem.path,
            hint="use a smaller task or a machine with more memory",
        )


def _memory_error(problem: Source, memory_limit_mb: int | None) -> MemoryLimitError:
    limit = "there is" if memory_limit_mb is None else f"{memory_limit_mb} MB"
    return MemoryLimitError(
        f"the translator needs more memory than {limit}",
        where=problem.path,
        hint="raise the memory limit or use a smaller task",
    )
