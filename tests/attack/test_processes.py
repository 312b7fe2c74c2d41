"""A process that is killed takes its children with it, and the end of a process never reads as a result."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from misstep.campaigns import workers
from misstep.campaigns.limits import Limits
from misstep.campaigns.testing import test as run_campaign
from misstep.errors import InputFileError, PolicyAwayError, ToolError
from misstep.kept import start
from misstep.tasks.generate import generate
from support.campaigns import small_model, told
from support.tasks import small_task

PATIENCE = 60.0  # seconds for what should happen at once
HOW: dict[str, Any] = {"pool": 6, "oracle": "exact"}


def until(what: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def all_gone(folder: Path) -> bool:
    """Whether none of the processes is alive that have left their number in the folder."""
    pids = [int(file.name) for file in folder.iterdir()]
    assert pids
    return until(lambda: not any(map(lives, pids)))


# Leaves its number and starts a process in a session of its own that does the same.
STUBBORN = """
import os, signal, subprocess, sys, time
from pathlib import Path
folder = Path({folder!r})
(folder / str(os.getpid())).touch()
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
child = "import os, sys, time; open(sys.argv[1] + str(os.getpid()), 'w'); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", child, {folder!r} + "/"], start_new_session=True)
while len(list(folder.iterdir())) < 2: time.sleep(0.01)
{then}
"""


@pytest.fixture
def pids(tmp_path: Path) -> Path:
    (tmp_path / "pids").mkdir()
    return tmp_path / "pids"


def stubborn(pids: Path, then: str) -> list[str]:
    return [sys.executable, "-c", STUBBORN.format(folder=str(pids), then=then)]


# -- the keeper -----------------------------------------------------------------------------------


def test_the_end_of_a_program_is_the_end_of_what_it_started(pids: Path) -> None:
    program = start(stubborn(pids, "sys.exit(5)"))
    assert program.process.wait(PATIENCE) == 5
    program.end()
    assert all_gone(pids)


def test_a_program_is_ended_with_what_it_started(pids: Path) -> None:
    program = start(stubborn(pids, "time.sleep(600)"))
    assert until(lambda: len(list(pids.iterdir())) == 2)
    program.end()
    assert not any(lives(int(file.name)) for file in pids.iterdir())


def test_a_signal_that_ends_a_program_is_told() -> None:
    program = start([sys.executable, "-c", "import os; os.kill(os.getpid(), 11)"])
    assert program.process.wait(PATIENCE) == -signal.SIGSEGV
    program.end()


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        start([str(tmp_path / "nothing")])
    (tmp_path / "text").write_text("no program")
    with pytest.raises(PermissionError):
        start([str(tmp_path / "text")])


OWNER = """
import sys, time
from misstep.kept import start
program = start(sys.argv[1:])
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM])
def test_a_killed_owner_takes_its_program_along(pids: Path, number: signal.Signals) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, *stubborn(pids, "time.sleep(600)")])
    assert until(lambda: len(list(pids.iterdir())) == 2)
    owner.send_signal(number)
    owner.wait(PATIENCE)
    assert all_gone(pids)


KEEPING = """
import os, signal, sys, time
from misstep.kept import start
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
program = start([sys.executable, "-c", "import time; time.sleep(float(input()))"], stdin=-1, folder=sys.argv[1])
how = sys.argv[2]
program.stdin.write(b"0\\n" if how == "ended by itself" else b"600\\n")
program.stdin.flush()
if how == "ended by itself": program.process.wait()
if how == "killed": os.kill(os.getpid(), signal.SIGKILL)
program.end()
print("alive", flush=True)
"""


@pytest.mark.parametrize("how", ["killed", "ended", "ended by itself"])
def test_only_the_folder_of_a_killed_owner_is_removed(tmp_path: Path, how: str) -> None:
    folder, other = tmp_path / "folder", tmp_path / "other"
    (folder / "inside").mkdir(parents=True)
    other.mkdir()
    (other / "file").touch()
    (folder / "link").symlink_to(other)
    done = subprocess.run(
        [sys.executable, "-c", KEEPING, folder, how], stdout=subprocess.PIPE, text=True
    )
    assert done.stdout == ("" if how == "killed" else "alive\n")
    if how == "killed":
        assert until(lambda: not folder.exists())
    else:
        time.sleep(0.2)
        assert folder.exists()
    assert (other / "file").exists()


TRANSLATING = """
import sys
from misstep.tasks.pddl import translate
from misstep.tasks.load import load_task
translate._LAUNCHER = sys.argv[3]
load_task(sys.argv[1], sys.argv[2])
"""


def test_a_killed_owner_takes_the_translator_along(pids: Path, tmp_path: Path) -> None:
    generate("gripper", balls=2).write(tmp_path / "task")
    launcher = STUBBORN.format(folder=str(pids), then="time.sleep(600)")
    files = [str(tmp_path / "task" / name) for name in ("domain.pddl", "problem.pddl")]
    (tmp_path / "tmp").mkdir()
    # Another test may have had the same task translated.
    own = {"MISSTEP_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "tmp")}
    owner = subprocess.Popen(
        [sys.executable, "-c", TRANSLATING, *files, launcher], env={**os.environ, **own}
    )
    assert until(lambda: len(list(pids.iterdir())) == 2)
    assert list((tmp_path / "tmp").iterdir())
    owner.kill()
    owner.wait(PATIENCE)
    assert all_gone(pids)
    assert until(lambda: not list((tmp_path / "tmp").iterdir()))


# -- workers --------------------------------------------------------------------------------------

SLEEPY = """
import os, time
from pathlib import Path
(Path({folder!r}) / str(os.getpid())).touch()
def act(state):
    (Path({folder!r}) / str(os.getpid())).touch()
    time.sleep(600)
"""


def sleepy_test(pids: Path, tmp_path: Path, *options: str) -> list[str]:
    """A command whose policy never answers; all processes that load it leave their numbers."""
    generate("gripper", balls=2).write(tmp_path / "task")
    (tmp_path / "sleepy.py").write_text(SLEEPY.format(folder=str(pids)))
    command = [sys.executable, "-m", "misstep", "test", str(tmp_path / "task"), "--pool", "3"]
    options = ("--out", str(tmp_path / "c"), *options)
    return [*command, "--policy", f"python:{tmp_path / 'sleepy.py'}:act", *options]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("options", [("--jobs", "2"), ("--timeout", "500")])
def test_a_killed_command_takes_its_processes_along(
    pids: Path, tmp_path: Path, number: signal.Signals, options: tuple[str, ...]
) -> None:
    (tmp_path / "tmp").mkdir()
    command = subprocess.Popen(
        sleepy_test(pids, tmp_path, *options),
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert until(lambda: len(list(pids.iterdir())) >= 2)
    command.send_signal(number)
    _, errors = command.communicate(timeout=PATIENCE)
    assert command.returncode == (-9 if number == signal.SIGKILL else 23)
    assert "Traceback" not in errors
    assert all_gone(pids)
    assert until(lambda: not list((tmp_path / "tmp").iterdir()))


def test_a_closed_terminal_ends_a_command(pids: Path, tmp_path: Path) -> None:
    words = sleepy_test(pids, tmp_path, "--jobs", "2")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(words[0], words)
    assert until(lambda: len(list(pids.iterdir())) >= 2)
    os.close(terminal)
    # Stopped; or the progress was being shown, and there is no terminal any more.
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) in (23, 30)
    assert all_gone(pids)


def test_a_worker_that_dies_at_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_MAIN", "raise SystemExit(3)")
    with pytest.raises(ToolError, match=r"ended by itself \(exit code 3\)"):
        run_campaign(small_task("gripper-4"), "first", jobs=2, **HOW)


DEAF = """
import signal, time
def act(state):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    time.sleep(600)
"""


def test_a_worker_that_hears_no_alarm_is_killed(tmp_path: Path) -> None:
    (tmp_path / "deaf.py").write_text(DEAF)
    policy = f"python:{tmp_path / 'deaf.py'}:act"
    found = run_campaign(small_task("gripper-4"), policy, jobs=2, limits=Limits(time=0.5), **HOW)
    assert found.summary.limit == "time"
    assert found.records == []


# -- policies that end the process ------------------------------------------------------------------

ENDS = {
    "native in a call": "import ctypes\ndef act(state): ctypes.CDLL(None)._exit(0)",
    "native at import": "import ctypes\nctypes.CDLL(None)._exit(1)\ndef act(state): pass",
    "at import": "import os\nos._exit(0)\ndef act(state): pass",
    "memory at import": "bytes(2**62)\ndef act(state): pass",
    "a signal": "import os\ndef act(state): os.kill(os.getpid(), 9)",
}


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("code", ENDS)
def test_a_policy_cannot_make_an_exit_code(tmp_path: Path, code: str, jobs: str) -> None:
    generate("gripper", balls=2).write(tmp_path / "task")
    (tmp_path / "ends.py").write_text(ENDS[code])
    command = [sys.executable, "-m", "misstep", "test", str(tmp_path / "task"), "--pool", "3"]
    policy = ["--policy", f"python:{tmp_path / 'ends.py'}:act", "--jobs", jobs, "--json"]
    command += ["--out", str(tmp_path / "c")]
    done = subprocess.run([*command, *policy], capture_output=True, text=True, check=False)
    assert done.returncode in (10, 21, 31, 33), done.stderr
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("verb", "world"),
    [("census", "task"), ("census", "model"), ("prove", "model"), ("risk", "model")],
)
def test_a_policy_cannot_make_an_exit_code_of_any_verb(
    tmp_path: Path, verb: str, world: str
) -> None:
    generate("gripper", balls=2).write(tmp_path / "task")
    generate("one-way-line", cells=4, packages=1).write(tmp_path / "model")
    (tmp_path / "ends.py").write_text(ENDS["native in a call"])
    command = [sys.executable, "-m", "misstep", verb, str(tmp_path / world)]
    policy = ["--policy", f"python:{tmp_path / 'ends.py'}:act"]
    done = subprocess.run([*command, *policy], capture_output=True, text=True, check=False)
    assert done.returncode == 33, done.stderr


STOPS_ITSELF = {
    "an exception": "def act(state): raise KeyboardInterrupt",
    "an exception at import": "raise KeyboardInterrupt\ndef act(state): pass",
    "Ctrl-C": "import os\ndef act(state): os.kill(os.getpid(), 2)",
    "a request to end": "import os\ndef act(state): os.kill(os.getpid(), 15)",
    "a lost terminal": "import os\ndef act(state): os.kill(os.getpid(), 1)",
}


@pytest.mark.parametrize("how", [("--jobs", "1"), ("--jobs", "2"), ("--timeout", "20")])
@pytest.mark.parametrize("code", STOPS_ITSELF)
def test_a_policy_does_not_pass_for_the_user(tmp_path: Path, code: str, how: list[str]) -> None:
    """It can neither stop a campaign as if somebody had typed Ctrl-C, nor hide a crash in this way."""
    generate("gripper", balls=2).write(tmp_path / "task")
    (tmp_path / "stops.py").write_text(STOPS_ITSELF[code])
    command = [sys.executable, "-m", "misstep", "test", str(tmp_path / "task"), "--pool", "2"]
    command += ["--policy", f"python:{tmp_path / 'stops.py'}:act", *how, "--json"]
    command += ["--out", str(tmp_path / "c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 31 if "import" in code else done.returncode in (10, 33), done.stderr
    assert "stopped by the user" not in done.stderr


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_policy_that_closes_our_files_is_told_at_once(tmp_path: Path, jobs: str) -> None:
    """SQLite would look for its files for ten seconds at a time."""
    generate("gripper", balls=2).write(tmp_path / "task")
    (tmp_path / "closes.py").write_text("import os\ndef act(state): os.closerange(3, 20)")
    command = [sys.executable, "-m", "misstep", "test", str(tmp_path / "task"), "--pool", "3"]
    command += ["--policy", f"python:{tmp_path / 'closes.py'}:act", "--jobs", jobs]
    command += ["--out", str(tmp_path / "c")]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 33
    assert len([line for line in done.stderr.splitlines() if not line.startswith("[")]) == 1
    assert time.monotonic() - start < 10, "SQLite has looked for its files"


LEAVES = """
import subprocess, sys
code = "import os, sys, time; open(sys.argv[1] + str(os.getpid()), 'w'); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", code, {folder!r} + "/"])
def act(state): return state.actions[0]
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_a_policy_leaves_behind_ends_with_the_command(
    pids: Path, tmp_path: Path, jobs: str
) -> None:
    generate("gripper", balls=2).write(tmp_path / "task")
    (tmp_path / "leaves.py").write_text(LEAVES.format(folder=str(pids)))
    command = [sys.executable, "-m", "misstep", "test", str(tmp_path / "task"), "--pool", "3"]
    command += ["--policy", f"python:{tmp_path / 'leaves.py'}:act", "--jobs", jobs]
    command += ["--out", str(tmp_path / "c")]
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, timeout=PATIENCE
    )
    assert done.returncode == 1, done.stderr
    assert all_gone(pids)


WAITS = """
import threading, time
threading.Thread(target=lambda: time.sleep(600)).start()
def act(state): return state.actions[0]
"""


@pytest.mark.parametrize("words", [("test", "--pool", "3"), ("census",)])
def test_a_thread_of_a_policy_does_not_keep_a_command(tmp_path: Path, words: tuple[str]) -> None:
    """Not the process of the command, and not those that ask the policy again."""
    generate("gripper", balls=2).write(tmp_path / "task")
    (tmp_path / "waits.py").write_text(WAITS)
    command = [sys.executable, "-m", "misstep", *words, str(tmp_path / "task")]
    command += ["--policy", f"python:{tmp_path / 'waits.py'}:act"]
    if words[0] == "test":
        command += ["--out", str(tmp_path / "c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 1, done.stderr


ENDLESS = {
    "a function": "import atexit, time\natexit.register(time.sleep, 600)\n",
    "a process": """
import multiprocessing, time
multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,)).start()
""",
}


@pytest.mark.parametrize("code", ENDLESS.values(), ids=list(ENDLESS))
def test_what_a_policy_does_at_the_end_does_not_keep_a_command(tmp_path: Path, code: str) -> None:
    generate("gripper", balls=1).write(tmp_path / "task")
    (tmp_path / "ends.py").write_text(f"{code}\ndef act(state): return state.actions[0]\n")
    soon = "import sys; from misstep import __main__, kept; kept.LATE = 0.1; __main__.main()"
    command = [sys.executable, "-c", soon, "run", str(tmp_path / "task")]
    command += ["--policy", f"python:{tmp_path / 'ends.py'}:act"]
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, timeout=PATIENCE
    )
    assert done.returncode == 1, done.stderr


def test_leaving_takes_its_time_and_no_more() -> None:
    code = "import atexit, time; from misstep import kept; kept.LATE = 0.1; atexit.register(time.sleep, 600); "
    done = subprocess.run(
        [sys.executable, "-c", f"{code}kept.leave(7)"], timeout=PATIENCE, check=False
    )
    assert done.returncode == 7


STOPPED = """
import os, signal
def act(state):
    open({file!r}, "w").close()
    os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_the_user_ends_a_process_that_was_stopped(tmp_path: Path) -> None:
    generate("gripper", balls=1).write(tmp_path / "task")
    (tmp_path / "stops.py").write_text(STOPPED.format(file=str(tmp_path / "asked")))
    command = [sys.executable, "-m", "misstep", "census", str(tmp_path / "task")]
    command += ["--policy", f"python:{tmp_path / 'stops.py'}:act"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert until((tmp_path / "asked").exists)
    running.send_signal(signal.SIGTERM)
    assert running.wait(PATIENCE) == 23


# -- what goes away during a run --------------------------------------------------------------------


@pytest.mark.parametrize("moment", [1, 4])
def test_a_folder_that_vanishes_is_an_error(tmp_path: Path, moment: int) -> None:
    calls = 0

    def vanish(*_: object) -> None:
        nonlocal calls
        calls += 1
        if calls == moment:
            (tmp_path / "c").rename(tmp_path / "elsewhere")

    with pytest.raises(InputFileError, match="removed or replaced while it was being written"):
        run_campaign(small_task("gripper-4"), "first", out=tmp_path / "c", progress=vanish, **HOW)


PROGRAM = """#!{python}
import json, os, sys
from pathlib import Path
here = Path(__file__).parent
sys.stdin.readline()
print(json.dumps({{"protocol": 1, "name": "mine", "digest": "mine"}}), flush=True)
for number, line in enumerate(sys.stdin):
    asked = json.loads(line)
    if number == 3 and (here / "mortal").exists():
        os.remove(__file__)  # the next start fails
        sys.exit(1)
    print(json.dumps({{"id": asked["id"], {answer}}}), flush=True)
"""
ANSWERS = {
    "task": '"operators": [-1] * len(asked["states"])',
    "model": '"labels": [own[0] for own in asked["applicable"]]',
}


@pytest.mark.parametrize("world", ["task", "model"])
def test_a_program_that_was_away_is_asked_again(tmp_path: Path, world: str) -> None:
    task = small_task("gripper-4") if world == "task" else small_model("two-way-line")
    how: dict[str, Any] = {**HOW, "batch_size": 1} if world == "task" else {"runs": 10}
    program = tmp_path / "program"

    def install() -> None:
        program.write_text(PROGRAM.format(python=sys.executable, answer=ANSWERS[world]))
        program.chmod(0o755)

    install()
    policy = f"exec:{program}"
    expected = told(run_campaign(task, policy, **how))
    (tmp_path / "mortal").touch()
    with pytest.raises(PolicyAwayError, match="could not be started again"):
        run_campaign(task, policy, out=tmp_path / "c", resume=True, **how)
    (tmp_path / "mortal").unlink()
    install()
    with run_campaign(task, policy, out=tmp_path / "c", resume=True, **how) as found:
        assert told(found) == expected
