"""The verbs of the `misstep` command: their help lines, and where their commands are.

A command is imported when its verb is used and not before: `misstep --help`, `misstep --version` and the completion of
a verb's name need the lines below and no more. A test compares each line with the docstring of its command.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typer.models import ParameterInfo

from misstep.cli.output import columns
from misstep.fitting import broken_command

# The part of a word before its last colon, which bash must not get again (see `completion`).
KEPT_BY_SHELL = "_MISSTEP_KEPT_BY_SHELL"


class Verb(NamedTuple):
    help: str  # the first sentence of the command's help
    command: str  # module:name of a function, or of a `typer.Typer` with further verbs


VERBS = {
    "test": Verb(
        "Test a policy: fuzz states, run the policy from them, let oracles judge, check every witness, keep all of it.",
        "misstep.cli.test:command",
    ),
    "run": Verb(
        "Run a policy once and print the operators it chooses.", "misstep.cli.run:run_command"
    ),
    "check-policy": Verb(
        "Check that a policy is a function of the state: asked twice, alone, in a batch, in any order, after reload, "
        "in another process.",
        "misstep.cli.check_policy:check_policy_command",
    ),
    "plan": Verb(
        "Find a plan and print it in the format of the planning competitions.",
        "misstep.cli.plan:plan_command",
    ),
    "census": Verb(
        "Enumerate the reachable states of a small task and count them, with exact distances to the goal.",
        "misstep.cli.census:census_command",
    ),
    "prove": Verb(
        "Prove that a policy never gets into an unsafe state of a model, or always reaches the goal of a task.",
        "misstep.cli.prove:prove_command",
    ),
    "risk": Verb(
        "Compute how likely a policy reaches an unsafe state of a model, and the least possible risk of any strategy.",
        "misstep.cli.risk:risk_command",
    ),
    "dominance": Verb(
        "Compute lower bounds on how much farther from the goal a state is than another: D(s, t) <= h*(s) - h*(t).",
        "misstep.cli.dominance:dominance_command",
    ),
    "train": Verb("Train a policy and test it while it learns.", "misstep.cli.train:app"),
    "select": Verb(
        "Test several policies on the same states and rank them by coverage, solved states and bugs.",
        "misstep.cli.select:select_command",
    ),
    "shield": Verb(
        "Write a shield for a policy on a model: it allows only labels that a decider proves to be safe.",
        "misstep.cli.shield:shield_command",
    ),
    "judge": Verb(
        "Judge the states of a campaign by another oracle, and keep its verdicts beside the others.",
        "misstep.cli.judge:judge_command",
    ),
    "retest": Verb(
        "Run a new version of a policy from every state of a campaign: which bugs are fixed, still there, or new.",
        "misstep.cli.retest:retest_command",
    ),
    "records": Verb(
        "Print the tested states of a campaign, by task and in the order of the pool; also while it is running.",
        "misstep.cli.records:records_command",
    ),
    "explain": Verb(
        "Explain a bug: the policy's run beside the better plan, the faults with their share of the gap, the repair.",
        "misstep.cli.explain:explain_command",
    ),
    "shrink": Verb(
        "Shrink bugs: find the smallest task that still shows the same fault of the policy.",
        "misstep.cli.shrink:shrink_command",
    ),
    "replay": Verb(
        "Replay every run and every witness of a campaign with the independent checker.",
        "misstep.cli.replay:replay_command",
    ),
    "export": Verb(
        "Write what a campaign found as files for other tools: tests, problems, plans, models, tables, figures.",
        "misstep.cli.export:app",
    ),
    "compare": Verb(
        "Compare campaigns: counts with exact intervals, what became of common states, families, paired tests.",
        "misstep.cli.compare:compare_command",
    ),
    "report": Verb(
        "Write what campaigns found as one HTML file that works offline, with every bug to step through.",
        "misstep.cli.report:report_command",
    ),
    "experiment": Verb(
        "Run an experiment of a paper, or one's own, and report it: tables, figures, claims, beside the paper's "
        "numbers.",
        "misstep.cli.experiment:experiment_command",
    ),
    "generate": Verb(
        "Write an instance of a built-in domain (domain.pddl and problem.pddl) or a built-in model (JANI).",
        "misstep.cli.generate:app",
    ),
    "serve-policy": Verb(
        "Serve a policy to other programs until Ctrl-C, without encryption or passwords.",
        "misstep.cli.serve_policy:serve_policy_command",
    ),
    "list": Verb(
        "List the built-in domains and models, the kinds of policies, the searches, the oracles and the fuzzers.",
        "misstep.cli.listing:list_command",
    ),
    "doctor": Verb(
        "Show versions, check that the core and the translator work, name what is missing and how to get it.",
        "misstep.cli.doctor:doctor_command",
    ),
}

FIRST_STEPS = (
    "misstep generate gripper --balls 6 -o task",
    "misstep test task --policy heuristic:ff --pool 20 -o found",
    "misstep explain found",
)

TRAIN_VERBS = {
    "asnet": Verb(
        "Train an ASNet on small tasks of a domain.", "misstep.cli.train_asnet:asnet_command"
    ),
    "qlearning": Verb(
        "Train a network on a JANI model by deep Q-learning.",
        "misstep.cli.train_qlearning:qlearning_command",
    ),
    "loop": Verb(
        "Test a network on a JANI model, let it learn from its bugs, and test it again, several times.",
        "misstep.cli.train_loop:loop_command",
    ),
}

EXPORT_VERBS = {
    "tests": Verb(
        "Write tests for pytest that replay the bugs with the current policy, as expected failures until they are "
        "fixed.",
        "misstep.cli.exports.tests:export_tests_command",
    ),
    "problem": Verb(
        "Write a state as a PDDL problem that starts there, with its domain; for a SAS task, as a SAS file.",
        "misstep.cli.exports.problem:problem_command",
    ),
    "plan": Verb(
        "Write the plan that proves a bug in the format of the planning competitions.",
        "misstep.cli.exports.plan:plan_command",
    ),
    "model": Verb(
        "Write a JANI model that starts in the state of a record, in one file.",
        "misstep.cli.exports.model:model_command",
    ),
    "csv": Verb(
        "Write a table of records or of the papers' numbers as CSV.",
        "misstep.cli.exports.csv:csv_command",
    ),
    "json": Verb(
        "Write the tables of campaigns as one JSON object.",
        "misstep.cli.exports.json:json_command",
    ),
    "latex": Verb(
        "Write a table of the papers' numbers, or of records, as LaTeX.",
        "misstep.cli.exports.latex:latex_command",
    ),
    "figure": Verb(
        "Draw the bugs over time, their severity, or the depth where they were found, as SVG or PDF.",
        "misstep.cli.exports.figure:figure_command",
    ),
    "baseline": Verb(
        "Write the bugs of a campaign as a baseline, with which later runs are compared.",
        "misstep.cli.exports.baseline:baseline_command",
    ),
}


def plain(written: str) -> str:
    """An option as shown in the help: a word stands for its value, not a Python type."""
    written = re.sub(r"^([^-].*\S|.* [A-Z.\]]+) <.*>$", r"\1", written)
    written = re.sub(r"<(?:int|float)(?: range)?>", "N", written)
    return re.sub(r"<(\w+)>", lambda found: found.group(1).upper(), written)


def _example(line: str, formatter: Any) -> list[str]:
    """In one line; on a terminal that is too narrow for it, in lines that a shell reads as one."""
    indent = formatter.current_indent + 2
    line = " " * indent + line
    room = columns(sys.stdout)
    return [line] if room is None or len(line) <= room else broken_command(line, indent, room)


def in_words(told: str) -> str:
    """The help of an option, with words in the place of formulas such as x>=0."""
    told = re.sub(r"([\d.]+)<=x<=([\d.]+)", r"\1 to \2", told)
    return re.sub(r"x>=([\d.]+)", r"\1 or more", told)


class SectionedCommand(TyperCommand):
    """A command that shows a section for each group of options, and examples that can be copied."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        if "_MISSTEP_COMPLETE" in os.environ:
            from misstep.cli.completion import attach

            attach(self.params, os.environ.get(KEPT_BY_SHELL, ""))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Write `TASK...` and `[DIR]`; typer would write `{TASK...}...` and `[[DIR]]`."""
        pieces = super().collect_usage_pieces(ctx)
        return [
            re.sub(r"^(?:\{(.*)\}|\[(\[.*\])\]|(\[.*\]))(?:\.\.\.)?$", r"\1\2\3", piece)
            for piece in pieces
        ]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Wrap paragraphs but not examples, so that these can be copied."""
        for paragraph in inspect.cleandoc(self.help or "").split("\n\n"):
            formatter.write_paragraph()
            with formatter.indentation():
                told, example, line = paragraph.partition("Example: ")
                if told.strip() or not example:
                    formatter.write_text(paragraph)
                else:
                    formatter.write(" " * formatter.current_indent + "Example:\n")
                    formatter.write("\n".join(_example(line.strip(), formatter)) + "\n")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            line = parameter.get_help_record(ctx)
            is_argument = parameter.param_type_name == "argument"
            heading = getattr(parameter, "rich_help_panel", None)
            if line is not None:
                title = "Arguments" if is_argument else heading or "Options"
                sections.setdefault(title, []).append((plain(line[0]), in_words(line[1])))
        for title in sorted(sections, key=lambda title: (title != "Arguments", title == "Options")):
            with formatter.section(title):
                formatter.write_dl(sections[title])


def load_command(name: str, verb: Verb) -> Any:
    """Import the command of a verb and convert it for typer's parser."""
    module, _, attribute = verb.command.partition(":")
    target = getattr(import_module(module), attribute)
    if not isinstance(target, typer.Typer):
        function, target = target, typer.Typer(add_completion=False, rich_markup_mode=None)
        target.command(name, cls=SectionedCommand)(function)
    for own in target.registered_commands:
        _leave_files_unchecked(own.callback)
    command = get_command(target)
    command.name = name
    return command


def _leave_files_unchecked(function: Any) -> None:
    """Let typer accept files that cannot be read: whoever reads them says so, and that is no bad usage."""
    # Each evaluation makes its own objects, so the signature is kept for typer.
    function.__signature__ = inspect.signature(function, eval_str=True)
    for parameter in function.__signature__.parameters.values():
        for own in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(own, ParameterInfo):
                own.readable = False


class VerbGroup(TyperGroup):
    """A group of verbs. It lists their names and help lines, and loads only the verb that is called."""

    verbs: ClassVar[dict[str, Verb]] = VERBS

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, verb in self.verbs.items():
            self.add_command(TyperCommand(name, help=verb.help))

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        # Typer would cut lines that are longer than the terminal is wide.
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.help) for name, verb in self.verbs.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None:
            command = load_command(name, self.verbs[name])
        return name, command, rest


class RootGroup(VerbGroup):
    """All verbs, and below them, where the eye rests after a long list, what to type first."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        with formatter.section("First steps"):
            for command in FIRST_STEPS:
                formatter.write(" " * formatter.current_indent + f"{command}\n")


class TrainGroup(VerbGroup):
    verbs = TRAIN_VERBS


class ExportGroup(VerbGroup):
    verbs = EXPORT_VERBS


def show_help(context: typer.Context) -> None:
    """Print the help of a group if no verb is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
