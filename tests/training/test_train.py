"""Whole trainings with tiny networks."""

from __future__ import annotations

import errno
import json
import math
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep.errors import (
    InputFileError,
    InputFormatError,
    Interrupted,
    MisstepError,
    ToolError,
    UnsupportedError,
    UsageError,
)
from misstep.policies.asnet.model_file import read_model
from misstep.policies.load import load_policy
from misstep.tasks.task import Task
from misstep.training.algorithms import next_step
from misstep.training.explore import Exploration
from misstep.training.folder import TrainingFolder
from misstep.training.settings import LearnerSettings, TrainingSettings
from misstep.training.testing import TestSettings
from misstep.training.tree import Node, PolicyTree
from support.disk import files_up_to
from support.tasks import generated_task
from training.conftest import gripper

pytest.importorskip("torch", reason="PyTorch is not installed")

from misstep.training.trainer import resume, train

Tiny = dict[str, Any]


def train_tasks() -> list[Task]:
    return [gripper(1), gripper(2)]


def read_tree(path: Path) -> PolicyTree:
    with TrainingFolder.open_folder(path) as folder:
        return folder.tree


def contents(path: Path) -> dict[str, bytes]:
    """All that the training made, but times."""
    files = {
        str(file.relative_to(path)): file.read_bytes()
        for name in ("models", "moments", "data")
        for file in (path / name).iterdir()
    }
    for name in ("tree.json", "best.safetensors"):
        files[name] = (path / name).read_bytes()
    return files


def test_tree_with_random_selection(tmp_path: Path, tiny: Tiny) -> None:
    """Algorithm 2 from beginning to end; which model is expanded when follows from the seed alone."""
    settings = TrainingSettings(config="tree", epochs=15, n_init=2, **tiny)
    summary = train(train_tasks(), [gripper(3)], tmp_path / "out", settings)
    tree = read_tree(tmp_path / "out")
    assert [node.parent for node in tree] == EXPECTED_TREE
    assert [node.epochs for node in tree] == EXPECTED_EPOCHS
    assert (summary.models, summary.criterion) == (17, "pi-test-val")
    assert all(len(node.results) == 1 for node in tree)
    for node in tree:
        file = tmp_path / "out" / "models" / f"{node.id:04d}.safetensors"
        weights, digest = read_model(file)
        assert digest == node.digest
        assert file.stat().st_size < 200_000
        assert weights.training["parent"] == node.parent
    policy = load_policy(f"asnet:{summary.best}", gripper(3))
    start = np.array([gripper(3).initial_state.values], np.int32)
    assert policy.decide(start).operators[0] in gripper(3).applicable(gripper(3).initial_state)


EXPECTED_TREE = [None, 0, 1, 2, 3, 4, None, 6, 7, 8, 9, 10, 10, 4, 3, 0, 5]
EXPECTED_EPOCHS = [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 5, 5, 4, 1, 6]


def test_tree_by_tests(tmp_path: Path, tiny: Tiny) -> None:
    """The main phase expands the best-scored model of those with fewer than N_exp successors."""
    settings = TrainingSettings(config="tree-pitest", epochs=14, n_init=2, **tiny)
    train(train_tasks(), [gripper(3), gripper(4)], tmp_path / "out", settings)
    tree = read_tree(tmp_path / "out")
    assert len(tree) == 16
    for made in range(12, 16):
        nodes = tree.nodes[:made]
        a = [sum(r.initial_solved for r in node.results) for node in nodes]
        b = [sum(r.solved for r in node.results) / 10 for node in nodes]
        c = [1 - sum(r.bugs for r in node.results) / 10 for node in nodes]

        def share(part: float, most: float) -> float:
            return part / most if most else 0.0

        score = [
            share(a[i], max(a)) + share(b[i], max(b)) + share(c[i], max(c)) for i in range(made)
        ]
        successors = [sum(node.parent == i for node in nodes) for i in range(made)]
        best = max(
            (i for i in range(made) if successors[i] < 4),
            key=lambda i: (round(score[i], 9), a[i], b[i], c[i], -successors[i], i),
        )
        assert tree[made].parent == best


def test_learns_gripper(tmp_path: Path) -> None:
    """Three tasks with up to three balls are enough for six."""
    settings = TrainingSettings(
        config="line",
        epochs=3,
        n_init=1,
        all_states=True,
        learner=LearnerSettings(steps=60, learning_rate=0.003),
        test=TestSettings(pool_size=10),
    )
    tasks = [gripper(n) for n in (1, 2, 3)]
    summary = train(tasks, [gripper(6)], tmp_path / "out", settings)
    assert summary.success == 1.0
    assert summary.test is not None
    assert summary.test["coverage"] == 1
    losses = [node.loss for node in read_tree(tmp_path / "out") if node.loss is not None]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("kept", [0, 1, 3, 6])
def test_resuming_changes_nothing(tmp_path: Path, tiny: Tiny, kept: int) -> None:
    settings = TrainingSettings(config="tree-pitest", epochs=6, n_init=2, **tiny)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train(train_tasks(), [gripper(3)], whole, settings)
    seen: list[int] = []

    def stop(node: Node) -> None:
        seen.append(node.id)
        if len(seen) == kept + 1:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=f"after {kept + 1} of 8 models"):
        train(train_tasks(), [gripper(3)], parts, settings, report=stop)
    # Also after a cut line, and with files of a model that never got its line.
    with (parts / "log.jsonl").open("ab") as log:
        log.write(b'{"id": 99, "par')
    (parts / "models" / "0007.safetensors").write_bytes(b"half")
    resume(train_tasks(), [gripper(3)], parts)
    assert contents(parts) == contents(whole)
    resume(train_tasks(), [gripper(3)], parts, keep=kept)
    assert contents(parts) == contents(whole)


KILLED = """
import os, sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from training.conftest import gripper
from misstep.training.settings import LearnerSettings, TrainingSettings
from misstep.training.testing import TestSettings
from misstep.training.trainer import train

settings = TrainingSettings(config="line", epochs=4, n_init=2, hidden=4, layers=1, seed=3,
    learner=LearnerSettings(steps=4, batch_size=8, learning_rate=0.02),
    test=TestSettings(pool_size=5, seed=3))
def report(node):
    print(node.id, flush=True)
train([gripper(1), gripper(2)], [gripper(3)], Path(sys.argv[1]), settings, report=report)
"""


def test_kill(tmp_path: Path, tiny: Tiny) -> None:
    """kill -9 in the middle of it."""
    settings = TrainingSettings(config="line", epochs=4, n_init=2, **tiny)
    train(train_tasks(), [gripper(3)], tmp_path / "whole", settings)
    tests = Path(__file__).resolve().parents[1]
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "killed"), str(tests)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "2":
            break
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert process.returncode == -signal.SIGKILL
    resume(train_tasks(), [gripper(3)], tmp_path / "killed")
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_full_disk(tmp_path: Path, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = TrainingSettings(config="line", epochs=2, n_init=1, **tiny)
    real = Path.replace

    def full(path: Path, target: Path) -> Path:
        if "0002" in path.name:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputFileError, match="the disk is full"):
        train(train_tasks(), [], tmp_path / "out", settings)
    monkeypatch.undo()
    assert not list((tmp_path / "out").rglob(".*"))
    assert len(read_tree(tmp_path / "out")) == 2
    resume(train_tasks(), [], tmp_path / "out")
    train(train_tasks(), [], tmp_path / "again", settings)
    assert contents(tmp_path / "out") == contents(tmp_path / "again")


@pytest.mark.parametrize(
    ("file", "models"),
    [("data/0000.npz", 0), ("models/0001.safetensors", 1), ("log.jsonl", 8)],
)
def test_writes_that_are_cut(tmp_path: Path, tiny: Tiny, file: str, models: int) -> None:
    settings = TrainingSettings(config="line", epochs=8, n_init=1, **tiny)
    train(train_tasks(), [gripper(3)], tmp_path / "whole", settings)
    out = tmp_path / "out"
    size = (tmp_path / "whole" / file).stat().st_size
    size -= 100 if file == "log.jsonl" else 1  # seconds in the log have more or fewer digits
    with files_up_to(size):
        with pytest.raises(
            InputFileError, match=r"cannot write.*continue with --resume"
        ) as refused:
            train(train_tasks(), [gripper(3)], out, settings)
        assert refused.value.where == str(out / file)
        assert not list(out.rglob(".*"))
        assert len(read_tree(out)) == models
        with pytest.raises(InputFileError, match="continue with --resume"):
            resume(train_tasks(), [gripper(3)], out)
    resume(train_tasks(), [gripper(3)], out)
    assert contents(out) == contents(tmp_path / "whole")


def test_no_room_for_the_settings(tmp_path: Path, tiny: Tiny) -> None:
    settings = TrainingSettings(config="line", epochs=1, n_init=1, **tiny)
    tasks = train_tasks()  # they are files, too
    with files_up_to(100), pytest.raises(InputFileError, match=r"settings\.json: cannot write"):
        train(tasks, [], tmp_path / "out", settings)
    train(tasks, [], tmp_path / "out", settings)  # neither taken nor locked


# -- bad input --------------------------------------------------------------------------------------


def test_folder_is_taken(tmp_path: Path, tiny: Tiny) -> None:
    settings = TrainingSettings(config="line", epochs=1, n_init=1, **tiny)
    train(train_tasks(), [], tmp_path / "out", settings)
    with pytest.raises(InputFileError, match="there is a training"):
        train(train_tasks(), [], tmp_path / "out", settings)
    with pytest.raises(UsageError, match="not those that the training began with"):
        resume([gripper(1)], [], tmp_path / "out")
    with pytest.raises(InputFileError, match="no training in this folder"):
        resume(train_tasks(), [], tmp_path)
    with pytest.raises(UsageError, match="to keep 0 to 2"):
        resume(train_tasks(), [], tmp_path / "out", keep=3)
    with (
        TrainingFolder.open_folder(tmp_path / "out"),
        pytest.raises(InputFileError, match="in use"),
    ):
        resume(train_tasks(), [], tmp_path / "out")


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("settings.json", b"{", "not JSON"),
        ("settings.json", b"{}", "not the settings of a training"),
        (
            "settings.json",
            b'{"format": "misstep-training", "version": 1}',
            "the file is damaged: no",
        ),
        ("log.jsonl", b"nonsense\n", "not JSON"),
        ("log.jsonl", b'{"id": 0}\n', "the file is damaged: no"),
        ("data/0000.npz", b"nonsense", "damaged"),
    ],
)
def test_damaged_folder(tmp_path: Path, tiny: Tiny, file: str, content: bytes, says: str) -> None:
    train(
        train_tasks(),
        [],
        tmp_path / "out",
        TrainingSettings(config="line", epochs=1, n_init=1, **tiny),
    )
    (tmp_path / "out" / file).write_bytes(content)
    with pytest.raises(InputFormatError, match=says):
        resume(train_tasks(), [], tmp_path / "out")


def test_settings_without_tasks(tmp_path: Path, tiny: Tiny) -> None:
    out = tmp_path / "out"
    train(train_tasks(), [], out, TrainingSettings(config="line", epochs=1, n_init=1, **tiny))
    settings = json.loads((out / "settings.json").read_text())
    for wrong in ("gripper", [1], None):
        (out / "settings.json").write_text(json.dumps({**settings, "train": wrong}))
        with pytest.raises(InputFormatError, match="tasks of the training are not as expected"):
            resume(train_tasks(), [], out)


def test_files_without_arrays(tmp_path: Path, tiny: Tiny) -> None:
    out = tmp_path / "out"
    train(train_tasks(), [], out, TrainingSettings(config="line", epochs=2, n_init=1, **tiny))
    moments = out / "moments" / "0001.npz"
    kept = moments.read_bytes()
    np.savez(moments, step=np.array(1))
    with pytest.raises(InputFormatError, match="no array first"):
        resume(train_tasks(), [], out, keep=2)
    moments.write_bytes(kept)
    np.savez(out / "data" / "0000.npz", states0=np.zeros((0, 3)))
    with pytest.raises(InputFormatError, match="no array counts0"):
        resume(train_tasks(), [], out, keep=2)


def test_changed_model(tmp_path: Path, tiny: Tiny) -> None:
    settings = TrainingSettings(config="line", epochs=2, n_init=1, **tiny)
    train(train_tasks(), [], tmp_path / "out", settings)
    other = tmp_path / "out" / "models" / "0000.safetensors"
    other.write_bytes((tmp_path / "out" / "models" / "0001.safetensors").read_bytes())
    with pytest.raises(InputFormatError, match="not the one that the training wrote"):
        resume(train_tasks(), [], tmp_path / "out", keep=1)


def test_no_validation(tmp_path: Path, tiny: Tiny) -> None:
    refused: list[tuple[Tiny, str]] = [
        ({"config": "tree-pitest"}, "selects by tests on validation tasks"),
        ({"config": "line", "criterion": "pi-test-val"}, "needs validation tasks"),
        ({"config": "line", "criterion": "solved-test"}, "no criterion"),
    ]
    for change, says in refused:
        with pytest.raises(UsageError, match=says):
            train(
                train_tasks(),
                [],
                tmp_path / "out",
                TrainingSettings(epochs=9, n_init=1, **tiny, **change),
            )
        assert not (tmp_path / "out").exists()
    with pytest.raises(UsageError, match="no training tasks"):
        train([], [], tmp_path / "out", TrainingSettings(**tiny))


def test_mixed_domains(tmp_path: Path, tiny: Tiny) -> None:
    other = generated_task("visitall", width=2, height=2)
    for tasks, validation in (([gripper(1), other], []), ([gripper(1)], [other])):
        with pytest.raises(UnsupportedError, match="different domains"):
            train(tasks, validation, tmp_path / "out", TrainingSettings(**tiny))


def test_teacher_that_cannot(tmp_path: Path, tiny: Tiny) -> None:
    settings = TrainingSettings(
        config="line", epochs=1, n_init=1, teacher="astar", teacher_expansions=2, **tiny
    )
    with pytest.raises(UnsupportedError, match="solves none of the training tasks"):
        train([gripper(3), gripper(4)], [], tmp_path / "out", settings)
    # One that it can solve is enough.
    some = TrainingSettings(
        config="line", epochs=1, n_init=1, teacher="astar", teacher_expansions=6, **tiny
    )
    summary = train([gripper(1), gripper(4)], [], tmp_path / "some", some)
    assert "gripper-4" in summary.remarks[0]


@pytest.mark.parametrize(
    ("domain", "sizes"),
    [
        ("ferry", {"cars": 1, "locations": 2}),  # a negative precondition
        ("childsnack", {"children": 1}),  # constants
        ("floortile", {"width": 2, "height": 2}),  # a predicate that no action mentions, dead ends
    ],
)
def test_odd_domains(tmp_path: Path, tiny: Tiny, domain: str, sizes: dict[str, int]) -> None:
    task = generated_task(domain, **sizes)
    settings = TrainingSettings(config="line", epochs=1, n_init=1, all_states=True, **tiny)
    assert train([task], [task], tmp_path / "out", settings).models == 2


def test_task_from_sas_is_refused(tmp_path: Path, tiny: Tiny) -> None:
    with pytest.raises(UnsupportedError, match="no schemas and predicates"):
        train([Task(gripper(1).sas)], [], tmp_path / "out", TrainingSettings(**tiny))


def test_nothing_to_learn(tmp_path: Path, tiny: Tiny) -> None:
    """A task where there is never a choice."""
    task = generated_task("visitall", width=2, height=1)
    with pytest.raises(MisstepError, match="nothing to learn from"):
        train(
            [task],
            [],
            tmp_path / "out",
            TrainingSettings(config="line", epochs=1, n_init=1, **tiny),
        )


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"teacher": "oracle of Delphi"}, UsageError, "no teacher"),
        ({"teacher": "command:planner"}, UsageError, "{sas}"),
        ({"teacher": "astar", "teacher_expansions": 2}, UnsupportedError, "solves none"),
        ({"teacher": "command:true {sas}"}, UnsupportedError, "by hand"),
        ({"teacher": "command:no-such-planner {sas}"}, ToolError, "cannot be started"),
    ],
)
def test_nothing_is_left_of_what_never_began(
    tmp_path: Path, tiny: Tiny, change: Tiny, error: type[MisstepError], says: str
) -> None:
    with pytest.raises(error, match=says):
        train(train_tasks(), [], tmp_path / "out", TrainingSettings(**tiny, **change))
    assert not (tmp_path / "out").exists()


def test_a_task_that_is_too_large_for_its_teacher_is_taught_by_another(
    tmp_path: Path, tiny: Tiny
) -> None:
    settings = TrainingSettings(
        **tiny, config="line", epochs=1, n_init=1, teacher="exhaustive", exhaustive_states=2
    )
    result = train(train_tasks(), [], tmp_path / "out", settings)
    assert any("A* teaches here" in remark for remark in result.remarks)


def test_resuming_with_other_settings(tmp_path: Path, tiny: Tiny) -> None:
    settings = TrainingSettings(config="line", epochs=1, n_init=1, **tiny)
    train(train_tasks(), [], tmp_path / "out", settings)
    for same in (settings, TrainingSettings()):
        assert resume(train_tasks(), [], tmp_path / "out", asked=same).models == 2
    for asked, says in (
        (replace(settings, epochs=5), "begun with epochs 1, not 5"),
        (TrainingSettings(learner=LearnerSettings(steps=5)), "learner steps 4, not 5"),
    ):
        with pytest.raises(UsageError, match=says):
            resume(train_tasks(), [], tmp_path / "out", asked=asked)


def test_bad_settings() -> None:
    wrong: list[Tiny] = [
        {"steps": 0},
        {"dropout": 1.0},
        {"learning_rate": 0.0},
        {"clip": math.inf},
        {"share": "most"},
    ]
    for change in wrong:
        with pytest.raises(UsageError):
            LearnerSettings(**change)
    with pytest.raises(UsageError, match="positive"):
        TrainingSettings(exhaustive_states=0)
    with pytest.raises(UsageError, match="positive"):
        TrainingSettings(teacher_expansions=0)
    with pytest.raises(UsageError, match="walks is -1"):
        Exploration(walks=-1)
    with pytest.raises(UsageError, match="no oracle 'nonsense'"):
        TestSettings(oracle="nonsense")
    with pytest.raises(UsageError, match="hidden size"):
        TrainingSettings(hidden=0)
    with pytest.raises(UsageError, match="seed"):
        TrainingSettings(seed=-1)
    assert TrainingFolder.VERSION == 1
    assert next_step(PolicyTree(), TrainingSettings().configuration, 0) is not None
