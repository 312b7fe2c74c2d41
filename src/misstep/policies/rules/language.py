"""Rules as data.

A rule set is an ordered list of rules. A rule has typed parameters, conditions that must all hold, and an action over
its parameters. `str` gives the text that `parse_rules` reads, so programs can make or change rules and show them to
people. Line numbers are kept for messages and are ignored when rules are compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from misstep.tasks.pddl.lifted import Atom, TypedName


@dataclass(frozen=True)
class Holds:
    """An atom is true (with `goal`: belongs to the goal); if not `positive`, it is false (does not belong to it)."""

    atom: Atom
    goal: bool = False
    positive: bool = True
    line: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return _signed(f"(goal {self.atom})" if self.goal else str(self.atom), self.positive)


@dataclass(frozen=True)
class Equal:
    """Two terms are the same object, or they are not."""

    left: str
    right: str
    positive: bool = True
    line: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return _signed(f"(= {self.left} {self.right})", self.positive)


@dataclass(frozen=True)
class Exists:
    """There are objects for which all conditions hold, or there are none."""

    parameters: tuple[TypedName, ...]
    conditions: tuple[Condition, ...]
    positive: bool = True
    line: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        text = f"(exists ({typed_list(self.parameters)}) {conjunction(self.conditions)})"
        return _signed(text, self.positive)


Condition = Holds | Equal | Exists


@dataclass(frozen=True)
class Rule:
    """If the conditions hold for some objects, the rule permits the action on these objects."""

    name: str
    parameters: tuple[TypedName, ...]
    conditions: tuple[Condition, ...]
    action: Atom
    line: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return (
            f"(:rule {self.name}\n"
            f"    :parameters ({typed_list(self.parameters)})\n"
            f"    :condition {conjunction(self.conditions)}\n"
            f"    :action {self.action})"
        )


@dataclass(frozen=True)
class RuleSet:
    """The rules of a policy, in order: the first one that permits an action decides."""

    name: str
    domain: str
    rules: tuple[Rule, ...]

    def __str__(self) -> str:
        parts = [f"(define (policy {self.name})", f"(:domain {self.domain})", *map(str, self.rules)]
        return "\n  ".join(parts) + ")\n"

    @property
    def reads_goal(self) -> bool:
        """Whether any condition is about the goal."""
        return any(_reads_goal(condition) for rule in self.rules for condition in rule.conditions)


def typed_list(parameters: tuple[TypedName, ...]) -> str:
    return " ".join(f"{parameter.name} - {parameter.type}" for parameter in parameters)


def conjunction(conditions: tuple[Condition, ...]) -> str:
    return (
        str(conditions[0])
        if len(conditions) == 1
        else f"({' '.join(['and', *map(str, conditions)])})"
    )


def _signed(text: str, positive: bool) -> str:
    return text if positive else f"(not {text})"


def _reads_goal(condition: Condition) -> bool:
    if isinstance(condition, Exists):
        return any(_reads_goal(inner) for inner in condition.conditions)
    return isinstance(condition, Holds) and condition.goal


__all__ = ["Condition", "Equal", "Exists", "Holds", "Rule", "RuleSet", "conjunction", "typed_list"]
