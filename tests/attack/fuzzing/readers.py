"""All readers by their names."""

from __future__ import annotations

from attack.fuzzing import checkpoints, networks, stored, tasks, texts
from attack.fuzzing.reader import Reader

READERS: dict[str, Reader] = {
    reader.name: reader
    for module in (tasks, networks, checkpoints, texts, stored)
    for reader in module.READERS
}
