"""The policy of a rule set: the first rule that permits an applicable operator decides.

An instance of a rule is a choice of objects for its parameters for which the conditions hold and the action applies.
With `--choose=first` the first instance decides. Instances are ordered like words in a dictionary: by the object of the
first parameter, then of the second, and so on. Objects have the order of the files (constants of the domain, then
objects of the problem). With `--choose=all` the policy permits the operators of all instances of the rule that decides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from misstep.errors import UsageError
from misstep.policies.options import one_of, split_options
from misstep.policies.policy import (
    NO_ACTION,
    Answers,
    Candidates,
    Policy,
    States,
    checked_states,
)
from misstep.policies.rules.facts import Fact, FactBase, Facts
from misstep.policies.rules.fit import check_fit
from misstep.policies.rules.language import Rule, RuleSet
from misstep.policies.rules.match import Instance, Matcher
from misstep.policies.rules.parse import parse_rules, read_rules
from misstep.tasks.pddl.atoms import AtomTable, goal_atoms
from misstep.tasks.pddl.names import parse_operator_name
from misstep.tasks.pddl.text import Source
from misstep.tasks.task import State, Task

CHOOSE = ("first", "all")
_Operators = list[list[tuple[int, Fact]]]  # of each schema, with their arguments


class RulePolicy(Policy):
    """Lifted rules on a task."""

    chooses = True

    def __init__(
        self, task: Task, rules: RuleSet, *, choose: str = "first", source: Source | None = None
    ) -> None:
        super().__init__(task)
        self.rules = rules
        self.set_valued = choose == "all"
        self.chooser = None if self.set_valued else choose
        lifted = task.lifted
        if source is None:  # rules made by a program must pass the same checks as a text
            source = Source(f"rules {rules.name}", b"")
            parse_rules(Source(source.path, str(rules).encode()))
        check_fit(rules, lifted, source)
        goal = goal_atoms(lifted, source.path, "rules see nothing else") if rules.reads_goal else ()
        self._base = FactBase(lifted, AtomTable(task), goal)
        schemas = {schema.name: number for number, schema in enumerate(lifted.schemas)}
        self._matchers = [
            (Matcher(rule, self._base), schemas[rule.action.predicate]) for rule in rules.rules
        ]
        self._base.close()
        self._operators = [self._taken_apart(name, schemas) for name in task.operator_names]
        self._schema_count = len(schemas)
        self.name = f"rules:{source.path}"
        # What the rules say counts, not how they are laid out.
        self.digest = hashlib.sha256(f"{choose} {rules}".encode()).hexdigest()

    def decide(self, states: States, candidates: Candidates | None = None) -> Answers:
        """The operator of the first instance, among the candidates if they are given."""
        operators = []
        for facts, of_schema in self._situations(states, candidates):
            found = (
                matcher.first(own, facts)
                for matcher, schema in self._matchers
                if (own := of_schema[schema])
            )
            operators.append(next((op for op in found if op is not None), NO_ACTION))
        return Answers(np.array(operators, dtype=np.int32), evaluations=len(operators))

    def permitted(self, states: States) -> Candidates:
        """The operators of all instances of the deciding rule."""
        if not self.set_valued:
            return super().permitted(states)
        rows = [
            sorted({operator for _, operator in self._deciding(facts, of_schema)[1]})
            for facts, of_schema in self._situations(states, None)
        ]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        offsets[1:] = np.cumsum([len(row) for row in rows])
        return Candidates(offsets, np.array([op for row in rows for op in row], dtype=np.int32))

    def rule_of(self, state: State) -> Rule | None:
        """The deciding rule in a state."""
        ((facts, of_schema),) = self._situations(np.array([state.values], dtype=np.int32), None)
        number, _ = self._deciding(facts, of_schema)
        return None if number is None else self.rules.rules[number]

    def _deciding(self, facts: Facts, of_schema: _Operators) -> tuple[int | None, list[Instance]]:
        """The first rule that has instances, with all its instances."""
        for number, (matcher, schema) in enumerate(self._matchers):
            own = of_schema[schema]
            if own and (found := matcher.instances(own, facts)):
                return number, found
        return None, []

    def _situations(
        self, states: States, candidates: Candidates | None
    ) -> Iterator[tuple[Facts, _Operators]]:
        """For each state: its facts, and the operators to choose from, grouped by their schema."""
        states = checked_states(states, self.task)
        own = self.all_candidates(states) if candidates is None else candidates
        offsets, operators = own.offsets.tolist(), own.operators.tolist()
        for row, values in enumerate(states.tolist()):
            of_schema: _Operators = [[] for _ in range(self._schema_count)]
            for operator in operators[offsets[row] : offsets[row + 1]]:
                schema, arguments = self._operators[operator]
                of_schema[schema].append((operator, arguments))
            yield self._base.facts(values), of_schema

    def _taken_apart(self, name: str, schemas: dict[str, int]) -> tuple[int, Fact]:
        schema, arguments = parse_operator_name(name)
        return schemas[schema], tuple(self._base.objects[argument] for argument in arguments)


def load(argument: str, task: Task) -> RulePolicy:
    """Loads `rules:[--choose=first|all] FILE`."""
    options, path = split_options(argument, "rules", {"choose": one_of(*CHOOSE)})
    if not path:
        raise UsageError(
            "a rule policy without a file", where=f"policy rules:{argument}", expected="rules:FILE"
        )
    rules, source = read_rules(Path(path))
    policy = RulePolicy(task, rules, source=source, **options)
    policy.name = f"rules:{argument}"
    return policy


__all__ = ["RulePolicy", "load"]
