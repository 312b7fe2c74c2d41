"""The naive twin of rule policies: all bindings are enumerated, and conditions are read as they are written."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from misstep._core import CounterRandom
from misstep.policies.rules import Condition, Equal, Exists, Holds, Rule, RuleSet
from misstep.tasks.pddl.atoms import AtomTable
from misstep.tasks.pddl.lifted import Atom, LiftedTask, TypedName
from misstep.tasks.task import State, Task

Terms = dict[str, str]


class NaiveRules:
    """What rules permit in a state, by definition."""

    def __init__(self, task: Task, rules: RuleSet) -> None:
        self.task = task
        self.rules = rules
        self.lifted = task.lifted
        self.table = AtomTable(task)
        self.goal = {literal.atom for literal in self.lifted.goal}

    def instances(self, state: State) -> list[int]:
        """The operators of the instances of the first rule that has any, in the order of the instances."""
        true = set(self.table.true(state.values))
        applicable = {f"({self.task.operator_name(op)})": op for op in self.task.applicable(state)}
        for rule in self.rules.rules:
            found = []
            for binding in self.bindings(rule.parameters, {}):
                operator = applicable.get(str(rule.action.ground(binding)))
                holds = all(self.holds(condition, binding, true) for condition in rule.conditions)
                if holds and operator is not None:
                    found.append(operator)
            if found:
                return found
        return []

    def bindings(self, parameters: tuple[TypedName, ...], outer: Terms) -> Iterator[Terms]:
        choices = [objects_of(self.lifted, parameter) for parameter in parameters]
        for chosen in product(*choices):
            yield {**outer, **{p.name: o for p, o in zip(parameters, chosen, strict=True)}}

    def holds(self, condition: Condition, binding: Terms, true: set[Atom]) -> bool:
        if isinstance(condition, Holds):
            value = condition.atom.ground(binding) in (self.goal if condition.goal else true)
        elif isinstance(condition, Equal):
            left, right = (binding.get(t, t) for t in (condition.left, condition.right))
            value = left == right
        else:
            value = any(
                all(self.holds(inner, chosen, true) for inner in condition.conditions)
                for chosen in self.bindings(condition.parameters, binding)
            )
        return value == condition.positive


def objects_of(lifted: LiftedTask, parameter: TypedName) -> list[str]:
    return [
        named.name
        for named in lifted.objects
        if any(kind in lifted.supertypes(own) for own in named.types for kind in parameter.types)
    ]


class RandomRules:
    """Rules that nobody would write, for any domain: all constructs in all combinations."""

    def __init__(self, lifted: LiftedTask, seed: int) -> None:
        self.lifted = lifted
        self.random = CounterRandom(seed, 77)

    def below(self, count: int) -> int:
        return int(self.random.below(count))

    def rule_set(self) -> RuleSet:
        rules = tuple(self.rule(f"r{i}") for i in range(2 + self.below(3)))
        return RuleSet("random", self.lifted.domain_name, rules)

    def rule(self, name: str) -> Rule:
        schema = self.lifted.schemas[self.below(len(self.lifted.schemas))]
        parameters = list(schema.parameters)
        if self.below(2):
            parameters.append(TypedName("?extra", (self.kind(),)))
        if self.below(4) == 0:  # another order of instances
            parameters.reverse()
        terms = [p.name for p in schema.parameters]
        if terms and self.below(6) == 0:
            terms[self.below(len(terms))] = self.object()
        if len(terms) > 1 and self.below(8) == 0:
            terms[0] = terms[1]
        names = [parameter.name for parameter in parameters]
        conditions = tuple(self.condition(names, 0) for _ in range(self.below(4)))
        return Rule(name, tuple(parameters), conditions, Atom(schema.name, tuple(terms)))

    def condition(self, names: list[str], depth: int) -> Condition:
        positive = self.below(3) > 0
        choice = self.below(8)
        if choice == 0:
            return Equal(self.term(names), self.term(names), positive)
        if choice < 3 and depth < 2:
            own = [f"?e{depth}{i}" for i in range(1 + self.below(2))]
            parameters = tuple(TypedName(name, (self.kind(),)) for name in own)
            count = 1 + self.below(2)
            inner = tuple(self.condition([*names, *own, *own], depth + 1) for _ in range(count))
            return Exists(parameters, inner, positive)
        predicate = self.lifted.predicates[self.below(len(self.lifted.predicates))]
        terms = tuple(self.term(names) for _ in predicate.parameters)
        return Holds(Atom(predicate.name, terms), self.below(3) == 0, positive)

    def term(self, names: list[str]) -> str:
        return names[self.below(len(names))] if names and self.below(8) else self.object()

    def object(self) -> str:
        return self.lifted.objects[self.below(len(self.lifted.objects))].name

    def kind(self) -> str:
        return sorted(self.lifted.types)[self.below(len(self.lifted.types))]
