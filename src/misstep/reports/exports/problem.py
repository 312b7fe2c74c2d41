"""Write a planning task with another initial state.

A PDDL problem keeps everything but its `:init`. The variables of the ground task determine which of their atoms are
true, so all atoms of variables are removed and the true ones are added. Everything else (static facts, facts that never
change, values of functions) stays unchanged. A task that was loaded from a SAS file is written as a SAS file.
"""

from __future__ import annotations

from collections.abc import Iterator

from misstep.campaigns.rows import Values
from misstep.campaigns.states import state_of
from misstep.errors import InputFormatError
from misstep.escaping import written_out
from misstep.tasks.pddl.atoms import AtomTable
from misstep.tasks.pddl.lifted import Atom
from misstep.tasks.pddl.text import Block, Source, Word, parse_tree
from misstep.tasks.task import Task

_WIDTH = 100


def pddl_files(task: Task, values: Values, remark: str) -> tuple[bytes, bytes]:
    """The domain, as it was read, and a problem that begins in the state; the remark becomes a comment at its top."""
    if task.pddl is None:
        raise ValueError("the task has no PDDL files")
    domain, problem = task.pddl
    state = state_of(task, values)
    comment = "".join(f"; {line}\n" for line in _ascii(remark))
    return domain.content, (comment + _problem(task, problem, state.values)).encode()


def _ascii(remark: str) -> Iterator[str]:
    for line in remark.splitlines():
        yield written_out(line).encode("ascii", "backslashreplace").decode()


def _problem(task: Task, problem: Source, values: tuple[int, ...]) -> str:
    table = AtomTable(task)
    named = {atom for atoms in table.of_values for atom in atoms if atom is not None}
    tree = parse_tree(problem)
    lines = ["(define"]
    for part in tree[1:]:
        if isinstance(part, Block) and part.tag == ":init":
            kept = [item for item in part[1:] if _stays(item, named)]
            true = [str(atom) for atom in table.changing(values)]
            facts = [*map(_text, kept), *true]
            lines += ["  (:init", *(f"    {fact}" for fact in facts), "  )"]
        else:
            lines += _part(part)
    return "\n".join(lines) + "\n)\n"


def _stays(item: Word | Block, named: set[Atom]) -> bool:
    """Whether a part of :init is none of the atoms that variables stand for; what is said to be false says nothing."""
    if not isinstance(item, Block):
        return True
    if item.tag == "not":
        return False
    if any(isinstance(part, Block) for part in item) or item.tag is None:
        return True  # the value of a function
    return Atom(item.tag, tuple(map(str, item[1:]))) not in named


def _part(part: Word | Block, indent: str = "  ") -> list[str]:
    """A section of the problem; what does not fit into a line is broken between words and between blocks."""
    text = _text(part)
    if isinstance(part, Word) or len(text) <= _WIDTH:
        return [indent + text]
    lines, inner = [f"{indent}("], f"{indent}  "
    for item in part:
        if isinstance(item, Block):
            lines += _part(item, inner)
        elif lines[-1].endswith(")") or len(lines[-1]) + len(item) > _WIDTH:
            lines.append(inner + item)
        else:
            lines[-1] += item if lines[-1].endswith("(") else f" {item}"
    return [*lines, f"{indent})"]


def _text(item: Word | Block) -> str:
    if isinstance(item, Word):
        return str(item)
    return f"({' '.join(map(_text, item))})"


def sas_file(task: Task, values: Values) -> bytes:
    """The SAS file of the task with the state as the initial one."""
    state = state_of(task, values)
    lines = task.sas.decode().split("\n")
    first = _state_section(lines) + 1
    lines[first : first + len(state.values)] = [str(value) for value in state.values]
    return "\n".join(lines).encode()


def _state_section(lines: list[str]) -> int:
    """The line of `begin_state`. Names may be anything, also that word, so the sections before it are counted."""
    place = 6  # behind the version and the metric
    try:
        variables, place = int(lines[place]), place + 1
        for _ in range(variables):
            place += 5 + int(lines[place + 3])
        groups, place = int(lines[place]), place + 1
        for _ in range(groups):
            place += 3 + int(lines[place + 1])
        if lines[place].strip() == "begin_state":
            return place
    except (ValueError, IndexError):
        pass
    raise InputFormatError("no SAS file of version 3", where="begin_state")


__all__ = ["pddl_files", "sas_file"]
