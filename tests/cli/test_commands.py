"""The commands as a user types them: output, JSON, exit codes, one line for every mistake."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from misstep.checking import read_plan, read_sas, validate_plan
from misstep.cli.main import main
from misstep.errors import InputFileError
from support.commands import misstep, result_of
from support.tasks import CONDITIONAL, sas


@pytest.fixture(scope="module")
def gripper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gripper")
    done = misstep("generate", "gripper", "--balls", "4", "-o", folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [str(folder / "domain.pddl"), str(folder / "problem.pddl")]
    return folder


def test_census(gripper: Path) -> None:
    expected = {
        "task": "problem",
        "states": 256,
        "transitions": 896,
        "goal_states": 2,
        "dead_ends": 0,
        "h_star_initial": 11,
        "max_h_star": 12,
    }
    assert result_of("census", gripper) == expected
    assert result_of("census", gripper / "problem.pddl") == expected
    assert result_of("census", gripper / "domain.pddl", gripper / "problem.pddl") == expected
    shown = misstep("census", gripper).stdout
    assert re.search(r"(?m)^states +256$", shown)


def test_census_of_blocks_4_0(shared: Path) -> None:
    counts = result_of("census", shared / "benchmarks/ipc/blocks/probBLOCKS-4-0.pddl")
    assert counts["states"] == 125
    assert (counts["h_star_initial"], counts["dead_ends"]) == (6, 0)


@pytest.mark.parametrize("search", ["astar-lmcut", "astar-blind", "gbfs-ff", "ehc-ff"])
def test_plan(gripper: Path, tmp_path: Path, search: str) -> None:
    found = result_of("plan", gripper, "--search", search)
    assert found["status"] == "plan"
    assert found["cost"] == len(found["operators"]) >= 11
    assert found["optimal"] == search.startswith("astar")
    file = tmp_path / "plan"
    done = misstep("plan", gripper, "--search", search, "-o", file)
    assert (done.returncode, done.stdout) == (0, "")
    assert f"{found['cost']} steps" in done.stderr
    shown = misstep("plan", gripper, "--search", search)
    assert shown.stdout == file.read_text()


def test_a_plan_replaces_nothing_but_a_plan(gripper: Path, tmp_path: Path) -> None:
    """`-o` before the files of the task is a slip that must not cost the domain."""
    for file in gripper.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    domain = (tmp_path / "domain.pddl").read_bytes()
    done = misstep("plan", "-o", "domain.pddl", "problem.pddl", cwd=tmp_path)
    assert done.returncode == 30
    assert "domain.pddl: the file exists and is not a plan" in done.stderr
    assert (tmp_path / "domain.pddl").read_bytes() == domain
    for older in ("", "; found by hand\n\n(noop) ; rest\n", "; no step\n"):
        (tmp_path / "plan").write_text(older)
        assert misstep("plan", gripper, "-o", tmp_path / "plan").returncode == 0


def test_plan_from_another_state_and_below_a_bound(gripper: Path) -> None:
    at_goal = "at-robot(room-b), free(left), free(right), " + ", ".join(
        f"at(ball{i}, room-b)" for i in range(1, 5)
    )
    assert result_of("plan", gripper, "--from", at_goal)["operators"] == []
    nothing = result_of("plan", gripper, "--bound", "11")
    assert (nothing["status"], nothing["lower_bound"]) == ("none-below-bound", 11)
    assert result_of("plan", gripper, "--bound", "12")["cost"] == 11


def test_sas_files_are_tasks_too(tmp_path: Path) -> None:
    file = tmp_path / "switch.sas"
    file.write_text(CONDITIONAL)
    assert result_of("census", file)["states"] > 15
    out = tmp_path / "plan"
    assert misstep("plan", file, "--search", "astar-max", "-o", out).returncode == 0
    assert validate_plan(read_sas(file), read_plan(out)).valid
    refused = misstep("plan", file)
    assert refused.returncode == 32
    assert "LM-cut does not support conditional effects" in refused.stderr


def test_limits_have_their_exit_codes(tmp_path: Path) -> None:
    folder = tmp_path / "big"
    misstep("generate", "blocksworld", "--blocks", "14", "-o", folder)
    assert result_of("plan", folder, "--max-expansions", "5", code=22)["limit"] == "expansions"
    assert misstep("plan", folder, "--time-limit", "0.3").returncode == 20
    assert (
        misstep("plan", folder, "--search", "astar-blind", "--memory-limit", "1").returncode == 21
    )
    census = misstep("census", folder, "--max-states", "1000")
    assert census.returncode == 22
    assert census.stderr.startswith("misstep: problem: the task is larger")
    assert result_of("census", folder, "--max-states", "10", code=22)["error"] == "BudgetLimitError"


@pytest.mark.parametrize(
    ("body", "code", "end"),
    [
        ("return state.operators[0]", 1, "; no plan: loop"),
        ("return -1", 1, "; no plan: stuck"),
        ("raise ValueError('no')", 11, "; no plan: error"),
    ],
)
def test_a_run_that_fails_is_no_plan(
    gripper: Path, tmp_path: Path, body: str, code: int, end: str
) -> None:
    (tmp_path / "bad.py").write_text(f"def policy(state):\n    {body}\n")
    result = misstep("run", gripper, "--policy", f"python:{tmp_path / 'bad.py'}:policy")
    assert result.returncode == code
    assert result.stdout.splitlines()[-1] == end
    cut = misstep("run", gripper, "--policy", "first", "--max-steps", "1")
    assert (cut.returncode, cut.stdout.splitlines()[-1]) == (10, "; no plan: cut")


def test_ctrl_c_stops_cleanly(tmp_path: Path) -> None:
    folder = tmp_path / "big"
    misstep("generate", "blocksworld", "--blocks", "20", "-o", folder)
    misstep("plan", folder, "--max-expansions", "1")  # fills the cache of translations
    process = subprocess.Popen(
        [sys.executable, "-m", "misstep", "plan", str(folder), "--search", "astar-blind"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    resident = Path(f"/proc/{process.pid}/statm")
    while int(resident.read_text().split()[1]) < 50_000:  # pages: the search is under way
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 23
    assert errors.strip().splitlines()[-1] == "misstep: stopped by the user"


def test_a_polite_kill_takes_the_policy_along(gripper: Path, tmp_path: Path) -> None:
    program = tmp_path / "hangs.py"
    program.write_text(
        "import sys, time, os\nsys.stdin.readline()\nopen('pid', 'w').write(str(os.getpid()))\n"
        'print(\'{"protocol": 1, "name": "hangs"}\', flush=True)\ntime.sleep(600)\n'
    )
    spec = f"exec:{sys.executable} {program}"
    command = [sys.executable, "-m", "misstep", "run", str(gripper), "--policy", spec]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(0.5)
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 23
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_closed_pipe_is_no_error(gripper: Path) -> None:
    command = f"{sys.executable} -m misstep plan {gripper} | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("pipe", ["| true", "2>&1 | true", "2>&1 >&- <&- | true", ">&-"])
@pytest.mark.parametrize("verb", ["census", "test"])
def test_without_a_reader_the_exit_code_is_the_result(
    gripper: Path, tmp_path: Path, verb: str, pipe: str
) -> None:
    """0 would say that the policy has no bugs, and that of `replay` that a campaign holds."""
    more = f"--pool 5 --out {tmp_path}/c" if verb == "test" else ""
    command = f"{sys.executable} -m misstep {verb} {gripper} --policy first {more} {pipe}"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_standard_error_that_python_code_has_redirected_stays_so() -> None:
    code = (
        "import contextlib, io\n"
        "from misstep.cli.main import main\n"
        "with contextlib.redirect_stderr(io.StringIO()) as told, contextlib.suppress(SystemExit):\n"
        "    main(['plan', 'nowhere'])\n"
        "assert 'no such file' in told.getvalue()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_server_whose_port_nobody_reads_ends(gripper: Path) -> None:
    pytest.importorskip("grpc", reason="grpcio is not installed")
    command = f"{sys.executable} -m misstep serve-policy first {gripper} | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0


MISTAKES: list[tuple[list[str], int, str]] = [
    (["plan", "nowhere.pddl"], 30, "nowhere.pddl: no such file"),
    (["plan", "no", "such.pddl"], 30, "no: no such file"),
    (["plan", "nowhere.sas"], 30, "nowhere.sas: no such file"),
    (
        ["plan", "."],
        30,
        "alone.pddl: the domain of this problem was not found; expected domain.pddl",
    ),
    (["plan", "*.pddl"], 30, "the domain of this problem was not found"),
    (["plan", "x*.pddl"], 30, "no file matches this pattern"),
    (["plan", "alone.pddl"], 30, "the domain of this problem was not found"),
    (["plan", "broken-domain.pddl"], 30, "this is a domain, and the problem is missing"),
    (["plan", "a", "b", "c"], 2, "3 files do not make a task"),
    (["plan", "cut.sas"], 31, "cut.sas:11: 2 values do not fit"),
    (["plan", "index.sas"], 31, "out of range"),
    (["plan", "model.json"], 31, "is this a model? The name of its file has to end in .jani"),
    (["plan", "bytes.sas"], 31, "bytes.sas:2: not UTF-8 text"),
    (["plan", "axioms.sas"], 32, "axioms"),
    (["plan", "broken-domain.pddl", "alone.pddl"], 31, "broken-domain.pddl:2"),
    (["plan", "ok.sas", "--search", "astar"], 2, "no search 'astar'"),
    (
        ["plan", "ok.sas", "--time-limit", "-1"],
        2,
        "--time-limit is -1.0; expected a positive number",
    ),
    (["plan", "ok.sas", "--from", "0 0 0 0"], 31, "the state has 4 values"),
    (["plan", "ok.sas", "--from", "p(x)"], 31, "of the values of variable"),
    (["plan", "ok.sas", "-o", "/nowhere/plan"], 30, "/nowhere/plan: cannot write"),
    (["plan", "ok.sas", "--nonsense"], 2, "No such option: --nonsense"),
    (["plan"], 2, "Missing argument 'TASK...'"),
    (["generate", "griper"], 2, "no domain or model 'griper'; expected blocksworld, childsnack"),
    (
        ["generate", "gripper", "--balls", "0"],
        2,
        "balls of gripper is 0; expected an integer from 1",
    ),
    (["generate", "gripper", "--balls", "x"], 2, "--balls is x; expected a whole number"),
    (["generate", "gripper", "-o", "ok.sas"], 30, "ok.sas"),
    (["frobnicate"], 2, "No such command 'frobnicate'"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), MISTAKES, ids=lambda x: str(x)[:40])
def test_mistakes_get_one_line_and_their_exit_code(
    tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    good = sas([2, 2], [0, 0], [(1, 1)], ["0\n1\n0 1 0 1\n1"])
    (tmp_path / "ok.sas").write_text(good)
    (tmp_path / "cut.sas").write_text("\n".join(good.split("\n")[:11]) + "\n")
    (tmp_path / "index.sas").write_text(good.replace("0 1 0 1", "0 7 0 1"))
    (tmp_path / "bytes.sas").write_bytes(b"begin_version\n\xff\xfe\n")
    axioms = good.replace("var0\n-1", "var0\n0").removesuffix("0\n")
    (tmp_path / "axioms.sas").write_text(axioms + "1\nbegin_rule\n1\n1 1\n0 0 1\nend_rule\n")
    (tmp_path / "alone.pddl").write_text("(define (problem p) (:domain d) (:init) (:goal (and)))")
    (tmp_path / "model.json").write_text('{"jani-version": 1}')
    (tmp_path / "broken-domain.pddl").write_text("(define (domain d)\n  (:predicates (p)\n")
    done = misstep(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, ""), done
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("misstep: ")
    as_json = misstep(*arguments, "--json", cwd=tmp_path)
    assert json.loads(as_json.stdout)["exit_code"] == as_json.returncode == code


def test_large_files_are_refused_or_read_quickly(tmp_path: Path) -> None:
    for name in ("large.pddl", "large.sas"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(200 * 2**20)
    (tmp_path / "domain.pddl").write_text("(define (domain d))")
    assert misstep("plan", tmp_path / "large.pddl").returncode == 30
    assert misstep("plan", tmp_path / "large.sas").returncode == 31


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    with pytest.raises(InputFileError):
        main(["plan", str(tmp_path / "nowhere.sas"), "--debug"])


def test_the_program_as_installed(gripper: Path) -> None:
    command = [sys.executable, "-m", "misstep", "census", str(gripper), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["states"] == 256
    command[3] = "nonsense"
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == json.loads(done.stdout)["exit_code"] == 2


def test_doctor_and_list() -> None:
    report = result_of("doctor")
    assert report["healthy"]
    assert report["check"] == "ok"
    assert "generate, translate, plan: ok" in misstep("doctor").stdout
    listed = result_of("list")
    assert set(listed["domains"]) >= {"gripper", "floortile"}
    assert "astar-lmcut" in misstep("list").stdout


def test_generate_is_reproducible_and_careful(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        misstep("generate", "ferry", "--seed", "5", "-o", tmp_path / folder)
    problems = [(tmp_path / folder / "problem.pddl").read_bytes() for folder in ("a", "b")]
    assert problems[0] == problems[1]
    refused = misstep("generate", "ferry", "--seed", "6", "-o", tmp_path / "a")
    assert refused.returncode == 30
    assert (tmp_path / "a" / "problem.pddl").read_bytes() == problems[0]
    assert (
        misstep("generate", "ferry", "--seed", "6", "-o", tmp_path / "a", "--force").returncode == 0
    )


def test_version_and_help() -> None:
    assert misstep("--version").stdout.startswith("misstep ")
    for verb in (
        [],
        ["plan"],
        ["census"],
        ["generate"],
        ["generate", "gripper"],
        ["doctor"],
        ["list"],
    ):
        done = misstep(*verb, "--help")
        assert done.returncode == 0
        assert "Usage: misstep" in done.stdout


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way, also of root")
    assert misstep("generate", "gripper", "-o", tmp_path / "file" / "x").returncode == 30
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    if os.geteuid() == 0:  # root may write everywhere but where the system keeps no files
        folder = Path("/proc/self")
    else:
        tmp_path.chmod(0o500)
        folder = tmp_path
    assert misstep("generate", "gripper", "-o", folder / "x").returncode == 30
