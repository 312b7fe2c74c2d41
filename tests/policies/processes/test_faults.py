"""Programs that crash, hang or answer nonsense: only the states to blame get FAILED, with a reason."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from misstep.errors import PolicyAwayError
from misstep.policies.policy import FAILED, TIMED_OUT, Answers, States
from misstep.policies.process import ProcessPolicy

Make = Callable[..., ProcessPolicy]
Batch = Callable[..., States]


def check_guilty(answers: Answers, count: int, guilty: tuple[int, ...], message: str) -> None:
    wanted = [FAILED if row in guilty else 5 for row in range(count)]
    assert answers.operators.tolist() == wanted
    assert sorted(answers.messages) == sorted(guilty)
    for text in answers.messages.values():
        assert message in text
        assert "\n" not in text


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("if guilty: os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("if guilty: sys.stderr.write('a\\nno weights\\n'); sys.exit(3)", "exit code 3"),
        ("if guilty: sys.stderr.write('a\\nno weights\\n'); sys.exit(3)", "a | no weights"),
        ("if guilty: raise KeyError('nope')", "KeyError: 'nope'"),
        ("if guilty: say('debugging')", "'debugging' where an answer was expected"),
        ("if guilty: answer = '[1, 2]'", "standard error"),
        ("if guilty: answer = '{' * 5000", "where an answer was expected"),
        ("if guilty: answer = '\\x00\\xff'", "where an answer was expected"),
        ("if guilty: answer['id'] += 1", "has id"),
        ("if guilty: del answer['id']", "has id null"),
        ("if guilty: operators.pop()", "0 operators for 1 states"),
        ("if guilty: operators.append(5)", "2 operators for 1 states"),
        ("if guilty: del answer['operators']", "no list of operators"),
        ("if guilty: answer['errors'] = 'all wrong'", "errors that are not an object"),
        ("if guilty: answer['errors'] = {'9999': 'x'}", "errors that are not an object"),
        ("for row in guilty: operators[row] = 'fly away'", "'fly away'"),
        ("for row in guilty: operators[row] = 100000", "chose 100000"),
        ("for row in guilty: operators[row] = -2", "chose -2"),
        ("for row in guilty: operators[row] = True", "chose true"),
        ("for row in guilty: operators[row] = [1]", "chose [1]"),
        ("for row in guilty: operators[row] = 1.5", "chose 1.5"),
        ("answer['errors'] = {str(row): 'too hard' for row in guilty}", "too hard"),
    ],
)
def test_only_the_guilty_fail(make: Make, batch: Batch, body: str, message: str) -> None:
    guilty = (1, 4)
    answers = make(body).decide(batch(6, guilty))
    check_guilty(answers, 6, guilty, message)


def test_text_after_the_answer(make: Make, batch: Batch) -> None:
    # Both lines in one write, so that the second is there when the first is read.
    body = "answer = json.dumps(answer) + '\\nthat was easy'"
    policy = make(body)
    assert policy.decide(batch(3)).messages == {}
    # The next batch meets a stray line; a program just started is asked again.
    assert policy.decide(batch(3)).messages == {}


def test_hang(make: Make, batch: Batch) -> None:
    policy = make("if guilty: time.sleep(600)", timeout=1.5)
    answers = policy.decide(batch(3, (2,)))
    assert answers.operators.tolist() == [5, 5, TIMED_OUT]
    assert "no answer within 1.5 s" in answers.messages[2]
    assert policy.decide(batch(2)).operators.tolist() == [5, 5]


def test_slow_batches_get_smaller(make: Make, batch: Batch) -> None:
    # Three states at once take longer than the timeout, one does not.
    policy = make("time.sleep(0.0 if len(states) == 1 else 600)", timeout=1.5)
    answers = policy.decide(batch(3))
    assert answers.operators.tolist() == [5, 5, 5]
    assert policy._chunk < policy.batch_size


def test_memory_limit(make: Make, batch: Batch) -> None:
    policy = make("if guilty: hog = bytearray(3 << 30)", memory_limit_mb=1024)
    check_guilty(policy.decide(batch(3, (0,))), 3, (0,), "limited to 1024 MB")


def test_memory_that_fills_slowly_is_nobodys_fault(make: Make, batch: Batch) -> None:
    # The program ends after three answers, whatever it is asked.
    policy = make("if count > 3: sys.exit(9)", 'greeting["batch_size"] = 1')
    assert policy.decide(batch(10)).operators.tolist() == [5] * 10


def test_gives_up(make: Make, batch: Batch) -> None:
    body = "with open(HERE / 'asked', 'a') as file: file.write('x')\nsys.exit(7)"
    policy = make(body, max_restarts=2)
    answers = policy.decide(batch(8))
    # That it would have crashed in the states that it was not asked about is not known.
    assert answers.operators.tolist() == [FAILED] * 2 + [TIMED_OUT] * 6
    assert "exit code 7" in answers.messages[0]
    assert "3 times in a row" in answers.messages[7]
    assert "given up" in policy.decide(batch(1)).messages[0]


def test_cannot_start_again(make: Make, batch: Batch) -> None:
    start = (
        "if (HERE / 'ran').exists(): sys.exit('the licence has expired')\n(HERE / 'ran').touch()"
    )
    policy = make("if guilty: sys.exit(1)", start)
    # That says nothing about the policy: the work ends and can be resumed.
    with pytest.raises(
        PolicyAwayError, match=r"started again: .*the licence has expired.*--resume"
    ):
        policy.decide(batch(3, (1,)))


def test_killed_from_outside(make: Make, batch: Batch, tmp_path: Path) -> None:
    policy = make(
        "if not (HERE / 'busy').exists():\n    (HERE / 'busy').touch()\n    time.sleep(600)"
    )

    def kill() -> None:
        while not (tmp_path / "busy").exists():
            time.sleep(0.01)
        assert policy.pid is not None
        os.kill(policy.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    answers = policy.decide(batch(4))
    killer.join()
    assert answers.operators.tolist() == [5] * 4
    assert answers.messages == {}


def test_closed_policy(make: Make, batch: Batch) -> None:
    policy = make()
    policy.close()
    policy.close()
    assert "closed" in policy.decide(batch(1)).messages[0]
