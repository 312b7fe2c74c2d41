"""Teachers, which give the right operators in a state of a training task.

    exhaustive  h* of the whole task, if it is small: all optimal operators
    astar       A* with LM-cut from the state: a cheapest plan, whose states are labelled along with it
    command     any planner, as a program: the states of its plan, which need not be cheapest

Labels must lead to the goal when they are followed. An optimal operator that costs nothing may lead into a cycle, so
among these only the one that starts a shortest cheapest plan is right.
"""

from __future__ import annotations

import math
import os
import re
import select
import shlex
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic

from misstep import _core
from misstep.errors import BudgetLimitError, InputFileError, ToolError, UsageError
from misstep.files import read_bytes
from misstep.kept import start
from misstep.tasks.census import state_space
from misstep.tasks.task import State, Task
from misstep.training.samples import Sample

EXHAUSTIVE_STATES = 20_000  # tasks up to this size are enumerated
ASTAR_EXPANSIONS = 100_000
COMMAND_SECONDS = 10.0
MAX_PLAN_BYTES = 64 * 2**20
_OPERATOR = re.compile(r"\([^()]*\)")


class Teacher(ABC):
    """Teaches on one task."""

    name = "teacher"

    def __init__(self, task: Task) -> None:
        self.task = task

    @abstractmethod
    def lesson(self, state: State) -> list[Sample] | None:
        """Samples that begin with the state and may follow it to the goal; None if the teacher gives up."""

    def _along(self, state: State, plan: Sequence[int]) -> list[Sample]:
        samples = []
        for op in plan:
            samples.append(Sample(state, (op,)))
            state = self.task.apply(state, op)
        return samples


class ExhaustiveTeacher(Teacher):
    """Knows h* of every state that is reachable from the initial state."""

    name = "exhaustive"

    def __init__(self, task: Task, max_states: int = EXHAUSTIVE_STATES) -> None:
        super().__init__(task)
        self.space = state_space(task, max_states=max_states)
        self.h_star = self.space.h_star
        self._best = self.space.best_operator

    def lesson(self, state: State) -> list[Sample] | None:
        place = self.space.find(state)
        if not math.isfinite(self.h_star[place]):
            return None
        samples = []
        while not self.space.is_goal[place]:
            samples.append(Sample(self.space.state(place), self.good(place)))
            best = int(self._best[place])
            place = next(t for op, t in self.space.transitions(place) if op == best)
        return samples

    def good(self, place: int) -> tuple[int, ...]:
        h, cost, best = self.h_star, self.task.cost, int(self._best[place])
        return tuple(
            op
            for op, t in self.space.transitions(place)
            if op == best or (cost(op) > 0 and cost(op) + h[t] == h[place])
        )

    def all_states(self) -> list[Sample]:
        """Every state from which the goal can be reached."""
        return [
            Sample(self.space.state(place), self.good(place))
            for place in range(len(self.space))
            if math.isfinite(self.h_star[place]) and not self.space.is_goal[place]
        ]


class AStarTeacher(Teacher):
    """Plans from each state, within a budget of expansions."""

    name = "astar"

    def __init__(self, task: Task, expansions: int = ASTAR_EXPANSIONS) -> None:
        super().__init__(task)
        self.expansions = expansions
        self._heuristic = _core.HMax(task) if task.has_conditional_effects else _core.LMCut(task)

    def lesson(self, state: State) -> list[Sample] | None:
        result = _core.AStar(self.task, self._heuristic, state).run(expansions=self.expansions)
        return None if result.cost is None else self._along(state, result.plan)


class CommandTeacher(Teacher):
    """A planner that is called with a SAS file and writes a plan, one (operator) per line."""

    name = "command"

    def __init__(self, task: Task, command: str, seconds: float = COMMAND_SECONDS) -> None:
        super().__init__(task)
        if "{sas}" not in command:
            raise UsageError(
                "the command of the teacher does not say where its task goes",
                where=command,
                expected="{sas}, and {plan} unless the plan is printed",
            )
        try:
            self.words = shlex.split(command)
        except ValueError as error:
            raise UsageError(
                f"the command of the teacher cannot be read: {error}", where=command
            ) from None
        self.command = command
        self.seconds = seconds

    def lesson(self, state: State) -> list[Sample] | None:
        with tempfile.TemporaryDirectory(prefix="misstep-teacher-") as folder:
            sas, plan = Path(folder, "task.sas"), Path(folder, "plan")
            sas.write_bytes(with_initial_state(self.task.sas, state))
            words = [
                word.replace("{sas}", str(sas)).replace("{plan}", str(plan)) for word in self.words
            ]
            text = self._call(words, folder)
            if text is None:
                return None
            if "{plan}" in self.command and plan.exists():
                try:
                    text = read_bytes(plan, MAX_PLAN_BYTES, "a plan")
                except InputFileError as error:
                    raise self._fault(f"cannot be read: {error.what}") from None
            return self._read(state, text.decode(errors="replace"))

    def _call(self, words: list[str], folder: str) -> bytes | None:
        """The planner's output, or None if it takes too long."""
        try:
            program = start(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                folder=folder,
                cwd=folder,
            )
        except OSError as error:
            raise ToolError(
                f"the teacher cannot be started: {error.strerror or error}", where=self.command
            ) from error
        try:
            return self._printed(program.process)
        finally:
            program.end()  # with its child processes: a planner is often a script that starts the real one

    def _printed(self, process: subprocess.Popen[bytes]) -> bytes | None:
        """What the planner prints until its end; None if it takes too long."""
        assert process.stdout is not None
        until = monotonic() + self.seconds
        ready = select.poll()
        ready.register(process.stdout)
        found = bytearray()
        while ready.poll(max(0, until - monotonic()) * 1000):
            piece = os.read(process.stdout.fileno(), 2**16)
            found += piece
            if len(found) > MAX_PLAN_BYTES:
                raise self._fault(f"is longer than {MAX_PLAN_BYTES >> 20} MiB")
            if not piece:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(0, until - monotonic()))
                    return bytes(found)
                return None
        return None

    def _read(self, state: State, text: str) -> list[Sample] | None:
        lines = (line.partition(";")[0].strip() for line in text.split("\n"))
        names = [line for line in lines if _OPERATOR.fullmatch(line)]
        if not names:
            return None
        samples = []
        for name in names:
            try:
                op = self.task.resolve(name, state)
            except UsageError as error:
                raise self._fault(f"does not work: {error.what}") from error
            if op not in self.task.applicable(state):
                raise self._fault(f"does not work: {name} does not apply")
            samples.append(Sample(state, (op,)))
            state = self.task.apply(state, op)
        if not self.task.is_goal(state):
            raise self._fault("does not reach the goal")
        return samples

    def _fault(self, what: str) -> ToolError:
        return ToolError(f"the plan of the teacher {what}", where=self.command)


def with_initial_state(sas: bytes, state: State) -> bytes:
    """The SAS file of the task with another initial state."""
    values = "\n".join(map(str, state.values)).encode()
    return re.sub(
        rb"(?<=^begin_state\n)[\d\n]*(?=^end_state$)", values + b"\n", sas, count=1, flags=re.M
    )


def with_unit_costs(task: Task) -> Task:
    """The task with every operator at cost 1, so that cheapest means shortest."""
    sas = re.sub(rb"(?<=^begin_metric\n)\d+(?=\nend_metric$)", b"0", task.sas, count=1, flags=re.M)
    return Task(sas, name=task.name, pddl=task.pddl)


def runs_program(spec: str) -> bool:
    """Whether asking this teacher starts a program; True if that is not known."""
    return spec not in ("auto", "exhaustive", "astar")


def make_teacher(
    spec: str,
    task: Task,
    *,
    max_states: int = EXHAUSTIVE_STATES,
    expansions: int = ASTAR_EXPANSIONS,
) -> Teacher:
    """`auto`, `exhaustive`, `astar` or `command:PROGRAM ARGUMENTS` with {sas} and {plan}."""
    kind, _, argument = spec.partition(":")
    if kind == "command":
        return CommandTeacher(task, argument)
    if kind not in ("auto", "exhaustive", "astar") or argument:
        raise UsageError(
            f"no teacher {spec!r}",
            expected="auto, exhaustive, astar or command:PROGRAM {sas} {plan}",
        )
    if kind != "astar":
        try:
            return ExhaustiveTeacher(task, max_states)
        except BudgetLimitError:
            if kind == "exhaustive":
                raise
    return AStarTeacher(task, expansions)


__all__ = [
    "AStarTeacher",
    "CommandTeacher",
    "ExhaustiveTeacher",
    "Teacher",
    "make_teacher",
    "runs_program",
    "with_initial_state",
    "with_unit_costs",
]
