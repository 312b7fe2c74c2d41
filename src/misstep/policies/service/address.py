"""Where the service of a device is, and how it is started.

The socket lies in a folder that only the user can enter. Its name says the device, and which Misstep of which Python it
is, down to its code, so that two versions never talk to each other. Where the service runs a user's code, the name says
the surroundings of that code as well: what a file imports, reads and finds depends on them. Whoever finds nobody there
takes the lock beside it, looks again, and starts the service with a socket that listens already: nobody has to wait and
try until it is ready.

The service is no child of the process that started it. Other campaigns may use it after that one has ended, and it ends
by itself when the last of them has gone.
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
HASH_SEED = "PYTHONHASHSEED"
_OURS = (VARIABLE, HASH_SEED)  # differ between processes of one campaign
_MAIN = (
    f"{NOT_FROM_HERE}import json, os, sys; fd, path = json.loads(sys.argv[1]); "
    "os.fork() and os._exit(0); sys.path[:] = path; "
    "from misstep.policies.service.process import main; main(fd)"
)


def folder() -> Path:
    """The user's own folder for sockets; an error if somebody else could enter it."""
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
        hint="MISSTEP_SERVICE=off does without it",
    )


def place(device: str, surroundings: str = "") -> Path:
    """The socket of the service of a device, for code in these surroundings."""
    import misstep

    name = "cuda:0" if device == "cuda" else device
    # What the devices are called differs between processes that see different ones.
    seen = os.environ.get("CUDA_VISIBLE_DEVICES", "all")
    folder_of_ours, code = str(Path(misstep.__file__).parent), identity().code
    parts = (name, seen, sys.executable, folder_of_ours, code, surroundings)
    return folder() / f"service-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}"


def surroundings_here() -> str:
    """What a user's code depends on beside its files, as a digest: the folder, the modules and the environment."""
    variables = {name: own for name, own in os.environ.items() if name not in _OURS}
    told = json.dumps([os.getcwd(), sys.path, variables], sort_keys=True)  # noqa: PTH109
    return hashlib.sha256(told.encode()).hexdigest()


def connect(device: str, surroundings: str = "") -> socket.socket:
    """A connection to the service of a device, which is started if it is not there."""
    path = place(device, surroundings)
    found = _reach(path)
    if found is not None:
        return found
    with _lock(path):
        found = _reach(path)  # somebody else may have started it meanwhile
        if found is None:
            _start(path)
            found = _reach(path)
    if found is None:
        raise ToolError("the inference service cannot be reached", where=str(path))
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
    fd = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
        log = os.open(log_of(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            started = subprocess.Popen(
                [sys.executable, "-c", _MAIN, argument],
                stdin=subprocess.DEVNULL,
                # Not the streams of this process: whoever reads them would wait for the service to end.
                stdout=log,
                stderr=log,
                pass_fds=[listening.fileno()],
                # Off, or it would ask itself. All processes that test have this seed of hashes.
                env={**os.environ, VARIABLE: "off", HASH_SEED: "0"},
                start_new_session=True,  # Ctrl-C is for the campaign; others may go on
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
    """The last line that the service of a device has written, for error messages."""
    try:
        lines = (
            Path(log_of(place(device, surroundings)))
            .read_text(errors="replace")
            .strip()
            .splitlines()
        )
    except OSError:
        return ""
    return lines[-1][:300] if lines else ""


__all__ = ["connect", "folder", "last_words", "peer", "place", "surroundings_here"]
