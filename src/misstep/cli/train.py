"""`misstep train`: what its verbs share."""

from __future__ import annotations

import typer

from misstep.cli.verbs import VERBS, TrainGroup, show_help
from misstep.errors import UsageError

app = typer.Typer(
    cls=TrainGroup, help=VERBS["train"].help, add_completion=False, rich_markup_mode=None
)
app.callback(invoke_without_command=True)(show_help)


def require_device(device: str) -> None:
    """PyTorch, and the device, or a line on what is missing."""
    from misstep.training.network import has_cuda

    kind = device.partition(":")[0]
    if kind not in ("cpu", "cuda"):
        raise UsageError(f"no device {device!r}", expected="cpu or cuda")
    if kind == "cuda" and not has_cuda():
        raise UsageError("there is no CUDA device that PyTorch can use", hint="use --device cpu")
