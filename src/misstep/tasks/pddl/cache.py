"""Translations kept on disk, addressed by what went into them.

An entry is one file: a line with the checksum, then the compressed SAS text. It is written to a
temporary file and then moved, so a reader sees a whole entry or none, even if the writer is killed.
A damaged entry is removed and counts as absent. If the cache cannot be used (read-only, full disk),
this is never an error, because everything in it can be computed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
import time
import zlib
from pathlib import Path

from misstep.decoding import unpack
from misstep.errors import InputFileError
from misstep.files import read_bytes

MAX_CACHE_BYTES = 1024**3
_MAX_UNPACKED = 2**31

_MAGIC = b"misstep-translation-1"
_ENTRY = re.compile(r"[0-9a-f]{64}\.sasz")
_UNFINISHED_PREFIX = ".unfinished-"
_UNFINISHED_SECONDS = 3600.0
_KEY = re.compile(r"[0-9a-f]{64}")


def cache_key(*parts: bytes) -> str:
    """The address of a translation: a hash of everything that its content depends on."""
    digest = hashlib.sha256(_MAGIC)
    for part in parts:
        # The length in front keeps ("ab", "c") and ("a", "bc") apart.
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def default_folder() -> Path | None:
    """`MISSTEP_CACHE_DIR`, else `XDG_CACHE_HOME/misstep`, else `~/.cache/misstep`."""
    own = os.environ.get("MISSTEP_CACHE_DIR")
    if own:
        return Path(own).absolute() / "translations"
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore relative paths.
    if base and Path(base).is_absolute():
        return Path(base) / "misstep" / "translations"
    try:
        return Path.home() / ".cache" / "misstep" / "translations"
    except RuntimeError:
        return None


class TranslationCache:
    """A folder of translations, bounded in size; the least recently used go first."""

    def __init__(self, folder: Path | None = None, max_bytes: int = MAX_CACHE_BYTES) -> None:
        self.folder = default_folder() if folder is None else folder
        self.max_bytes = max_bytes

    def get(self, key: str) -> bytes | None:
        """The translation stored under the key, or None."""
        path = self._path(key)
        if path is None:
            return None
        try:
            entry = read_bytes(path, self.max_bytes, "a translation")
        except InputFileError:
            return None
        data = _unpack(entry)
        if data is None:
            _remove(path)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # Recently used.
        return data

    def put(self, key: str, data: bytes) -> bool:
        """Store a translation; False if the cache cannot be written."""
        path = self._path(key)
        if path is None or len(data) > _MAX_UNPACKED:
            return False
        entry = _pack(data)
        if len(entry) > self.max_bytes:
            return False
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=_UNFINISHED_PREFIX, dir=path.parent)
        except (OSError, ValueError):
            return False
        unfinished = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(entry)
            unfinished.replace(path)
        except OSError:
            return False
        finally:
            _remove(unfinished)  # Gone already unless something went wrong.
        self._shrink(keep=path)
        return True

    def clear(self) -> int:
        """Remove all translations, nothing else; the number of entries removed."""
        removed = 0
        for path, _, _ in self._files():
            if _remove(path) and _ENTRY.fullmatch(path.name):
                removed += 1
        return removed

    def size(self) -> int:
        """Bytes in use."""
        return sum(size for _, size, _ in self._files())

    def _path(self, key: str) -> Path | None:
        assert _KEY.fullmatch(key), key
        return None if self.folder is None else self.folder / f"{key}.sasz"

    def _files(self) -> list[tuple[Path, int, float]]:
        """Our files with size and time of last use; other processes may remove some in the meantime."""
        files: list[tuple[Path, int, float]] = []
        if self.folder is None:
            return files
        with contextlib.suppress(OSError, ValueError), os.scandir(self.folder) as entries:
            for entry in entries:
                if _ENTRY.fullmatch(entry.name) or entry.name.startswith(_UNFINISHED_PREFIX):
                    with contextlib.suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        files.append((Path(entry.path), status.st_size, status.st_mtime))
        return files

    def _shrink(self, keep: Path) -> None:
        """Bring the folder below its bound and remove what killed processes left behind."""
        files = sorted(self._files(), key=lambda file: file[2])
        total = sum(size for _, size, _ in files)
        now = time.time()
        for path, size, used in files:
            if path.name.startswith(_UNFINISHED_PREFIX):
                # Another process may still be writing a recent one.
                doomed = now - used > _UNFINISHED_SECONDS
            else:
                doomed = total > self.max_bytes and path != keep
            if doomed and _remove(path):
                total -= size


def _pack(data: bytes) -> bytes:
    body = zlib.compress(data, level=1)
    return _MAGIC + b" " + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _unpack(entry: bytes) -> bytes | None:
    header, _, body = entry.partition(b"\n")
    if header != _MAGIC + b" " + hashlib.sha256(body).hexdigest().encode():
        return None
    try:
        return unpack(body, _MAX_UNPACKED)
    except ValueError:
        return None


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True
