"""Programs that behave: the examples, and every way to name an operator."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from misstep.errors import UnsupportedError, UsageError
from misstep.policies.policy import NO_ACTION, Candidates, States
from misstep.policies.process import ProcessPolicy, load
from misstep.tasks.task import Task

Make = Callable[..., ProcessPolicy]
Batch = Callable[..., States]
EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "policies"


def reachable(task: Task) -> States:
    """Some states of the task, breadth first."""
    states = [task.initial_state]
    seen = set(states)
    for state in states:
        for op in task.applicable(state):
            after = task.apply(state, op)
            if after not in seen:
                seen.add(after)
                states.append(after)
    return np.array([state.values for state in states], dtype=np.int32)


def test_python_example(task: Task) -> None:
    check_example(task, [sys.executable, str(EXAMPLES / "first_applicable.py")])


def test_cpp_example(task: Task, tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no g++")
    program = tmp_path / "first_applicable"
    source = EXAMPLES / "first_applicable.cpp"
    subprocess.run([compiler, "-std=c++17", "-o", str(program), str(source)], check=True)
    check_example(task, [str(program)])


def check_example(task: Task, command: list[str]) -> None:
    policy = load(shlex.join(command), task)
    try:
        states = reachable(task)
        answers = policy.decide(states)
        offsets, operators = policy.all_candidates(states)
        assert answers.messages == {}
        assert answers.operators.tolist() == operators[offsets[:-1]].tolist()
        assert policy.digest == "1"
    finally:
        policy.close()


def test_ways_to_name_an_operator(make: Make, batch: Batch, task: Task) -> None:
    name = task.operator_name(3)
    policy = make(f'operators[:] = [3, {name!r}, " ({name.upper()} ) ", None, -1]')
    answers = policy.decide(batch(5))
    assert answers.operators.tolist() == [3, 3, 3, NO_ACTION, NO_ACTION]
    assert answers.messages == {}


def test_greeting(make: Make, batch: Batch) -> None:
    start = 'greeting |= {"name": "n", "digest": "d", "deterministic": False, "batch_size": 2}'
    policy = make("assert len(states) <= 2", start)
    assert (policy.program_name, policy.digest) == ("n", "d")
    assert not policy.deterministic
    assert policy.batch_size == 2
    assert policy.decide(batch(7)).operators.tolist() == [5] * 7


def test_hello_describes_the_task(make: Make, task: Task, batch: Batch) -> None:
    policy = make(
        "operators[0] = hello['operators'][hello['operators'].index(hello['operators'][2])]\n"
        "assert Path(hello['sas']).read_text().startswith('begin_version')\n"
        "assert hello['domain'].endswith('.pddl') and hello['problem'].endswith('.pddl')\n"
        f"assert hello['digest'] == {task.digest!r}\n"
        f"assert hello['initial'] == {list(task.initial_state.values)}\n"
        f"assert len(hello['variables'][1]) == {task.domain_sizes[1]}"
    )
    assert policy.decide(batch(1)).operators.tolist() == [2]


def test_no_states(make: Make, batch: Batch) -> None:
    assert make().decide(batch(0)).operators.tolist() == []


def test_candidates_are_refused(make: Make, batch: Batch) -> None:
    candidates = Candidates(np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.int32))
    with pytest.raises(UnsupportedError, match="candidates"):
        make().decide(batch(1), candidates)


def test_more_than_the_pipes_hold(make: Make, batch: Batch) -> None:
    body = (
        "sys.stderr.write('x' * 300_000)\n"
        "operators[:] = [hello['operators'][5] + ' ' * 20 for _ in states]"
    )
    policy = make(body, 'greeting["batch_size"] = 20_000')
    answers = policy.decide(batch(20_000))
    assert answers.messages == {}
    assert (answers.operators == 5).all()


def test_digest_follows_the_files(make: Make) -> None:
    first = make("pass").digest
    assert first == make("pass").digest
    assert first != make("pass # other").digest


def test_options(task: Task, command: Callable[..., str]) -> None:
    policy = load(f"--timeout=30 --memory-limit=4000 {command()}", task)
    assert isinstance(policy, ProcessPolicy)
    policy.close()
    for wrong in ("--timeout=0", "--timeout", "--timeout=x", "--speed=3"):
        with pytest.raises(UsageError, match="--timeout"):
            load(f"{wrong} {command()}", task)
    with pytest.raises(UsageError, match="no command"):
        load("", task)
    with pytest.raises(UsageError, match="quotation"):
        load("python 'x", task)
