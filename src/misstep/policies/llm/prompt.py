"""Prompts (a template with placeholders, filled in for a state), and the operator that an answer names.

The same state always gives the same prompt: atoms are sorted, operators are in the order of their numbers.
"""

from __future__ import annotations

import re
from pathlib import Path

from misstep.errors import InputFormatError, UsageError
from misstep.files import decoded, read_bytes
from misstep.tasks.pddl.atoms import AtomTable
from misstep.tasks.task import State, Task

DEFAULT = Path(__file__).with_name("prompt.txt")
MAX_TEMPLATE_BYTES = 2**20
PLACEHOLDERS = ("domain", "task", "state", "goal", "operators")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_OPERATOR = re.compile(r"\([^()\n]+\)")
_COMMENT = re.compile(r"(?<![ \t])[ \t]*;[^\n]*")  # of all the blanks before it


class Prompt:
    """A template on a task."""

    def __init__(self, task: Task, file: Path | None = None) -> None:
        self.task = task
        self.template = _read(file or DEFAULT)
        self._atoms = AtomTable(task)
        assert task.pddl is not None  # without the files there is no table of atoms
        domain, problem = (_COMMENT.sub("", source.text).strip() for source in task.pddl)
        goal = sorted(str(literal) for literal in task.lifted.goal)
        self._constant = {"domain": domain, "task": problem, "goal": "\n".join(goal)}
        if task.lifted.unsupported_goal:  # its literals alone would not describe the goal
            self._constant["goal"] = "as in the task above"

    def text(self, state: State) -> str:
        parts = dict(self._constant)
        parts["state"] = "\n".join(sorted(str(atom) for atom in self._atoms.true(state.values)))
        names = [f"({self.task.operator_name(op)})" for op in self.task.applicable(state)]
        parts["operators"] = "\n".join(dict.fromkeys(names)) or "none"
        return _PLACEHOLDER.sub(lambda found: parts[found.group(1)], self.template)


def named_operator(answer: str, task: Task, state: State) -> int:
    """The operator on the last line of an answer. Raises `ValueError` with one line if there is none."""
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    if not lines:
        raise ValueError("the model answered nothing")
    if not _OPERATOR.fullmatch(lines[-1]):
        raise ValueError(
            f"the last line of the model's answer is {lines[-1][:80]!r}, not an operator such as (move a b)"
        )
    try:
        return task.resolve(lines[-1], state)
    except UsageError:
        raise ValueError(
            f"the model named {lines[-1][:80]}, and the task has no such operator"
        ) from None


def _read(file: Path) -> str:
    kind = "a prompt template"
    text = decoded(read_bytes(file, MAX_TEMPLATE_BYTES, kind), str(file), kind)
    expected = "the placeholders " + ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    for found in _PLACEHOLDER.finditer(text):
        if found.group(1) not in PLACEHOLDERS:
            line = text.count("\n", 0, found.start()) + 1
            raise InputFormatError(
                f"there is no placeholder {found.group()}",
                where=f"{file}:{line}",
                expected=expected,
            )
    if "{state}" not in text:
        raise InputFormatError(
            "the template does not show the state", where=str(file), expected=expected
        )
    return text


__all__ = ["DEFAULT", "Prompt", "named_operator"]
