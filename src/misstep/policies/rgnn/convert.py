"""`python -m misstep.policies.rgnn.convert CHECKPOINT OUT`: from a checkpoint to OUT.safetensors and OUT.json.

The checkpoint is read by our own reader: nothing in it is executed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from misstep.errors import MisstepError, UsageError


def convert(checkpoint: Path, out: Path) -> tuple[Path, Path]:
    """The files written."""
    from misstep.policies.gnn.checkpoint import read_checkpoint
    from misstep.policies.rgnn.model_file import write_model

    return write_model(read_checkpoint(checkpoint), out)


def main(arguments: Sequence[str]) -> int:
    try:
        if len(arguments) != 2:
            raise UsageError(
                f"{len(arguments)} arguments", expected="a checkpoint and a name for the result"
            )
        for path in convert(Path(arguments[0]), Path(arguments[1])):
            print(path)
    except MisstepError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

__all__ = ["convert", "main"]
