"""`misstep export`: its verbs."""

from __future__ import annotations

import typer

from misstep.cli.verbs import VERBS, ExportGroup, show_help

app = typer.Typer(
    cls=ExportGroup, help=VERBS["export"].help, add_completion=False, rich_markup_mode=None
)
app.callback(invoke_without_command=True)(show_help)
