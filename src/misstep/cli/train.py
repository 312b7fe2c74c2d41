"""`misstep train`: its verbs."""

from __future__ import annotations

import typer

from misstep.cli.verbs import VERBS, TrainGroup, show_help

app = typer.Typer(
    cls=TrainGroup, help=VERBS["train"].help, add_completion=False, rich_markup_mode=None
)
app.callback(invoke_without_command=True)(show_help)
