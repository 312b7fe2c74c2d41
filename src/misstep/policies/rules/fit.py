"""Checks that rules and a task belong to the same domain: every name in the rules is looked up in the task."""

from __future__ import annotations

from misstep.errors import UnsupportedError
from misstep.policies.rules.language import Condition, Equal, Exists, Rule, RuleSet
from misstep.tasks.pddl.lifted import Atom, LiftedTask, TypedName
from misstep.tasks.pddl.text import Source


def check_fit(rules: RuleSet, lifted: LiftedTask, source: Source) -> None:
    """Raises an error with the line of the first name that the task does not have."""
    if rules.domain != lifted.domain_name:
        raise UnsupportedError(
            f"the rules are for the domain {rules.domain}, the task is of {lifted.domain_name}",
            where=source.path,
            expected=f"(:domain {lifted.domain_name})",
        )
    fit = _Fit(lifted, source)
    for rule in rules.rules:
        fit.rule(rule)


class _Fit:
    def __init__(self, lifted: LiftedTask, source: Source) -> None:
        self.source = source
        self.domain = lifted.domain_name
        self.problem = lifted.problem_name
        self.types = set(lifted.types)
        self.objects = {named.name for named in lifted.objects}
        self.predicates = {predicate.name: predicate.arity for predicate in lifted.predicates}
        self.actions = {schema.name: len(schema.parameters) for schema in lifted.schemas}

    def rule(self, rule: Rule) -> None:
        self.typed(rule.parameters, rule.line)
        for condition in rule.conditions:
            self.condition(condition)
        self.atom("action", self.actions, rule.action, rule.line)

    def condition(self, condition: Condition) -> None:
        if isinstance(condition, Exists):
            self.typed(condition.parameters, condition.line)
            for inner in condition.conditions:
                self.condition(inner)
        elif isinstance(condition, Equal):
            self.terms((condition.left, condition.right), condition.line)
        else:
            self.atom("predicate", self.predicates, condition.atom, condition.line)

    def atom(self, kind: str, known: dict[str, int], atom: Atom, line: int | None) -> None:
        if atom.predicate not in known:
            self.refuse(f"the domain {self.domain} has no {kind} {atom.predicate}", line, known)
        arity = known[atom.predicate]
        if arity != len(atom.terms):
            raise UnsupportedError(
                f"{atom} has {len(atom.terms)} arguments",
                where=self.source.at(line),
                expected=f"{arity}, as the {kind} {atom.predicate} of the domain {self.domain} has",
            )
        self.terms(atom.terms, line)

    def typed(self, parameters: tuple[TypedName, ...], line: int | None) -> None:
        for name in (name for parameter in parameters for name in parameter.types):
            if name not in self.types:
                self.refuse(f"the domain {self.domain} has no type {name}", line, self.types)

    def terms(self, terms: tuple[str, ...], line: int | None) -> None:
        for term in terms:
            if not term.startswith("?") and term not in self.objects:
                self.refuse(f"{self.problem} has no object {term}", line, self.objects)

    def refuse(self, what: str, line: int | None, known: set[str] | dict[str, int]) -> None:
        names = sorted(known)
        more = ", ..." if len(names) > 8 else ""
        raise UnsupportedError(
            what, where=self.source.at(line), expected="one of " + ", ".join(names[:8]) + more
        )


__all__ = ["check_fit"]
