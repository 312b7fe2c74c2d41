"""The policy behind a generalised plan: a Python program that maps a task to a plan.

Such a program was written for initial states. Open loop, the way it is published, it is asked once, at the start of a
run, and its plan is followed (`plans`). Closed loop (`--closed`), it is asked in every state and the first operator of
each plan is taken, which makes it an ordinary policy. Both ask the program about states it may never have been
meant for: there it may raise, return nonsense or never return, and all of that is told of the state that it happens in.

The program has a process of its own, so that it can be ended when it is late. A program that was ended is started
again for the next question; it is never given up, because answers must not depend on what was asked before.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from misstep.decoding import parse_json
from misstep.errors import InputFormatError, ToolError, UnsupportedError, UsageError
from misstep.files import read_bytes
from misstep.policies.options import Parser, flag, one_of, positive, split_options
from misstep.policies.policy import (
    FAILED,
    NO_ACTION,
    TIMED_OUT,
    Answers,
    Candidates,
    Policy,
    States,
    checked_states,
)
from misstep.policies.process.channel import Channel, ProgramError
from misstep.policies.process.policy import away
from misstep.policies.user_code import MAX_SOURCE_BYTES
from misstep.tasks.pddl.atoms import AtomTable, goal_atoms
from misstep.tasks.pddl.lifted import Atom
from misstep.tasks.task import State, Task

FUNCTION = "get_plan"
OBJECTS = ("auto", "names", "typed")
TIMEOUT = 10.0
START_TIMEOUT = 60.0
MEMORY_MB = 4096
_CHILD = Path(__file__).with_name("child.py")


class ProgramPolicy(Policy):
    """A program `get_plan(objects, init, goal)` as a policy.

    `timeout` is for one call, in seconds. `objects` says how the program sees objects: `names`, `typed` as pairs of
    name and type, or `auto`, which is `typed` where the domain declares types.
    """

    def __init__(
        self,
        task: Task,
        file: Path,
        function: str = FUNCTION,
        *,
        closed: bool = False,
        objects: str = "auto",
        timeout: float = TIMEOUT,
        memory_limit_mb: int = MEMORY_MB,
    ) -> None:
        super().__init__(task)
        source = read_bytes(file, MAX_SOURCE_BYTES, "a Python file")
        self._where = str(file)
        self._timeout = timeout
        self._memory_limit_mb = memory_limit_mb
        self._atoms = AtomTable(task)
        lifted = task.lifted
        typed = len(lifted.types) > 1 if objects == "auto" else objects == "typed"
        goal = goal_atoms(lifted, self._where, "a program is shown nothing else")
        content = {
            "typed": typed,
            "objects": [(named.name, named.type) for named in lifted.objects],
            "constant": [_words(atom) for atom in self._atoms.constant],
            "goal": [_words(atom) for atom in goal],
        }
        self._hello = json.dumps(content).encode() + b"\n"
        self._command = [sys.executable, str(_CHILD), str(file.absolute()), function]
        self._channel: Channel | None = None
        self.plans = not closed
        self.batch_size = 16  # each answer may take seconds
        self.name = f"program:{file}"
        files = self._first_start(function)
        digest = hashlib.sha256(repr((function, typed, closed)).encode() + source)
        for other in files:
            digest.update(
                hashlib.sha256(read_bytes(Path(other), MAX_SOURCE_BYTES, "code")).digest()
            )
        self.digest = digest.hexdigest()

    def plan(self, state: State) -> Sequence[int]:
        """The plan of the program from a state, up to the first operator that does not apply.

        Raises `TimeoutError` if the program was late, and `ProgramError` with one line if it failed.
        """
        try:
            return self._resolved(self._ask(state), state)
        except ProgramError as fault:
            if fault.timed_out:
                raise TimeoutError(str(fault)) from None
            raise

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        if candidates is not None:
            raise UnsupportedError(f"the policy {self.name} does not choose among candidates")
        if self.plans:
            raise UsageError(
                "a program answers with a whole plan, not state by state",
                where=f"policy {self.name}",
                hint="give --closed to ask for a plan in every state and take its first operator",
            )
        states = checked_states(states, self.task)
        answers = Answers(np.full(len(states), FAILED, dtype=np.int32), evaluations=len(states))
        for row, values in enumerate(states.tolist()):
            state = State(values)
            try:
                plan = self._ask(state)
                answers.operators[row] = self._number(plan[0], state) if plan else NO_ACTION
            except ProgramError as fault:
                answers.operators[row] = TIMED_OUT if fault.timed_out else FAILED
                answers.messages[row] = str(fault)
        return answers

    def ask_again(self, states: States) -> Answers:
        """Asked in a new process: a program may remember what it was asked before."""
        self.close()
        return self.decide(states)

    def _resolved(self, texts: list[str], state: State) -> list[int]:
        operators: list[int] = []
        for text in texts:
            operator = self._number(text, state)
            operators.append(operator)
            if operator not in self.task.applicable(state):
                break  # the run ends here
            state = self.task.apply(state, operator)
        return operators

    def _number(self, text: str, state: State) -> int:
        try:
            return self.task.resolve(text, state)
        except UsageError:
            raise ProgramError(
                f"the program named {text!r:.80}, and the task has no such operator"
            ) from None

    def _ask(self, state: State) -> list[str]:
        atoms = [_words(atom) for atom in self._atoms.changing(state.values)]
        answer = self._exchange(json.dumps(atoms).encode() + b"\n")
        if "plan" not in answer:
            raise ProgramError(str(answer.get("error", "the program disturbed the exchange")))
        plan: list[str] = answer["plan"]
        return plan

    def _exchange(self, question: bytes) -> dict[str, Any]:
        if self._channel is None:
            self._channel = self._started_again()
        channel = self._channel
        try:
            return _decoded(channel.exchange(question, self._timeout))
        except ProgramError as fault:
            self._end()
            raise _in_one_line(fault, self._timeout) from None
        except BaseException:
            self._end()
            raise

    def _start(self) -> tuple[Channel, dict[str, Any]]:
        channel = Channel(self._command, memory_limit_mb=self._memory_limit_mb)
        try:
            greeting = _decoded(channel.exchange(self._hello, START_TIMEOUT))
        except ProgramError as fault:
            raise _in_one_line(fault, START_TIMEOUT) from None
        return channel, greeting

    def _started_again(self) -> Channel:
        """That it cannot be started (its file is gone, or there are too many processes) is no answer of it."""
        try:
            channel, greeting = self._start()
        except ProgramError as fault:
            raise away(f"the program could not be started again: {fault}", self.name) from None
        if "error" in greeting:
            channel.end()
            raise away(f"the program could not be loaded again: {greeting['error']}", self.name)
        return channel

    def _first_start(self, function: str) -> list[str]:
        """Loads the program and returns the other files that it consists of."""
        try:
            channel, greeting = self._start()
        except ProgramError as fault:
            raise ToolError(f"the program cannot be loaded: {fault}", where=self._where) from None
        if "error" in greeting:
            channel.end()
            missing, line = "missing" in greeting, greeting.get("line")
            raise InputFormatError(
                greeting["error"] if missing else f"the file cannot be run: {greeting['error']}",
                where=f"{self._where}:{line}" if line else self._where,
                expected=f"def {function}(objects, init, goal)" if missing else None,
                hint="name another function as in program:FILE.py:NAME" if missing else None,
            )
        self._channel = channel
        files: list[str] = greeting["files"]
        return files

    def _end(self) -> None:
        if self._channel is not None:
            self._channel.end()
            self._channel = None

    def close(self) -> None:
        self._end()


def _words(atom: Atom) -> list[str]:
    return [atom.predicate, *atom.terms]


def _decoded(line: bytes) -> dict[str, Any]:
    """A program that finds the descriptor of our exchange could write anything there."""
    try:
        answer = parse_json(line)
    except ValueError:
        answer = None
    plan = answer.get("plan") if isinstance(answer, dict) else None
    files = answer.get("files", []) if isinstance(answer, dict) else None
    if not isinstance(answer, dict) or not (
        (answer.keys() & {"error", "files"} and _are_texts(files))
        or (isinstance(plan, list) and all(isinstance(text, str) for text in plan))
    ):
        raise ProgramError(f"the program disturbed the exchange with {line[:60]!r}")
    return answer


def _are_texts(files: object) -> bool:
    return isinstance(files, list) and all(isinstance(own, str) for own in files)


def _in_one_line(fault: ProgramError, timeout: float) -> ProgramError:
    text = f"the program gave no plan within {timeout:g} s" if fault.timed_out else str(fault)
    return ProgramError(" ".join(text.split()), timed_out=fault.timed_out)


def load(argument: str, task: Task) -> ProgramPolicy:
    """Loads `program:[--closed] [--timeout=S] [--objects=auto|names|typed] [--memory-limit=MB] FILE.py[:NAME]`."""
    parsers: dict[str, Parser] = {
        "closed": flag,
        "timeout": positive,
        "objects": one_of(*OBJECTS),
        "memory-limit": positive,
    }
    options, path = split_options(argument, "program", parsers)
    file, colon, function = path.rpartition(":")
    if not colon or "/" in function or function.endswith(".py"):
        file, function = path, FUNCTION
    if not file or not function.isidentifier():
        raise UsageError(
            "the policy is incomplete",
            where=f"policy program:{argument}",
            expected="program:FILE.py or program:FILE.py:NAME",
        )
    memory = int(options.pop("memory_limit", MEMORY_MB))
    policy = ProgramPolicy(task, Path(file), function, memory_limit_mb=memory, **options)
    policy.name = f"program:{argument}"
    return policy


__all__ = ["ProgramPolicy", "load"]
