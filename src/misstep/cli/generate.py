"""`misstep generate DOMAIN`: instances of the built-in domains.

Each domain is a subcommand whose options are its size parameters, so that `--help` explains them.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from misstep.cli.arguments import AsJson
from misstep.cli.output import print_json
from misstep.tasks.domains import DOMAINS, BuiltinDomain, generate
from misstep.tasks.domains.write import write_instance

app = typer.Typer(
    help="Write an instance of a built-in domain: domain.pddl and problem.pddl.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="DIR", help="Folder to write to; default: ./NAME."),
]
Seed = Annotated[int, typer.Option(min=0, help="Same seed, same instance.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that differ.")]


def _command(domain: BuiltinDomain) -> Any:
    def run(seed: int, output: Path | None, force: bool, as_json: bool, **sizes: int) -> int:
        instance = generate(domain.name, seed=seed, **sizes)
        files = write_instance(instance, output or Path(instance.name), force=force)
        if as_json:
            print_json({"name": instance.name, "domain": str(files[0]), "problem": str(files[1])})
        else:
            print(*files, sep="\n")
        return 0

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(
            size.name,
            keyword,
            default=size.default,
            annotation=Annotated[
                int, typer.Option(help=f"{size.help} ({size.minimum} to {size.maximum})")
            ],
        )
        for size in domain.parameters
    ]
    parameters += [
        inspect.Parameter("seed", keyword, default=0, annotation=Seed),
        inspect.Parameter("output", keyword, default=None, annotation=Output),
        inspect.Parameter("force", keyword, default=False, annotation=Force),
        inspect.Parameter("as_json", keyword, default=False, annotation=AsJson),
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = domain.summary
    return run


for _domain in DOMAINS.values():
    app.command(_domain.name)(_command(_domain))
