"""Where the service of a device is, and how it is started.

The socket is in a folder that only the user can enter. Its name depends on the device, the Python, and the version and
code of Misstep, so that two versions never talk to each other. If the service runs a user's code, the name also depends
on the environment of that code, because what a file imports and reads depends on it. A process that finds no service
takes the lock beside the socket, looks again, and starts the service with a socket that already listens, so no process
has to retry until the service is ready.

The service is not a child of the process that started it. Other campaigns may use it after that process has ended, and
it ends by itself when the last client has gone.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import socket
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from misstep.errors import ToolError
from misstep.files import reason
from misstep.kept import NOT_FROM_HERE
from misstep.policies.service import VARIABLE
from misstep.versions import identity

LONGEST_PATH = 100  # bytes that the system allows for the path of a socket, less a few
BACKLOG = 1024
_WORDS = 4096  # bytes of the end of a log
HASH_SEED = "PYTHONHASHSEED"
WITHOUT = f"{VARIABLE}=off does without it"
_OWN = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # no link, and no pipe that nobody reads
_OURS = (VARIABLE, HASH_SEED)  # these differ between processes of one campaign
_MAIN = (
    f"{NOT_FROM_HERE}import json, os, sys; fd, path = json.loads(sys.argv[1]); "
    "os.fork() and os._exit(0); sys.path[:] = path; "
    "from misstep.policies.service.process import main; main(fd)"
)


def folder() -> Path:
    """The user's own folder for sockets; an error if another user could enter it."""
    for parent in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):
        if not parent or not Path(parent).is_dir():
            continue
        own = Path(parent) / f"misstep-{os.getuid()}"
        if len(os.fsencode(own)) + 40 > LONGEST_PATH:
            continue
        try:
            own.mkdir(mode=0o700, exist_ok=True)
            status = own.lstat()
        except OSError:
            continue
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
            if status.st_mode & 0o077:
                own.chmod(0o700)
            return own
    raise ToolError(
        "there is no folder for the socket of the inference service",
        expected="a temporary folder with a short path that only you can enter",
        hint=WITHOUT,
    )


def place(device: str, surroundings: str = "") -> Path:
    """The socket of the service for a device, and for code in this environment."""
    import misstep

    name = "cuda:0" if device == "cuda" else device
    # Processes that see different devices give them different names.
    seen = os.environ.get("CUDA_VISIBLE_DEVICES", "all")
    folder_of_ours, code = str(Path(misstep.__file__).parent), identity().code
    parts = (name, seen, sys.executable, folder_of_ours, code, surroundings)
    return folder() / f"service-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}"


def surroundings_here() -> str:
    """A digest of what a user's code depends on besides its files: the folder, the modules and the environment."""
    variables = {name: own for name, own in os.environ.items() if name not in _OURS}
    told = json.dumps([os.getcwd(), sys.path, variables], sort_keys=True)  # noqa: PTH109
    return hashlib.sha256(told.encode()).hexdigest()


def connect(device: str, surroundings: str = "") -> socket.socket:
    """A connection to the service for a device. The service is started if it is not running."""
    path = place(device, surroundings)
    try:
        found = _reach(path)
        if found is not None:
            return found
        with _lock(path):
            found = _reach(path)  # another process may have started it meanwhile
            if found is None:
                _start(path)
                found = _reach(path)
    except ConnectionError:
        raise  # the service has just ended
    except OSError as error:
        raise ToolError(
            f"the inference service cannot be reached: {reason(error)}",
            where=str(path),
            hint=WITHOUT,
        ) from error
    if found is None:
        raise ToolError("the inference service cannot be reached", where=str(path), hint=WITHOUT)
    return found


def _reach(path: Path) -> socket.socket | None:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        sock.connect(str(path))
        if peer(sock)[1] == os.getuid():
            return sock
    except (FileNotFoundError, ConnectionRefusedError, ConnectionResetError):
        pass
    except BaseException:
        sock.close()
        raise
    sock.close()
    return None


def peer(sock: socket.socket) -> tuple[int, int]:
    """The process and the user at the other end."""
    form = "3i"
    raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(form))
    pid, user, _ = struct.unpack(form, raw)
    return int(pid), int(user)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    fd = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | _OWN, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _start(path: Path) -> None:
    path.unlink(missing_ok=True)  # of a service that has ended
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(str(path))
        listening.listen(BACKLOG)
        argument = json.dumps([listening.fileno(), sys.path])
        log = os.open(log_of(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _OWN, 0o600)
        try:
            started = subprocess.Popen(
                [sys.executable, "-c", _MAIN, argument],
                stdin=subprocess.DEVNULL,
                # Not the streams of this process: a reader of these would wait until the service ends.
                stdout=log,
                stderr=log,
                pass_fds=[listening.fileno()],
                # Off, since otherwise the service would ask itself. All testing processes use this hash seed.
                env={**os.environ, VARIABLE: "off", HASH_SEED: "0"},
                start_new_session=True,  # Ctrl-C is for the campaign; other campaigns may continue
            )
            started.wait()
        except OSError as error:
            path.unlink(missing_ok=True)
            raise ToolError(f"cannot start the inference service: {reason(error)}") from error
        finally:
            os.close(log)


def log_of(path: Path) -> str:
    return f"{path}.log"


def last_words(device: str, surroundings: str = "") -> str:
    """The last line that the service for a device has written, for error messages."""
    try:
        with os.fdopen(os.open(log_of(place(device, surroundings)), _OWN), "rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - _WORDS))
            lines = log.read(_WORDS).decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1][:300] if lines else ""


__all__ = ["connect", "folder", "last_words", "peer", "place", "surroundings_here"]
