"""All readers by their names."""

from __future__ import annotations

from attack.fuzzing import networks, stored, tasks, texts
from attack.fuzzing.reader import Reader

READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (*tasks.READERS, *networks.READERS, *texts.READERS, *stored.READERS)
}
