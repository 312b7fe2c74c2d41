"""All readers by their names."""

from __future__ import annotations

from attack.fuzzing import (
    answers,
    checkpoints,
    experiments,
    networks,
    processes,
    shared,
    stored,
    tasks,
    texts,
    trained,
    typed,
)
from attack.fuzzing.reader import Reader

READERS: dict[str, Reader] = {
    reader.name: reader
    for module in (
        tasks,
        networks,
        checkpoints,
        texts,
        stored,
        experiments,
        shared,
        trained,
        processes,
        answers,
        typed,
    )
    for reader in module.READERS
}
