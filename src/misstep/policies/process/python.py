"""A Python policy with a time limit: the same code in a process of its own, which is killed when it is late."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep import errors
from misstep.errors import InputFormatError, MisstepError, ToolError
from misstep.policies.policy import (
    FAILED,
    TIMED_OUT,
    Answers,
    Candidates,
    Policy,
    States,
    checked_states,
)
from misstep.policies.process import host
from misstep.policies.process.channel import ProgramError
from misstep.policies.process.policy import ProcessPolicy
from misstep.policies.process.protocol import (
    AnswerReader,
    Choices,
    Greeting,
    line_of,
    object_of,
    parse_greeting,
    question,
)
from misstep.tasks.task import State, Task

START_TIMEOUT = 60.0  # loading a network takes longer than asking it
MAX_RESTARTS = 4  # and ends of the process are rare: exceptions of the code are answers


class PythonProcess(ProcessPolicy):
    """The limit is for one call of the user's code: of `act_batch` with many states, or of `act` with one."""

    _why_late = ""

    def __init__(self, task: Task, argument: str, *, timeout: float) -> None:
        self._argument = argument
        super().__init__(
            task,
            host.command(),
            timeout=timeout,
            start_timeout=max(START_TIMEOUT, timeout),
            max_restarts=MAX_RESTARTS,
        )
        self.name = f"python:--timeout={timeout:g} {argument}"
        self._reader = AnswerReader(task, says="")
        if self._alone:
            self._chunk = 1

    def _no_greeting(self, fault: ProgramError) -> MisstepError:
        return ToolError(
            f"the code cannot be loaded in a process of its own: {fault}",
            where=f"policy python:{self._argument}",
        )

    def _first_line(self) -> bytes:
        return host.first_line(self.task, self._argument, self._folder)

    def _greeting(self, line: bytes) -> Greeting:
        content = object_of(line, "the greeting")
        if "error" in content:
            raise loading_error(content["error"])
        greeting = parse_greeting(line)
        self._alone = content["alone"]
        self.files = tuple(content["files"])
        self.environment = content["environment"]
        for flag in ("chooses", "set_valued", "stochastic", "plans"):
            setattr(self, flag, content[flag])
        return greeting

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        if candidates is None:
            return super().decide(states)
        states = checked_states(states, self.task)
        answers = Answers(np.full(len(states), FAILED, dtype=np.int32), evaluations=len(states))
        for row in range(len(states)):
            own = candidates.of(np.array([row]))
            more = {"candidates": [own.offsets.tolist(), own.operators.tolist()]}
            try:
                content = self._consult("decide", states[row : row + 1], more)
                answers.operators[row] = content["operators"][0]
                if content["errors"]:
                    answers.messages[row] = content["errors"]["0"]
            except TimeoutError as error:
                answers.operators[row], answers.messages[row] = TIMED_OUT, str(error)
            except ValueError as error:
                answers.messages[row] = str(error)
        return answers

    def permitted(self, states: States) -> Candidates:
        return self.probabilities(states)[0] if self.set_valued else super().permitted(states)

    def probabilities(self, states: States) -> tuple[Candidates, NDArray[np.float64]]:
        if not self.set_valued:
            return Policy.probabilities(self, states)
        states = checked_states(states, self.task)
        operators: list[int] = []
        weights: list[float] = []
        offsets = [0]
        for row in range(len(states)):
            content = self._consult("permitted", states[row : row + 1])
            given = content["operators"]
            operators += given
            weights += content.get("weights", [1 / max(len(given), 1)] * len(given))
            offsets.append(len(operators))
        found = Candidates(np.array(offsets, np.int64), np.array(operators, np.int32))
        return found, np.array(weights, dtype=np.float64)

    def plan(self, state: State) -> Sequence[int]:
        if not self.plans:
            return super().plan(state)
        rows = np.array([state.values], dtype=np.int32)
        steps: list[int] = self._consult("plan", rows)["operators"]
        return steps

    def _ask(self, states: States) -> Choices:
        def read(line: bytes) -> Choices:
            choices = self._reader.read(line, self._number, states)
            if b'"environment"' in line:
                self.environment = object_of(line, "an answer").get("environment", self.environment)
            return choices

        return self._exchange(len(states), lambda: question(self._number, states), read)

    def _consult(
        self, ask: str, states: States, more: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """The answer to another question than for decisions; a late one is a TimeoutError, a crash a ValueError."""
        try:
            content = self._exchange(
                len(states),
                lambda: line_of(
                    {"id": self._number, "ask": ask, "states": states.tolist(), **(more or {})}
                ),
                lambda line: object_of(line, "an answer"),
            )
        except ProgramError as fault:
            kind: Callable[[str], Exception] = TimeoutError if fault.timed_out else ValueError
            raise kind(str(fault)) from None
        self.environment = content.get("environment", self.environment)
        if "error" in content:
            raise ValueError(content["error"])
        return content


def loading_error(content: dict[str, Any]) -> MisstepError:
    """The error that loading the policy gave in the other process."""
    kind = getattr(errors, str(content["error"]), InputFormatError)
    fields = {name: content[name] for name in ("where", "expected", "hint")}
    made: MisstepError = kind(content["what"], **fields)
    return made


__all__ = ["PythonProcess", "loading_error"]
