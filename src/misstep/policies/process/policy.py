"""The policy behind a program: batches out, answers in, faults put on the states that cause them.

A batch that fails is asked again state by state, and a state that fails is asked once more of a
program just started, so that whether a state FAILED does not depend on the states before it. A state
without an answer in time is TIMED_OUT, and so is one that is not asked any more, because the program
was given up for crashing or for being late (`Patience`): that it crashes there is not known.
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from misstep.errors import (
    InputFormatError,
    MisstepError,
    PolicyAwayError,
    ToolError,
    UnsupportedError,
    UsageError,
)
from misstep.policies.options import positive, split_options
from misstep.policies.policy import (
    FAILED,
    TIMED_OUT,
    Answers,
    Candidates,
    Policy,
    States,
    checked_states,
)
from misstep.policies.process.channel import FORGOT_TO_FLUSH, Channel, ProgramError
from misstep.policies.process.patience import Patience
from misstep.policies.process.protocol import (
    AnswerReader,
    Choices,
    Greeting,
    MalformedError,
    hello,
    parse_greeting,
    question,
)
from misstep.tasks.task import Task

# How often a program that does not even greet is started again before it is given up.
_START_ATTEMPTS = 3
Answer = TypeVar("Answer")


class ProcessPolicy(Policy):
    """A policy that is a program of its own.

    `timeout` is for one batch and `start_timeout` for the greeting, in seconds; `memory_limit_mb`
    bounds the address space of the program; after `max_restarts` faults in a row, without an answer
    between them, or the time-outs that `Patience` allows, the program is given up and every further
    state is TIMED_OUT.
    """

    _why_late = FORGOT_TO_FLUSH

    def __init__(
        self,
        task: Task,
        command: str | Sequence[str],
        *,
        timeout: float = 60.0,
        start_timeout: float = 60.0,
        memory_limit_mb: int | None = None,
        max_restarts: int = 25,
    ) -> None:
        super().__init__(task)
        self._command = split_command(command)
        self._timeout = timeout
        self._start_timeout = start_timeout
        self._memory_limit_mb = memory_limit_mb
        self._max_restarts = max_restarts
        self._folder = Path(tempfile.mkdtemp(prefix="misstep-policy-"))
        self._remove_folder = weakref.finalize(self, shutil.rmtree, self._folder, True)
        (self._folder / "task.sas").write_bytes(task.sas)
        self._hello = self._first_line()
        self._reader = AnswerReader(task)
        self._number = 0
        self._answered = 0  # by the program that runs now
        self._faults = 0  # since the last answer
        self._patience = Patience()
        self._given_up: str | None = None
        self._channel: Channel | None = None
        self.name = "exec:" + shlex.join(self._command)
        try:
            greeting = self._start()
        except ProgramError as fault:
            self.close()
            raise self._no_greeting(fault) from None
        except BaseException:
            self.close()
            raise
        self.program_name = greeting.name
        self.digest = greeting.digest or command_digest(self._command)
        self.files = self.files or command_files(self._command)
        self.deterministic = greeting.deterministic
        self.batch_size = greeting.batch_size or Policy.batch_size
        self._chunk = self.batch_size

    def _first_line(self) -> bytes:
        return hello(self.task, self._folder / "task.sas")

    def _greeting(self, line: bytes) -> Greeting:
        return parse_greeting(line)

    def _no_greeting(self, fault: ProgramError) -> MisstepError:
        return no_greeting(fault, f"policy program {shlex.join(self._command)}")

    @property
    def pid(self) -> int | None:
        """The program that runs now."""
        return None if self._channel is None else self._channel.pid

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        if candidates is not None:
            raise UnsupportedError(f"the policy {self.name} does not choose among candidates")
        states = checked_states(states, self.task)
        answers = Answers(np.full(len(states), FAILED, dtype=np.int32), evaluations=len(states))
        start = 0
        while start < len(states):
            chunk = states[start : start + self._chunk]
            self._decide_chunk(chunk, start, answers)
            start += len(chunk)
        return answers

    def _decide_chunk(self, chunk: States, start: int, answers: Answers) -> None:
        if len(chunk) > 1:
            try:
                return _put(answers, start, self._ask(chunk))
            except ProgramError as fault:
                if fault.timed_out:  # perhaps only slow: smaller batches from now on
                    self._chunk = max(1, self._chunk // 4)
        for row in range(len(chunk)):
            state = chunk[row : row + 1]
            try:
                choices = self._ask_alone(state)
            except ProgramError as fault:
                choices = Choices([TIMED_OUT if fault.timed_out else FAILED], {0: str(fault)})
            _put(answers, start + row, choices)
        return None

    def _ask_alone(self, state: States) -> Choices:
        fresh = self._answered == 0
        try:
            return self._ask(state)
        except ProgramError as fault:
            # A second look at a program that hangs would cost the whole timeout again.
            if fresh or fault.in_step or fault.timed_out:
                raise
        return self._ask(state)

    def _ask(self, states: States) -> Choices:
        return self._exchange(
            len(states),
            lambda: question(self._number, states),
            lambda line: self._reader.read(line, self._number, states),
        )

    def _exchange(
        self, count: int, question: Callable[[], bytes], read: Callable[[bytes], Answer]
    ) -> Answer:
        """One question about so many states and its answer, and what they tell of the program."""
        channel = self._running()
        self._number += 1
        try:
            answer = read(channel.exchange(question(), self._timeout))
        except ProgramError as fault:
            if not fault.in_step:
                self._end_channel()
                self._faults += not fault.timed_out
            if fault.timed_out:
                self._patience.timed_out(count)
            raise
        except BaseException:
            self._end_channel()
            raise
        self._answered += 1
        self._faults = 0
        self._patience.answered()
        return answer

    def _running(self) -> Channel:
        """The program, started again if it has ended."""
        if self._given_up is None and self._channel is None:
            if self._patience.lost:
                self._given_up = self._patience.why(self._timeout)
            elif self._faults > self._max_restarts:
                self._given_up = (
                    f"the program failed {self._faults} times in a row and was given up"
                )
            else:
                self._restart()
        if self._given_up is not None:
            # It was not asked, so that nobody may say that it crashed in this state.
            raise ProgramError(self._given_up, timed_out=True)
        assert self._channel is not None
        return self._channel

    def _restart(self) -> None:
        for _ in range(_START_ATTEMPTS):
            try:
                self._start()
                return
            except (ProgramError, MisstepError) as fault:
                reason = str(fault)
                if isinstance(fault, ProgramError) and fault.timed_out:
                    break  # another try would take as long
        raise away(f"the program could not be started again: {reason}", self.name)

    def _start(self) -> Greeting:
        self._answered = 0
        self._channel = Channel(
            self._command,
            memory_limit_mb=self._memory_limit_mb,
            why_late=self._why_late,
            folder=self._folder,
        )
        try:
            return self._greeting(self._channel.exchange(self._hello, self._start_timeout))
        except BaseException:
            self._end_channel()
            raise

    def _end_channel(self) -> None:
        if self._channel is not None:
            self._channel.end()
            self._channel = None

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        self._given_up = "the policy is closed"
        self._remove_folder()


def _put(answers: Answers, start: int, choices: Choices) -> None:
    answers.operators[start : start + len(choices.operators)] = choices.operators
    for row, message in choices.messages.items():
        answers.messages[start + row] = message


def away(what: str, policy: str) -> PolicyAwayError:
    """The policy is not there to be asked, which says nothing about it: the work ends and can be resumed."""
    return PolicyAwayError(
        what,
        where=f"policy {policy}",
        hint="when it is back, --resume continues; nothing is lost",
    )


def no_greeting(fault: ProgramError, where: str) -> MisstepError:
    kind = InputFormatError if isinstance(fault, MalformedError) else ToolError
    return kind(
        f"no greeting: {fault}",
        where=where,
        expected='a line such as {"protocol": 1, "name": "mine"}',
        hint="docs/policy-protocol.md",
    )


def split_command(command: str | Sequence[str]) -> list[str]:
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        raise UsageError(
            f"cannot be split into words: {str(error).lower()}", where=f"policy exec:{command}"
        ) from None
    if not words or not words[0]:
        raise UsageError("no command", where="policy exec:", expected="exec:COMMAND")
    if any("\0" in word for word in words):
        raise UsageError("a null character in the command", where=f"policy exec:{command!r}")
    return words


def command_files(command: Sequence[str]) -> tuple[str, ...]:
    """The files among the words of a command."""
    found = (Path(shutil.which(word) or word) for word in command)
    return tuple(str(path) for path in found if _is_file(path))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def command_digest(command: Sequence[str]) -> str:
    """Of the words of the command and of the files among them: all we can see of a program."""
    digest = hashlib.sha256()
    for word in command:
        path = Path(shutil.which(word) or word)
        try:
            content = path.read_bytes() if path.is_file() else b""
        except OSError:
            content = b""
        digest.update(hashlib.sha256(word.encode()).digest() + hashlib.sha256(content).digest())
    return digest.hexdigest()


def load(argument: str, task: Task) -> Policy:
    """Loads `exec:[OPTION...] COMMAND`, with the options of the constructor as in `--timeout=5`."""
    names = ("timeout", "start-timeout", "memory-limit", "max-restarts")
    options, command = split_options(argument, "exec", dict.fromkeys(names, positive))
    memory = options.get("memory_limit")
    return ProcessPolicy(
        task,
        command,
        timeout=options.get("timeout", 60.0),
        start_timeout=options.get("start_timeout", 60.0),
        memory_limit_mb=None if memory is None else int(memory),
        max_restarts=int(options.get("max_restarts", 25)),
    )


__all__ = ["ProcessPolicy", "away", "command_digest", "load", "no_greeting", "split_command"]
