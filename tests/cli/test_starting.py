"""The command starts quickly because it loads little, and ends quietly when it is interrupted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from misstep import __main__ as program
from misstep.cli import defaults
from misstep.cli.verbs import EXPORT_VERBS, TRAIN_VERBS, VERBS, Verb, load_command
from misstep.errors import Interrupted
from support.commands import misstep

# Modules under misstep.cli that belong to the program itself and not to a verb.
SHARED = {
    "arguments",
    "colours",
    "wording",
    "completion",
    "defaults",
    "failure",
    "main",
    "output",
    "plain",
    "verbs",
    "watch",
}
HEAVY = {"numpy", "misstep._core", "pydantic", "rich.console", "rich.progress", "rich.table"}

LOADED = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from misstep.__main__ import main
main()
"""


def start(
    *arguments: str, code: int = 0, environment: dict[str, str] | None = None
) -> tuple[subprocess.CompletedProcess[str], set[str]]:
    """What the program prints, and the modules that it has loaded at its end."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    assert done.returncode == code, done.stderr
    return done, set(done.stderr.split())


def complete(words: str, shell: str = "bash") -> tuple[list[str], set[str]]:
    """The answers to a shell that completes the last of these words."""
    environment = {
        "_MISSTEP_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "_TYPER_COMPLETE_ARGS": words,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done, loaded = start(environment=environment)
    return done.stdout.splitlines(), loaded


def commands_in(loaded: set[str]) -> set[str]:
    names = {name.split(".")[2] for name in loaded if name.startswith("misstep.cli.")}
    return names - SHARED


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["-h"], []], ids=str)
def test_no_command_is_loaded_where_none_is_called(arguments: list[str]) -> None:
    done, loaded = start(*arguments)
    assert done.stdout.startswith(("misstep ", "Usage: misstep "))
    assert not commands_in(loaded)
    assert not loaded & HEAVY


def test_the_rule_notices_a_command() -> None:
    _, loaded = start("generate", "--help")
    assert commands_in(loaded) == {"generate"}


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_the_help_of_a_command_does_not_load_what_the_command_needs(verb: str) -> None:
    _, loaded = start(verb, "--help")
    assert not loaded & {"numpy", "rich.progress", "misstep.campaigns.store", "misstep.safety"}


@pytest.mark.parametrize(
    "arguments", [["records", "nowhere"], ["replay", "nowhere"], ["explain", "nowhere"]], ids=str
)
def test_a_campaign_is_looked_for_before_numpy_is_loaded(arguments: list[str]) -> None:
    _, loaded = start(*arguments, code=30)
    assert "misstep.campaigns.store" in loaded
    assert not loaded & {"numpy", "rich.progress"}


@pytest.mark.parametrize("task", ["nowhere.sas", "nowhere.jani"])
def test_a_task_is_looked_for_before_numpy_is_loaded(task: str) -> None:
    _, loaded = start("test", task, "--policy", "first", code=30)
    assert not loaded & {"numpy", "rich.progress"}


def all_verbs() -> list[tuple[str, Verb]]:
    return [*VERBS.items(), *TRAIN_VERBS.items(), *EXPORT_VERBS.items()]


@pytest.mark.parametrize(
    ("name", "verb"), all_verbs(), ids=lambda x: x if isinstance(x, str) else ""
)
def test_a_line_of_help_is_that_of_its_command(name: str, verb: Verb) -> None:
    command = load_command(name, verb)
    assert command.name == name
    assert verb.help == command.get_short_help_str(limit=10_000)


def test_the_help_lists_every_verb_with_its_whole_line() -> None:
    for group, verbs in {"": VERBS, "train": TRAIN_VERBS, "export": EXPORT_VERBS}.items():
        shown = misstep(*group.split(), "--help").stdout
        listed = " ".join(shown[shown.index("Commands:") :].partition("First steps:")[0].split())
        expected = " ".join(f"{name} {verb.help}" for name, verb in verbs.items())
        assert listed == f"Commands: {expected}"


def test_every_command_module_belongs_to_a_verb() -> None:
    folder = Path(import_module("misstep.cli").__path__[0])
    parts = {path.stem for path in folder.glob("*.py")} - SHARED - {"__init__"}
    called = {verb.command.partition(":")[0].rpartition(".")[2] for _, verb in all_verbs()}
    # What verbs share among themselves.
    shared = {"campaigns", "ending", "families", "gates", "groups", "models", "pace", "progress"}
    shared |= {"repeats", "testing_options"}
    assert parts - called == shared


OWNERS = {
    "MAX_STEPS": "misstep.runs.outcomes:DEFAULT_MAX_STEPS",
    "ORACLE": "misstep.oracles.presets:DEFAULT_ORACLE",
    "REVISIT": "misstep.runs.single:REVISIT",
    "PERMITTED_LIMIT": "misstep.runs.outcomes:DEFAULT_LIMIT",
    "CENSUS_STATES": "misstep.tasks.census:DEFAULT_MAX_STATES",
    "DOMINANCE_STATES": "misstep.oracles.dominance:DominanceSettings.limit_states",
    "DOMINANCE_TRANSITIONS": "misstep.oracles.dominance:DominanceSettings.limit_transitions",
    "DOMINANCE_STEPS": "misstep.oracles.dominance:DominanceSettings.steps",
    "PROVE_ASK": "misstep.safety.prove.models:ASK",
    "PROVE_FROM": "misstep.oracles.prove:SCOPES",
    "EXPLAIN_SECONDS": "misstep.campaigns.deeper:DEFAULT_SECONDS",
    "MEASURE_STATES": "misstep.comparison.families.measure:DEFAULT_STATES",
    "FAULT_BUDGET": "misstep.campaigns.settings:DEFAULT_FAULT_BUDGET",
    "INAPPLICABLE": "misstep.safety.system:INAPPLICABLE",
    "LOOKAHEAD_CAP": "misstep.safety.fuzz:LOOKAHEAD_CAP",
    "ON_REVISIT": "misstep.campaigns.settings:ModelSettings.on_revisit",
    "LAYERS": "misstep.campaigns.settings:ModelSettings.layers",
    "DISTANCE": "misstep.campaigns.settings:ModelSettings.distance",
    "SEVERITY": "misstep.campaigns.settings:ModelSettings.severity",
    "SEVERITY_BUDGET": "misstep.campaigns.settings:ModelSettings.severity_budget",
    "RUNS": "misstep.campaigns.settings:ModelSettings.runs",
    "SAFETY_EVALUATIONS": "misstep.campaigns.settings:ModelSettings.evaluations",
    "OPEN_EVALUATIONS": "misstep.campaigns.settings:ModelSettings.open_evaluations",
    "SAFETY_ORACLE": "misstep.campaigns.settings:DEFAULT_DECIDER",
    "RISK_PRECISION": "misstep.safety.risk:RiskSettings.precision",
    "RISK_STATES": "misstep.safety.risk:RiskSettings.max_states",
    "RISK_RUNS": "misstep.safety.risk:RiskSettings.runs",
    "RISK_LEVEL": "misstep.safety.risk:RiskSettings.level",
    "TEST_POOL": "misstep.training.testing:POOL_SIZE",
    "TEST_ORACLE": "misstep.training.testing:TEST_ORACLE",
    "ALGORITHMS": "misstep.training.algorithms:NAMES",
    "CRITERIA": "misstep.training.algorithms:CRITERIA",
    "INITS": "misstep.training.algorithms:N_INIT",
    "RECIPES": "misstep.training.settings:RECIPE_NAMES",
    "START_EPOCHS": "misstep.training.algorithms:N_START",
    "TEACHER_STATES": "misstep.training.teachers:EXHAUSTIVE_STATES",
    "TEACHER_EXPANSIONS": "misstep.training.teachers:ASTAR_EXPANSIONS",
    "RETEST": "misstep.training.feedback:Feedback.every",
    "BUG_SOURCE": "misstep.training.feedback:Feedback.source",
    "BUG_STATES": "misstep.training.feedback:SOURCES",
    "BUG_LABELS": "misstep.training.feedback:Feedback.labels",
    "BUG_RATIO": "misstep.training.feedback:Feedback.ratio",
    "BUG_NUMBER": "misstep.training.feedback:Feedback.states",
}


def test_the_defaults_that_help_shows_are_those_of_their_owners() -> None:
    shown = {name: value for name, value in vars(defaults).items() if name.isupper()}
    owned: dict[str, Any] = {}
    for name, owner in OWNERS.items():
        module, _, path = owner.partition(":")
        value: Any = import_module(module)
        for part in path.split("."):
            value = getattr(value, part)
        owned[name] = value
    assert shown == owned


def test_completion_of_verbs_loads_no_command() -> None:
    found, loaded = complete("misstep re")
    assert found == [verb for verb in VERBS if verb.startswith("re")]
    assert not commands_in(loaded)
    assert not loaded & HEAVY
    assert set(complete("misstep ")[0]) == set(VERBS)
    assert "--version" in complete("misstep --")[0]


def test_completion_of_options_and_of_further_verbs() -> None:
    found, loaded = complete("misstep test --po")
    assert found == ["--policy", "--pool-from", "--pool"]
    assert commands_in(loaded) >= {"test"}
    assert "numpy" not in loaded
    assert complete("misstep export pl")[0] == ["plan"]
    assert complete("misstep train ")[0] == ["asnet", "qlearning", "loop"]
    assert complete("misstep generate gri")[0] == ["gripper"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_shows_a_line_an_answer(shell: str) -> None:
    found, loaded = complete("misstep re", shell)
    assert len(found) == sum(verb.startswith("re") for verb in VERBS)
    assert any("Replay every run" in line for line in found)
    assert not commands_in(loaded)
    assert not loaded & HEAVY
    assert len(complete("misstep census --inapp", shell)[0]) == 1  # its help is longer than a line


def test_a_group_without_a_verb_shows_its_help() -> None:
    for arguments in ([], ["train"], ["export"], ["generate"]):
        bare = misstep(*arguments)
        assert (bare.returncode, bare.stderr) == (0, "")
        assert bare.stdout == misstep(*arguments, "--help").stdout
        assert bare.stdout == misstep(*arguments, "-h").stdout


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["nonsense"], "misstep"),
        (["--nonsense"], "misstep"),
        (["test", "--nonsense"], "misstep test"),
        (["train", "nonsense"], "misstep train"),
        (["train", "asnet"], "misstep train asnet"),
        (["generate", "gripper", "--balls", "x"], "misstep generate gripper"),
    ],
    ids=str,
)
def test_a_usage_error_names_the_help_of_its_command(arguments: list[str], command: str) -> None:
    done = misstep(*arguments)
    assert done.returncode == 2
    assert done.stderr.endswith(f"; see {command} --help\n")


def test_the_short_form_of_help_works_everywhere() -> None:
    for name in VERBS:
        assert f"Usage: misstep {name} " in misstep(name, "-h").stdout
    assert "Usage: misstep generate gripper " in misstep("generate", "gripper", "-h").stdout


CTRL_C_AT_IMPORT = """
import os, signal, sys

class CtrlC:
    def find_spec(self, name, *_):
        if name == {module!r}:
            exec("os.kill(os.getpid(), signal.SIGINT)\\nfor _ in range(99): pass")  # as in making a dataclass

sys.meta_path.insert(0, CtrlC())
{before}
from misstep.__main__ import main
main()
"""


def interrupted(
    folder: Path, module: str, *arguments: str, before: str = ""
) -> subprocess.CompletedProcess[str]:
    """The program, stopped where it imports a module. Run by `-m`: other ways of ending lose sight of the Ctrl-C."""
    (folder / "starts.py").write_text(CTRL_C_AT_IMPORT.format(module=module, before=before))
    return subprocess.run(
        [sys.executable, "-m", "starts", *arguments], capture_output=True, text=True, cwd=folder
    )


@pytest.mark.parametrize(
    "module", ["misstep.cli.main", "json", "typer", "misstep.cli.listing", "numpy"]
)
def test_ctrl_c_at_any_import_gives_one_line(tmp_path: Path, module: str) -> None:
    done = interrupted(tmp_path, module, "list", "--json")
    assert done.stderr == "misstep: stopped by the user\n"
    assert done.returncode == Interrupted.exit_code
    assert json.loads(done.stdout) == Interrupted("stopped by the user").as_dict()


def test_what_the_program_says_while_it_loads_is_what_it_says_later() -> None:
    stop = Interrupted("stopped by the user")
    assert stop.exit_code == program.CODE
    assert json.loads(program.OBJECT) == stop.as_dict()
    assert program.LINE.decode() == f"misstep: {stop}\n"


def test_ctrl_c_with_debug_shows_where(tmp_path: Path) -> None:
    assert "KeyboardInterrupt" in interrupted(tmp_path, "typer", "list", "--debug").stderr


def test_ctrl_c_that_was_ignored_from_the_start_stays_ignored(tmp_path: Path) -> None:
    done = interrupted(
        tmp_path, "typer", "--version", before="signal.signal(signal.SIGINT, signal.SIG_IGN)"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_census_of_one_task_loads_nothing_of_experiments(tmp_path: Path) -> None:
    misstep("generate", "gripper", "--balls", "1", "-o", str(tmp_path / "task"))
    _, loaded = start("census", str(tmp_path / "task"))
    assert not any(name.startswith("misstep.experiments") for name in loaded)
