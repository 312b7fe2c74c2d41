"""The version of Misstep on a machine. Records are reproducible only with the same code."""

from __future__ import annotations

import hashlib
import sys
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import misstep


class Identity(NamedTuple):
    """The version, code and Python of the Misstep in one process."""

    version: str
    code: str  # the digest of its Python files; the native core may be built for each machine
    python: str

    def __str__(self) -> str:
        return f"Misstep {self.version} (code {self.code[:8]}, Python {self.python})"


@lru_cache(maxsize=1)
def identity() -> Identity:
    """The identity of this process. Workers call it by its name, so one without Misstep cannot find it."""
    root = Path(misstep.__file__).parent
    total = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        total.update(f"{path.relative_to(root).as_posix()}\n".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Identity(misstep.__version__, total.hexdigest(), python)


__all__ = ["Identity", "identity"]
