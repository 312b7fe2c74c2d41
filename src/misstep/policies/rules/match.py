"""Which instances of a rule match a state: a join over facts, in an order that is fixed when the rule is compiled.

The join starts from the applicable operators of the rule's action, which binds all variables of the action at once.
Conditions whose variables are all bound come next: they are only tests. Then comes the atom with the fewest open
variables, for which an index lists the objects. Variables that no atom binds come last and run over all objects of
their type.

A step is a function that tries its possibilities, writes objects into their places of a list, and calls the next step
for each. A step that returns true ends the join. This is how `exists` stops at the first witness.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter

from misstep.policies.rules.facts import Fact, FactBase, Facts, Lookup
from misstep.policies.rules.language import Condition, Equal, Exists, Holds, Rule
from misstep.tasks.pddl.lifted import Atom, TypedName

Binding = list[int]
Step = Callable[[Facts, Binding], bool]
Instance = tuple[Fact, int]  # the objects of the parameters, in their order, and the operator


class Matcher:
    """A compiled rule."""

    def __init__(self, rule: Rule, base: FactBase) -> None:
        self._places: dict[str, int] = {}
        self._start: Binding = []
        compiler = _Compiler(base, self._places, self._start)
        terms = [compiler.place(term) for term in rule.action.terms]
        bound = set(compiler.constants)
        self._tests = [(i, place) for i, place in enumerate(terms) if place in bound]
        self._writes: list[tuple[int, int]] = []
        self._repeats: list[tuple[int, int]] = []
        for i, place in enumerate(terms):
            if place in bound:
                continue
            first = [j for j, other in self._writes if other == place]
            if first:
                self._repeats.append((i, first[0]))
            else:
                self._writes.append((i, place))
        bound.update(terms)
        compiler.declare(rule.parameters)
        self._key = _getter([self._places[parameter.name] for parameter in rule.parameters])
        self._ranks = self._leading(rule)
        self._found: list[Instance] = []
        self._operator = -1
        self._once = False
        self._run = compiler.join(rule.parameters, rule.conditions, bound, self._collect)

    def _leading(self, rule: Rule) -> list[int] | None:
        """The positions of the first parameters in the action, if the action has no other variables.

        In that case the operator alone determines which instance comes first, and the join need only find one.
        """
        variables = {term for term in rule.action.terms if term.startswith("?")}
        leading = [parameter.name for parameter in rule.parameters[: len(variables)]]
        return [rule.action.terms.index(v) for v in leading] if set(leading) == variables else None

    def first(self, operators: list[tuple[int, Fact]], facts: Facts) -> int | None:
        """The operator of the first instance, where instances are ordered by the objects of their parameters."""
        if self._ranks is None:
            return min(found)[1] if (found := self.instances(operators, facts)) else None
        ranks = self._ranks
        operators = sorted(operators, key=lambda one: ([one[1][i] for i in ranks], one[0]))
        self._once = True
        for one in operators:
            if self._instances([one], facts):
                return one[0]
        return None

    def instances(self, operators: list[tuple[int, Fact]], facts: Facts) -> list[Instance]:
        """All instances whose action is one of the given operators (with their arguments), in no special order."""
        self._once = False
        return self._instances(operators, facts)

    def _instances(self, operators: list[tuple[int, Fact]], facts: Facts) -> list[Instance]:
        self._found = []
        binding = self._start.copy()
        for operator, arguments in operators:
            if all(arguments[i] == binding[place] for i, place in self._tests) and all(
                arguments[i] == arguments[j] for i, j in self._repeats
            ):
                for i, place in self._writes:
                    binding[place] = arguments[i]
                self._operator = operator
                self._run(facts, binding)
        return self._found

    def _collect(self, facts: Facts, binding: Binding) -> bool:  # noqa: ARG002
        self._found.append((self._key(binding), self._operator))
        return self._once


class _Compiler:
    """Builds the steps, and keeps the place of each variable and constant in the binding."""

    def __init__(self, base: FactBase, places: dict[str, int], start: Binding) -> None:
        self.base = base
        self.places = places
        self.start = start
        self.constants: set[int] = set()

    def place(self, term: str) -> int:
        if term not in self.places:
            self.places[term] = len(self.start)
            constant = not term.startswith("?")
            if constant:
                self.constants.add(self.places[term])
            self.start.append(self.base.objects[term] if constant else -1)
        return self.places[term]

    def declare(self, parameters: Sequence[TypedName]) -> None:
        for parameter in parameters:
            self.place(parameter.name)

    def join(
        self,
        parameters: Sequence[TypedName],
        conditions: Sequence[Condition],
        bound: set[int],
        last: Step,
    ) -> Step:
        """The steps for all conditions and for the types of the parameters, followed by the last step."""
        makers: list[Callable[[Step], Step]] = []
        bound = set(bound)
        waiting = list(conditions)
        untyped = {self.places[p.name]: self.members(p) for p in parameters}
        everything = frozenset(self.base.objects.values())
        while True:
            bound |= self.constants
            for place in [place for place in untyped if place in bound]:
                if untyped[place] != everything:
                    makers.append(_member(place, untyped[place]))
                del untyped[place]
            chosen = self.choose(waiting, bound)
            if chosen is not None:
                waiting.remove(chosen)
                makers.append(self.step(chosen, bound))
            elif untyped:
                place = min(untyped, key=lambda one: len(untyped[one]))
                makers.append(_each(place, sorted(untyped.pop(place))))
                bound.add(place)
            else:
                break
        step = last
        for maker in reversed(makers):
            step = maker(step)
        return step

    def members(self, parameter: TypedName) -> frozenset[int]:
        return frozenset().union(*(self.base.members[name] for name in parameter.types))

    def choose(self, waiting: list[Condition], bound: set[int]) -> Condition | None:
        """The next condition: of those that can be handled now, the one with the fewest open variables."""
        best, least = None, 0
        for condition in waiting:
            count = len(self.free(condition) - bound)
            joins = isinstance(condition, Holds) and condition.positive
            assigns = isinstance(condition, Equal) and condition.positive and count == 1
            if (count == 0 or joins or assigns) and (best is None or count < least):
                best, least = condition, count
        return best

    def free(self, condition: Condition) -> set[int]:
        """The places of the condition's variables and constants, without the variables that it quantifies."""
        if isinstance(condition, Equal):
            return {self.place(condition.left), self.place(condition.right)} - self.constants
        if isinstance(condition, Holds):
            return {self.place(term) for term in condition.atom.terms} - self.constants
        # Two quantifiers may use the same name for a variable and then share its place: only one is in use at a time.
        own = {self.place(parameter.name) for parameter in condition.parameters}
        return set().union(*(self.free(inner) for inner in condition.conditions)) - own

    def step(self, condition: Condition, bound: set[int]) -> Callable[[Step], Step]:
        """The step for a condition. The variables that it binds count as bound afterwards."""
        open_places = self.free(condition) - bound
        if isinstance(condition, Exists):
            self.declare(condition.parameters)
            own = {self.places[parameter.name] for parameter in condition.parameters}
            inner = self.join(condition.parameters, condition.conditions, bound - own, _stop)
            return _exists(inner, condition.positive)
        if isinstance(condition, Equal):
            left, right = self.place(condition.left), self.place(condition.right)
            bound |= open_places
            if not open_places:
                return _equal(left, right, condition.positive)
            return _assign(right, left) if left in open_places else _assign(left, right)
        relation = self.base.relation(condition.atom.predicate, condition.goal)
        if not open_places:
            return _test(relation, self.getter(condition.atom), condition.positive)
        return self.expand(relation, condition.atom, open_places, bound)

    def getter(self, atom: Atom) -> Callable[[Binding], Fact]:
        return _getter([self.place(term) for term in atom.terms])

    def expand(
        self, relation: int, atom: Atom, open_places: set[int], bound: set[int]
    ) -> Callable[[Step], Step]:
        terms = [self.place(term) for term in atom.terms]
        given = tuple(i for i, place in enumerate(terms) if place not in open_places)
        wanted = {place: i for i, place in reversed(list(enumerate(terms))) if place in open_places}
        same = tuple(
            (i, wanted[place])
            for i, place in enumerate(terms)
            if place in open_places and wanted[place] != i
        )
        number = self.base.lookup(Lookup(relation, given, tuple(wanted.values()), same))
        bound |= open_places
        return _expand(number, _getter([terms[i] for i in given]), list(wanted))


def _getter(places: list[int]) -> Callable[[Binding], Fact]:
    if len(places) > 1:
        return itemgetter(*places)
    if places:
        (place,) = places
        return lambda binding: (binding[place],)
    return lambda _: ()


def _stop(facts: Facts, binding: Binding) -> bool:  # noqa: ARG001
    return True


def _test(relation: int, key: Callable[[Binding], Fact], positive: bool) -> Callable[[Step], Step]:
    def make(then: Step) -> Step:
        def step(facts: Facts, binding: Binding) -> bool:
            if (key(binding) in facts.relations[relation]) is positive:
                return then(facts, binding)
            return False

        return step

    return make


def _equal(left: int, right: int, positive: bool) -> Callable[[Step], Step]:
    def make(then: Step) -> Step:
        def step(facts: Facts, binding: Binding) -> bool:
            return (binding[left] == binding[right]) is positive and then(facts, binding)

        return step

    return make


def _assign(source: int, target: int) -> Callable[[Step], Step]:
    def make(then: Step) -> Step:
        def step(facts: Facts, binding: Binding) -> bool:
            binding[target] = binding[source]
            return then(facts, binding)

        return step

    return make


def _member(place: int, members: frozenset[int]) -> Callable[[Step], Step]:
    def make(then: Step) -> Step:
        def step(facts: Facts, binding: Binding) -> bool:
            return binding[place] in members and then(facts, binding)

        return step

    return make


def _each(place: int, members: list[int]) -> Callable[[Step], Step]:
    def make(then: Step) -> Step:
        def step(facts: Facts, binding: Binding) -> bool:
            for member in members:
                binding[place] = member
                if then(facts, binding):
                    return True
            return False

        return step

    return make


def _exists(inner: Step, positive: bool) -> Callable[[Step], Step]:
    def make(then: Step) -> Step:
        def step(facts: Facts, binding: Binding) -> bool:
            return inner(facts, binding) is positive and then(facts, binding)

        return step

    return make


def _expand(
    number: int, key: Callable[[Binding], Fact], places: list[int]
) -> Callable[[Step], Step]:
    def make(then: Step) -> Step:
        def step(facts: Facts, binding: Binding) -> bool:
            for row in facts.index(number).get(key(binding), ()):
                for place, value in zip(places, row, strict=True):
                    binding[place] = value
                if then(facts, binding):
                    return True
            return False

        return step

    return make


__all__ = ["Instance", "Matcher"]
