"""The `misstep` command: verbs, one error line, exit codes.

Standard output carries results only (with `--json` exactly one JSON object); progress, remarks and
errors go to standard error. Every error a user can cause is a `MisstepError` with its exit code.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from misstep.cli.arguments import repeat_options
from misstep.cli.failure import close_output, ended_by_itself, tell
from misstep.cli.output import keep_output_clean
from misstep.cli.plain import plain_output, same_streams
from misstep.cli.verbs import KEPT_BY_SHELL, RootGroup, show_help
from misstep.cli.wording import as_typed, plain_usage, refuse_unreadable
from misstep.errors import (
    Interrupted,
    MemoryLimitError,
    MisstepError,
    UsageError,
)
from misstep.files import is_of_current_folder, of_system
from misstep.raised import in_words
from misstep.stops import interrupt_once

HELP = """Test learned action policies and prove what you find.

misstep test keeps what it finds in a folder, a campaign, which the other commands read.

Every command takes --json (one JSON object on standard output) and --debug (show tracebacks).
Exit codes: 0 done, 1 bugs found, 2 bad usage, 10-19 undecided, 20-29 a limit, 30-39 bad input.
"""

app = typer.Typer(
    name="misstep",
    cls=RootGroup,
    help=HELP,
    context_settings={
        "help_option_names": ["-h", "--help"],
        # Typer 0.29 loads pydantic if the value of a flag is None, so the default is False.
        "default_map": dict.fromkeys(("help", "install_completion", "show_completion"), False),
    },
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        import misstep

        typer.echo(f"misstep {misstep.__version__}")
        raise typer.Exit
    show_help(context)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the `misstep` program."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in arguments
    as_json = "--json" in arguments
    # --debug belongs to every command, and only changes what is shown on failure.
    arguments = [argument for argument in arguments if argument != "--debug"]
    clean = "_MISSTEP_COMPLETE" not in os.environ and keep_output_clean()
    if threading.current_thread() is threading.main_thread():
        # Treat a request to end (`kill`, a cluster, a closed terminal) as Ctrl-C, so that everything is cleaned up.
        signal.signal(signal.SIGTERM, interrupt_once)
        if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # not under `nohup`
            signal.signal(signal.SIGHUP, interrupt_once)
    with plain_output():
        code = _guarded(lambda: _run(arguments), arguments, as_json=as_json, debug=debug)
    if code == Interrupted.exit_code:
        # If Ctrl-C arrives in code that Python compiles from text (as for a dataclass), Python remembers it even if it
        # was caught, and would end as if it had been killed. It forgets that when it next runs such code.
        exec("")
    try:
        sys.stderr.flush()
    except OSError:  # a policy has closed it; Python would end with an exit code of its own
        close_output(sys.stderr.fileno())
    if clean:
        sys.stdout = sys.stderr  # from here on only a policy may still print; our output is flushed
    sys.exit(code)


def _run(arguments: list[str]) -> Any:
    asks_for_script = any(word.endswith("-completion") for word in arguments[:1])
    if asks_for_script or os.environ.get("_MISSTEP_COMPLETE") == "source_bash":
        _end_no_words()
    if "_MISSTEP_COMPLETE" in os.environ:
        _complete_plainly()
        if os.environ["_MISSTEP_COMPLETE"] == "complete_bash":
            from misstep.cli.completion import joined_at_colons

            os.environ[KEPT_BY_SHELL] = joined_at_colons(os.environ)
    else:
        refuse_unreadable(arguments)
    try:
        code = app(repeat_options(arguments), prog_name="misstep", standalone_mode=False)
    except UsageError as error:
        as_typed(error, arguments)
        raise
    if code == 130:  # what typer makes of Ctrl-C
        raise KeyboardInterrupt
    return code


def _complete_plainly() -> None:
    """Give help lines to the shell unchanged.

    Typer would load rich to remove markup, which we do not use. Rich would also break the lines, and fish would take
    each piece for another completion. Typer has no option for this, so the function is replaced.
    """
    with suppress(ImportError):
        from typer import _completion_classes as shells

        if hasattr(shells, "_sanitize_help_text"):
            shells._sanitize_help_text = lambda text: text


def _end_no_words() -> None:
    """Hand out a script for bash that adds no space after `shield:`. Typer has no option for this either."""
    with suppress(ImportError, AttributeError):
        from typer import _completion_classes as shells
        from typer import _completion_shared as scripts

        from misstep.cli.completion import without_space

        script = without_space(scripts._completion_scripts["bash"])
        scripts._completion_scripts["bash"] = script
        shells.BashComplete.source_template = script


def _path(problem: TyperException) -> str:
    """The command that a usage error is about, such as `misstep train asnet`."""
    context = getattr(problem, "ctx", None)
    return "misstep" if context is None else str(context.command_path)


def _is_ours(error: BaseException) -> bool:
    """Whether typer or our own commands have raised it, and not the code of a policy."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    module = "" if place is None else place.tb_frame.f_globals.get("__name__")
    return isinstance(module, str) and module.startswith(("typer.", "misstep.cli."))


def _guarded(
    run: Callable[[], Any], arguments: Sequence[str], *, as_json: bool, debug: bool
) -> int:
    try:
        with same_streams():
            code = run()
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except typer.Exit as stop:
        return int(stop.exit_code)
    except SystemExit as stop:
        if _is_ours(stop):
            # Typer ends so after completions, and where the reader of our output has gone (`misstep ... | head`).
            cause = stop.__context__
            if not isinstance(cause, OSError):
                return stop.code if isinstance(stop.code, int) else 1
            if _is_ours(cause):
                close_output()
                return 0
        shown = f"exit code {stop.code}" if type(stop.code) is int else "SystemExit"
        error: MisstepError = ended_by_itself(shown)
        if debug:
            raise error from stop  # by itself, it would show nothing
    except BrokenPipeError as problem:
        if _is_ours(problem):
            close_output()
            return 0
        if debug:
            raise
        error = ended_by_itself("a broken pipe")
    except (KeyboardInterrupt, typer.Abort) as stop:
        if debug:
            raise
        error = Interrupted("stopped by the user")
        error.__cause__ = stop
    except MemoryError:
        if debug:
            raise
        error = MemoryLimitError("out of memory", hint="try a smaller task")
    except TyperException as problem:
        if debug:
            raise
        what, expected = plain_usage(problem.format_message().rstrip("."), arguments)
        error = UsageError(what, expected=expected, hint=f"see {_path(problem)} --help")
    except MisstepError as problem:
        if debug:
            raise
        error = problem
    except OSError as problem:
        if debug:
            raise
        error = of_system(problem)
        if problem.filename is None and not is_of_current_folder(problem):
            close_output()
    except Exception as problem:
        if debug:
            raise
        error = MisstepError(
            f"internal error: {in_words(problem)}",
            hint="please report it, with the output of the same command and --debug",
        )
    return tell(error, as_json=as_json)
