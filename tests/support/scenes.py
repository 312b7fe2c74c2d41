"""What the commands of each page take for granted, what is made smaller for the tests, and which are not run."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from support.commands import misstep
from support.transcripts import ROOT, Command

POLICY = '''def act(state):
    """Drops what it can, else takes the first operator that applies."""
    for name in state.operators:
        if name.startswith("drop"):
            return name
    return state.operators[0]


policy = act
'''
SMALL = "misstep generate gripper --balls 2 -o task"
FOUND = "misstep test task --policy noisy:0.3:1+optimal --pool 12 -o found"


def files(folder: Path) -> None:
    """A task as two files in the folder itself, and a policy in Python."""
    shutil.copy(folder / "task" / "domain.pddl", folder)
    shutil.copy(folder / "task" / "problem.pddl", folder)
    for name in ("policy.py", "mine.py"):
        (folder / name).write_text(POLICY)


def suite(folder: Path) -> None:
    """The same files, and a folder of tasks."""
    files(folder)
    shutil.copytree(folder / "task", folder / "tasks")


def program(folder: Path) -> None:
    """The same task, and the example of a policy that is a program."""
    files(folder)
    shutil.copy(ROOT / "examples" / "policies" / "first_applicable.py", folder)


@dataclass(frozen=True)
class Scene:
    """How the commands of a page are run."""

    before: tuple[str, ...] = ()
    prepare: Callable[[Path], None] = lambda _: None  # after `before`
    # Words that make the work small: what stands in a command, and what is typed instead.
    smaller: dict[str, str] = field(default_factory=dict)
    needs: str | None = None  # a package that the commands need
    slow: bool = False  # longer than some seconds: `make soundness`
    server: str | None = None  # how a command begins that goes on while the next ones run
    codes: tuple[int, ...] = (0, 1)


SCENES = {
    "docs/cluster.md": Scene(
        (SMALL,),
        suite,
        {"problem.pddl --policy": "problem.pddl --pool 5 --policy", "local:4": "local:1"},
        "distributed",
        slow=True,
    ),
    "docs/compare.md": Scene(
        (
            SMALL,
            *(
                f"misstep test task --policy {policy} --pool 5 -o {name}"
                for name, policy in (
                    ("ff", "heuristic:ff"),
                    ("add", "heuristic:add"),
                    ("blind", "heuristic:max"),
                )
            ),
        ),
        slow=True,
    ),
    "docs/experiments.md": Scene(slow=True),
    "docs/exports.md": Scene(
        ("misstep generate gripper --balls 2 -o tasks", SMALL),
        files,
        {"-o found": "--pool 5 -o found"},
        slow=True,
    ),
    "docs/families.md": Scene(
        (SMALL, "misstep test task --policy noisy:0.3:1+optimal --pool 30 -o found"),
        smaller={"problem:23": "BUG"},
        slow=True,
    ),
    "docs/gates.md": Scene((SMALL,), files, {"--policy": "--pool 5 --policy"}),
    "docs/prove.md": Scene((SMALL,), smaller={"--horizon 30": "--horizon 5"}),
    "docs/replay.md": Scene((SMALL, FOUND)),
    "docs/report.md": Scene(
        (
            SMALL,
            *(
                f"misstep test task --policy heuristic:{policy} --pool 4 -o {name}"
                for name, policy in (
                    ("found", "max"),
                    ("before", "max"),
                    ("after", "ff"),
                    ("a", "max"),
                    ("b", "ff"),
                )
            ),
        )
    ),
    "docs/retest.md": Scene((SMALL,), files, {"-o found": "--pool 5 -o found"}, slow=True),
    "docs/safety.md": Scene(
        smaller={"--cells 6": "--cells 5", "--packages 2": "--packages 1", "model:1": "BUG"},
        slow=True,
    ),
    "docs/shrinking.md": Scene(
        smaller={
            "--balls 6": "--balls 2",
            "heuristic:ff --pool 20": "noisy:0.3:1+optimal --pool 6",
            "problem:3": "problem:0",
            "problem-3": "problem-0",
        },
        slow=True,
    ),
    "docs/safety-training.md": Scene(
        smaller={
            "--steps 80000": "--steps 2000",
            "--steps 20000": "--steps 500",
            "--rounds 3": "--rounds 1 --runs 20 --episodes 50",
        },
        needs="torch",
    ),
    "docs/tutorials/first-bug.md": Scene(),
    "docs/tutorials/jani-safety.md": Scene(slow=True),
    "docs/tutorials/train-select-retest.md": Scene(needs="torch"),
    "docs/how-to/index.md": Scene(smaller={"--balls 6": "--balls 2"}),
    "docs/how-to/another-language.md": Scene(
        (SMALL,), program, {"exec:python": f"exec:{shlex.quote(sys.executable)}"}
    ),
    "docs/how-to/pytorch.md": Scene((SMALL,), files, needs="torch"),
    "docs/how-to/regenerate-a-table.md": Scene(slow=True),
    "docs/how-to/serve.md": Scene(
        (SMALL,),
        smaller={
            "--port 50051": "--unix policy.sock",
            "localhost:50051": "unix:policy.sock --pool 5",
        },
        needs="grpc",
        server="misstep serve-policy",
    ),
    "docs/how-to/oracles-and-biases.md": Scene((SMALL, FOUND), slow=True),
    "docs/how-to/find-the-decision.md": Scene((SMALL, FOUND), slow=True),
    "docs/policies/zoo.md": Scene(smaller={"--policy": "--pool 5 --policy"}),
}

# Commands that are not run by the tests of the pages, by how they begin; their words and options are compared all the
# same with what the command line declares.
NOT_RUN = {
    "make": "continuous integration runs these targets",
    "pip install": "continuous integration installs what it needs in the same way",
    "misstep experiment ps --scale small": "half an hour",
    "misstep experiment report small": "needs the experiment of half an hour",
    "misstep experiment report p24": "needs the experiment, a GPU and networks of others",
    "misstep experiment p2": "needs files of competitions, networks of others, or a GPU",
    "misstep experiment mine.toml": "the reader's own file",
    "misstep experiment policies": "minutes on 16 cores",
    "misstep test TASKS": "needs the trained policies of the experiment",
    "misstep test model.prism": "needs stormpy; tests/cli/test_models_of_others.py runs such commands",
    "misstep test model.jani --policy first --unsafe": "the reader's own model; tests/cli/test_models_of_others.py",
    "misstep train asnet DOMAIN.pddl": "a form, not a command",
    "misstep test DOMAIN.pddl LARGER...": "a form, not a command",
    "misstep select TASKS": "a form, not a command",
    "misstep select --suite FOLDER": "a form, not a command",
    "misstep train asnet domain.pddl small.pddl --validate larger.pddl --repeats": "trains eight networks",
    "misstep test --suite tasks --policy asnet:gripper.json": "needs several machines, or Slurm",
    "misstep test --policy 'gnn:--device=cuda": "needs a GPU and a checkpoint of others",
    "python -m misstep.training.qlearning.sweep": "hours",
    "python -m misstep.policies.rgnn.convert": "needs a checkpoint of others",
    "misstep test domain.pddl problem.pddl --policy rgnn": "needs a checkpoint of others",
}


def reason_not_run(command: Command) -> str | None:
    return next((why for start, why in NOT_RUN.items() if command.text.startswith(start)), None)


def first_bug(folder: Path) -> str:
    """The id of the first bug of the campaign `found`."""
    listed = misstep("records", "found", "--verdict", "BUG", "--json", cwd=folder).stdout
    return listed.partition('"id": "')[2].partition('"')[0]


def smaller(command: str, scene: Scene, folder: Path) -> list[str]:
    """The words to type for a command of the page."""
    for words, own in scene.smaller.items():
        if own == "BUG":
            own = first_bug(folder) if words in command else ""
        command = command.replace(words, own) if words in command else command
    return shlex.split(command)
