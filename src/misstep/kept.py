"""Start programs so that they always end when we do.

A program is the child of a keeper, a tiny process that watches a line to us. The system closes our end of the line
when we end for any reason (SIGKILL, a closed terminal, a crash). The keeper then ends the program and all processes
that the program started. It finds them because it is a "subreaper": orphans below it become its children, even those in
other sessions. It does the same when the program ends by itself, and exits with the program's exit status. If we were
killed, it also removes the temporary folder that we had made for the program.

This file is also the program of the keeper, so it imports nothing else of Misstep. Systems other than Linux have no
subreapers: there, only the process group of the program is ended, and only by us.
"""

# pathlib would double the time that a keeper needs to start.
# ruff: noqa: PTH112, PTH123, PTH208, PTH100

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator, Sequence
from time import monotonic, sleep
from typing import IO, TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import socket

_PROGRAM = os.path.abspath(__file__)
_PATIENCE = 2.0  # seconds for the keeper to end everything; then its group is killed
LATE = 5.0  # seconds for a process to end, once all is said
_ENDED = b"."  # what we say to a keeper before we close the line; whoever is killed says nothing
_SET_DEATH_SIGNAL = 1
_SET_SUBREAPER = 36
# The first statement of our `python -c` programs. Without it Python would import from the current folder first, and run
# a stranger's json.py if there is one.
NOT_FROM_HERE = "import sys; sys.path[:] = [own for own in sys.path if own]; "


@contextlib.contextmanager
def not_from_here() -> Iterator[None]:
    """The same for processes that `multiprocessing` starts, whose programs are not ours: they start in the root folder.

    They go to the folder of their parent themselves, after the imports.
    """
    here = os.open(".", os.O_PATH)  # one may be in a folder that one cannot read
    try:
        os.chdir("/")
        yield
    finally:
        os.fchdir(here)
        os.close(here)


@contextlib.contextmanager
def without_script() -> Iterator[None]:
    """Processes that `multiprocessing` starts would run the user's script again, which need not expect that."""
    import types

    script = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


class Kept:
    """A running program and its keeper. `process` has the streams of the program."""

    def __init__(self, process: subprocess.Popen[bytes], pid: int, lifeline: socket.socket) -> None:
        self.process = process
        self.pid = pid
        self.end = weakref.finalize(self, _end, process, lifeline, os.getpid())

    @property
    def stdin(self) -> IO[bytes] | None:
        return self.process.stdin

    @property
    def returncode(self) -> int | None:
        """As in `subprocess.Popen`, once the program has been waited for."""
        return self.process.returncode

    def exited(self) -> bool:
        """Whether the program has ended, without reaping it."""
        if self.process.returncode is not None:
            return True
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.process.pid, flags) is not None


def start(
    command: Sequence[str],
    *,
    memory_bytes: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    **how: Any,
) -> Kept:
    """Start a program below a keeper, with the arguments and errors of `subprocess.Popen(command, **how)`.

    The method `end` ends the program and all that it started; so does the end of this process. `folder` is a temporary
    folder that the caller removes; if this process is killed while the program runs, it is removed all the same.
    """
    import socket

    watched, lifeline = socket.socketpair()
    told, tell = -1, -1
    try:
        told, tell = os.pipe()
        memory = "none" if memory_bytes is None else str(memory_bytes)
        place = "" if folder is None else os.path.abspath(folder)
        keeper = [
            sys.executable,
            "-I",
            "-S",
            _PROGRAM,
            str(watched.fileno()),
            str(tell),
            memory,
            place,
        ]
        process: subprocess.Popen[bytes] = subprocess.Popen(
            [*keeper, *command], pass_fds=[watched.fileno(), tell], start_new_session=True, **how
        )
    except BaseException:
        lifeline.close()
        if told >= 0:
            os.close(told)
        raise
    finally:
        watched.close()
        if tell >= 0:
            os.close(tell)
    with open(told, "rb") as pipe:
        words = dict(word.split(b"=") for word in pipe.read().split())
    if b"pid" in words and b"error" not in words:
        return Kept(process, int(words[b"pid"]), lifeline)
    _end(process, lifeline, os.getpid())
    if b"error" in words:
        number = int(words[b"error"])
        raise OSError(number, os.strerror(number), command[0])
    raise OSError(f"the process that watches the program ended ({process.returncode})")


def _end(process: subprocess.Popen[bytes], lifeline: socket.socket, owner: int) -> None:
    if os.getpid() != owner:  # a fork of the process that started the program
        return
    import socket

    with contextlib.suppress(OSError):  # the keeper has ended, which must not be our end
        lifeline.send(_ENDED, getattr(socket, "MSG_NOSIGNAL", 0))
    lifeline.close()
    if process.returncode is None:
        try:
            process.wait(_PATIENCE)
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def end_with_parent(number: int = signal.SIGKILL) -> None:
    """Let the system end this process when the thread that started it ends, for whatever reason."""
    _prctl(_SET_DEATH_SIGNAL, number)


def adopt_orphans() -> None:
    """Make this process the parent of all its descendants whose own parents have ended."""
    _prctl(_SET_SUBREAPER, 1)


def leave(code: int) -> NoReturn:
    """End this process as `sys.exit` does, but without waiting for threads: those of a policy may never end."""
    import atexit

    end_in_time(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).fflush(None)  # what native code of a policy has printed
    os._exit(code)


def end_in_time(code: int) -> None:
    """From here on, this process ends within `LATE` seconds.

    What a policy has registered with `atexit` may take for ever. Python would also wait for the processes that it has
    started with `multiprocessing`, which end here.
    """
    import threading

    late = threading.Timer(LATE, os._exit, (code,))
    late.daemon = True
    with contextlib.suppress(RuntimeError):  # a policy allows no further threads
        late.start()
    processes = sys.modules.get("multiprocessing.process")
    for child in processes.active_children() if processes is not None else ():
        child.kill()


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(ImportError, OSError, AttributeError):  # not on Linux
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def end_children(*, daemons: bool = True, grace: float = 0.0) -> None:
    """Kill all children of this process, and the orphans that it adopts by that; without `daemons`, only those in our
    own session. Within the seconds of `grace` they may end by themselves."""
    start = monotonic()
    while monotonic() < start + grace + _PATIENCE:
        own = [pid for pid in _children() if daemons or _is_in_our_session(pid)]
        if not own and not daemons:
            return
        for pid in own if monotonic() >= start + grace else ():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        sleep(0.002)


def _is_in_our_session(pid: int) -> bool:
    try:
        return os.getsid(pid) == os.getsid(0)
    except OSError:
        return False


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return _children_by_search()


def _children_by_search() -> list[int]:
    """The children, for systems where /proc has no lists of them."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdecimal():
            with contextlib.suppress(OSError, IndexError, ValueError):
                with open(f"/proc/{name}/stat") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
                if parent == os.getpid():
                    found.append(int(name))
    return found


# -- the keeper -----------------------------------------------------------------------------------


def _keep(watched: int, tell: int, memory: str, folder: str, command: Sequence[str]) -> NoReturn:
    import select

    adopt_orphans()
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    program = os.fork()
    if program == 0:
        _become(command, memory, tell)
    os.write(tell, f"pid={program} ".encode())
    os.close(tell)
    # The program's streams end when the program closes them, not when the keeper ends.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    status: int | None = None
    while status is None:
        ready = select.select([watched, woken], [], [])[0]
        if watched in ready:
            break
        os.read(woken, 4096)
        status = _status(program)
    end_children()
    if status is None and folder and not os.read(watched, 1):
        import shutil

        shutil.rmtree(folder, ignore_errors=True)  # follows no links
    os.killpg(0, signal.SIGKILL) if status is None else _end_like(status)
    os._exit(70)


def _become(command: Sequence[str], memory: str, tell: int) -> NoReturn:
    """Replace this fork of the keeper by the program."""
    import resource

    try:
        end_with_parent()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        if memory != "none":
            size, hard = int(memory), resource.getrlimit(resource.RLIMIT_AS)[1]
            if hard != resource.RLIM_INFINITY:
                size = min(size, hard)
            resource.setrlimit(resource.RLIMIT_AS, (size, hard))
        os.set_inheritable(tell, False)
        os.execvp(command[0], list(command))
    except OSError as error:
        os.write(tell, f"error={error.errno} ".encode())
    finally:
        os._exit(127)


def _status(program: int) -> int | None:
    """The exit status of the program once it has ended, else None. Also reaps orphans that have ended."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == program:
                found = status
    return found


def _end_like(status: int) -> NoReturn:
    if os.WIFSIGNALED(status):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        with contextlib.suppress(OSError, ValueError):  # SIGKILL has no handler
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    _keep(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5:])


__all__ = [
    "NOT_FROM_HERE",
    "Kept",
    "adopt_orphans",
    "end_children",
    "end_in_time",
    "end_with_parent",
    "leave",
    "not_from_here",
    "start",
    "without_script",
]
