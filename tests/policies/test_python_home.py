"""Where a user's code is: what it can import, what it must not change, and what is recorded about it."""

from __future__ import annotations

import io
import os
import py_compile
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from misstep.policies.home import Home, is_users
from misstep.policies.load import load_policy
from misstep.tasks.task import Task
from support.tasks import rows, small_task


@pytest.fixture
def task() -> Task:
    return small_task("gripper-4")


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def decision(spec: str, task: Task) -> Any:
    answers = load_policy(spec, task).decide(rows([task.initial_state]))
    return answers.messages.get(0, int(answers.operators[0]))


def test_two_threads_leave_the_output_as_it_was() -> None:
    """Each is in the code of its policy for a while; which leaves first is a matter of chance."""
    before, first, second = sys.stdout, Home(), Home()
    first.__enter__()
    second.__enter__()
    first.__exit__()
    assert sys.stdout is sys.stderr
    second.__exit__()
    assert sys.stdout is before


def test_streams_that_the_code_replaces_are_put_back() -> None:
    before, outer, inner = (sys.stdout, sys.stderr), Home(), Home()
    own = io.StringIO()
    with outer:
        sys.stdout = own  # the code asks a policy itself, and keeps what it prints
        with inner:
            for name in ("stdout", "stderr"):
                setattr(sys, name, None)
        assert (sys.stdout, sys.stderr) == (own, before[1])
    assert (sys.stdout, sys.stderr) == before


def test_helpers_of_the_same_name_are_not_mixed_up(task: Task, tmp_path: Path) -> None:
    early = "import helper_of_two\ndef f(state): return helper_of_two.NUMBER\n"
    late = "def f(state):\n    import helper_of_two\n    return helper_of_two.NUMBER\n"
    a = write(tmp_path / "a", mine=early, helper_of_two="NUMBER = 1\n")
    b = write(tmp_path / "b", mine=early, helper_of_two="NUMBER = 2\n")
    c = write(tmp_path / "c", mine=late, helper_of_two="NUMBER = 3\n")
    policies = [load_policy(f"python:{folder / 'mine.py'}:f", task) for folder in (a, b, c)]
    states = rows([task.initial_state])
    for _ in range(2):
        assert [int(own.decide(states).operators[0]) for own in policies] == [1, 2, 3]
    assert "helper_of_two" not in sys.modules
    assert not any(str(tmp_path) in path for path in sys.path)


def test_a_module_that_was_made_by_hand_is_of_no_file(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyTorch has such modules: their `__file__` looks like a file of the current folder."""
    text = """import sys, types
made = types.ModuleType("made_by_hand")
made.__file__ = "_made.py"
sys.modules["made_by_hand"] = made
def f(state): return 1
"""
    monkeypatch.chdir(write(tmp_path, mine=text))
    policy = load_policy("python:mine.py:f", task)
    try:
        assert [Path(file).name for file in policy.files] == ["mine.py"]
        assert "made_by_hand" in sys.modules
    finally:
        sys.modules.pop("made_by_hand", None)


def test_a_folder_that_the_code_changes_to_is_its_own(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the paths that the user gave to the command would lead elsewhere."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "number").write_text("3")
    at_import = """import os
from pathlib import Path
os.chdir('data')
def f(state): return int(Path('number').read_text())
"""
    in_a_call = "import os\ndef f(state):\n    os.chdir('/')\n    return 1\n"
    monkeypatch.chdir(write(tmp_path, early=at_import, late=in_a_call))
    policies = [load_policy(f"python:{name}.py:f", task) for name in ("early", "late")]
    for _ in range(2):
        decided = [int(own.decide(rows([task.initial_state])).operators[0]) for own in policies]
        assert decided == [3, 1]
        assert Path.cwd() == tmp_path


def test_an_edit_within_the_same_second_counts(task: Task, tmp_path: Path) -> None:
    file, found = tmp_path / "mine.py", []
    for number in (1, 2):
        file.write_text(f"def f(state): return {number}\n")
        os.utime(file, (1_700_000_000, 1_700_000_000))
        if number == 1:
            py_compile.compile(str(file))  # Python itself would take this for the second one, too
        found.append(decision(f"python:{file}:f", task))
    assert found == [1, 2]


def test_modules_of_others_are_hidden_and_come_back(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = write(tmp_path / "elsewhere", common_name="NUMBER = 9\n")
    monkeypatch.syspath_prepend(str(elsewhere))
    import common_name  # type: ignore[import-not-found]

    folder = write(
        tmp_path / "own",
        mine="import common_name\ndef f(state): return common_name.NUMBER\n",
        common_name="NUMBER = 4\n",
    )
    assert decision(f"python:{folder / 'mine.py'}:f", task) == 4
    assert sys.modules["common_name"] is common_name
    monkeypatch.delitem(sys.modules, "common_name")


def test_packages_beside_the_file(task: Task, tmp_path: Path) -> None:
    folder = write(tmp_path / "own", mine="from nets.deep import f\n")
    write(folder / "nets", __init__="", deep="from . import wide\ndef f(state): return wide.N\n")
    write(folder / "nets", wide="N = 3\n")
    own = load_policy(f"python:{folder / 'mine.py'}:f", task)
    assert own.decide(rows([task.initial_state])).operators.tolist() == [3]
    names = [Path(file).relative_to(folder).as_posix() for file in own.files]
    assert names[0] == "mine.py"
    assert set(names[1:]) == {"nets/__init__.py", "nets/deep.py", "nets/wide.py"}
    write(folder / "nets", wide="N = 2 + 1\n")
    assert load_policy(f"python:{folder / 'mine.py'}:f", task).digest != own.digest


def test_prints_do_not_reach_standard_output(
    task: Task, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(
        tmp_path / "own",
        mine="print('loading')\ndef f(state):\n    print('deciding')\n    return 0\n",
    )
    assert decision(f"python:{folder / 'mine.py'}:f", task) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.split() == ["loading", "deciding"]


def test_environment_variables_are_noted(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE_A", "1")
    monkeypatch.setenv("MINE_SECRET_KEY", "hidden")
    monkeypatch.delenv("MINE_B", raising=False)
    folder = write(
        tmp_path / "own",
        mine="import os, tempfile\nA = os.environ['MINE_A']\nos.getenv('MINE_B')\n'MINE_C' in os.environ\n"
        "tempfile.gettempdir()\n"  # reads TMPDIR for itself
        "def f(state):\n    return int(os.environ.get('MINE_D', 0)) + 0 * len(os.environ['MINE_SECRET_KEY'])\n",
    )
    own = load_policy(f"python:{folder / 'mine.py'}:f", task)
    assert own.environment == {"MINE_A": "1", "MINE_B": None, "MINE_C": None}
    own.decide(rows([task.initial_state]))
    assert own.environment["MINE_D"] is None
    secret = own.environment["MINE_SECRET_KEY"]
    assert secret is not None
    assert secret.startswith("sha256:")
    assert os.environ["MINE_A"] == "1"  # read by us, and noted by nobody
    assert len(own.environment) == 5


def test_reading_the_whole_environment_is_one_note(task: Task, tmp_path: Path) -> None:
    folder = write(
        tmp_path / "own", mine="import os\nALL = dict(os.environ)\ndef f(state): return 0\n"
    )
    own = load_policy(f"python:{folder / 'mine.py'}:f", task)
    assert own.environment == {"*": None}


def test_a_fork_does_not_go_on_with_our_work(tmp_path: Path) -> None:
    """Both processes of a fork would come back from the policy; only one may."""
    folder = write(tmp_path / "own", mine="import os\ndef f(state):\n    os.fork()\n    return 0\n")
    program = (
        "import misstep\n"
        "task = misstep.load_task(misstep.generate('gripper', balls=2))\n"
        f"policy = misstep.load_policy('python:{folder / 'mine.py'}:f', task)\n"
        "import numpy as np\n"
        "policy.decide(np.array([task.initial_state.values], dtype=np.int32))\n"
        "print('once')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "once\n"


def test_a_child_process_of_the_code_may_exit(task: Task, tmp_path: Path) -> None:
    folder = write(
        tmp_path / "own",
        mine="import os\ndef f(state):\n    child = os.fork()\n    if child == 0:\n        os._exit(5)\n"
        "    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n",
    )
    assert decision(f"python:{folder / 'mine.py'}:f", task) == 5


def test_homes_inside_of_homes(tmp_path: Path) -> None:
    outer, inner = Home(write(tmp_path / "a")), Home(write(tmp_path / "b"))
    before = sys.path.copy(), sys.stdout
    with outer, inner, outer:
        assert sys.path[0] == str(outer.folder)
    assert (sys.path, sys.stdout) == before


def test_whose_files_are_the_users(tmp_path: Path) -> None:
    assert is_users(str(tmp_path / "mine.py"))
    for file in ("<string>", os.__file__, pytest.__file__, sys.modules[Home.__module__].__file__):
        assert not is_users(str(file))
