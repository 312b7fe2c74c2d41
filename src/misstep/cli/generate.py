"""`misstep generate NAME`: write instances of the built-in domains, and the built-in models.

Each domain and model is a subcommand, and its parameters are options, so that `--help` explains them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from misstep.cli.arguments import AsJson
from misstep.cli.output import print_json
from misstep.cli.verbs import VERBS, SectionedCommand, show_help
from misstep.errors import UsageError
from misstep.tasks.domains import DOMAINS, BuiltinDomain, generate
from misstep.tasks.domains.write import write_instance
from misstep.tasks.models import MODELS, STARTS, BuiltinModel, generate_model, write_model
from misstep.tasks.parameters import AnyParameter, Flag, Text

INSTANCE = "What to generate"  # the heading of the options that describe it


class Generators(TyperGroup):
    """Lists domains and models in separate sections, without cutting lines."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        listed: tuple[tuple[str, Mapping[str, BuiltinDomain | BuiltinModel]], ...] = (
            ("Planning domains", DOMAINS),
            ("Models (JANI)", MODELS),
        )
        for title, known in listed:
            with formatter.section(title):
                formatter.write_dl([(name, own.summary) for name, own in known.items()])
        formatter.write_paragraph()
        formatter.write_text("Example: misstep generate beluga --racks 2 -o model.jani")

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = [*DOMAINS, *MODELS]
        if args and args[0] not in known and not args[0].startswith("-"):
            raise UsageError(f"no domain or model {args[0]!r:.80}", expected=", ".join(known))
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Generators, help=VERBS["generate"].help, add_completion=False, rich_markup_mode=None
)
app.callback(invoke_without_command=True)(show_help)

Folder = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="DIR", help="Folder to write to. Default: ./NAME."),
]
File = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="File to write; its name must end in .jani. Default: ./NAME.jani.",
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        min=0,
        help="Seed of all random choices: the same seed gives the same instance.",
        rich_help_panel=INSTANCE,
    ),
]
Starts = Annotated[
    int,
    typer.Option(
        help="Number of initial states to draw and list, in addition to the condition for initial states.",
        rich_help_panel=INSTANCE,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that differ.")]
Command = Callable[..., int]


def _domain(domain: BuiltinDomain) -> Command:
    def run(seed: int, output: Path | None, force: bool, as_json: bool, **sizes: int) -> int:
        instance = generate(domain.name, seed=seed, **sizes)
        files = write_instance(instance, output or Path(instance.name), force=force)
        if as_json:
            print_json({"name": instance.name, "domain": str(files[0]), "problem": str(files[1])})
        else:
            print(*files, sep="\n")
        return 0

    example = f"misstep generate {domain.name} --seed 1 -o task"
    return _command(run, domain.summary, domain.parameters, example, output=(Folder, None))


def _model(model: BuiltinModel) -> Command:
    def run(
        seed: int, starts: int, output: Path | None, force: bool, as_json: bool, **choices: Any
    ) -> int:
        if output is not None and output.suffix.lower() != ".jani" and not output.is_dir():
            raise UsageError(
                f"-o {output}: the name of a model file must end in .jani",
                expected=f"a file that ends in .jani, such as {output}.jani",
            )
        instance = generate_model(model.name, seed=seed, starts=starts, **choices)
        path = output or Path(f"{instance.name}.jani")
        write_model(instance, path, force=force)
        if as_json:
            print_json({"name": instance.name, "model": str(path)})
        else:
            print(path)
        return 0

    example = f"misstep generate {model.name} --seed 1 -o model.jani"
    starts = (Starts, STARTS)
    return _command(
        run, model.summary, model.parameters, example, starts=starts, output=(File, None)
    )


def _command(
    run: Command,
    summary: str,
    choices: tuple[AnyParameter, ...],
    example: str,
    **options: tuple[Any, Any],
) -> Command:
    """A function with the signature from which typer makes the command line."""
    described = {choice.name: (_annotation(choice), choice.default) for choice in choices}
    described |= {"seed": (Seed, 0), **options, "force": (Force, False), "as_json": (AsJson, False)}
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(name, keyword, default=default, annotation=annotation)
        for name, (annotation, default) in described.items()
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    told = summary[0].upper() + summary[1:]
    run.__doc__ = f"{told}.\n\nExample: {example}"
    return run


def _annotation(choice: AnyParameter) -> Any:
    if isinstance(choice, Flag):
        flag = "--" + choice.name.replace("_", "-")
        return Annotated[bool, typer.Option(flag, help=choice.help, rich_help_panel=INSTANCE)]
    if isinstance(choice, Text):
        told = f"{choice.help} ({choice.form})"
        return Annotated[str, typer.Option(help=told, rich_help_panel=INSTANCE)]
    told = f"{choice.help} ({choice.minimum} to {choice.maximum})"
    return Annotated[int, typer.Option(help=told, rich_help_panel=INSTANCE)]


for _builtin_domain in DOMAINS.values():
    app.command(_builtin_domain.name, cls=SectionedCommand)(_domain(_builtin_domain))
for _builtin_model in MODELS.values():
    app.command(_builtin_model.name, cls=SectionedCommand)(_model(_builtin_model))
