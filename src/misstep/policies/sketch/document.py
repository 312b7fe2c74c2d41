"""A sketch as its file describes it: named features, and rules with conditions and effects on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from misstep.errors import InputFormatError
from misstep.policies.sketch.elements import Element, Sort, parse_feature
from misstep.policies.sketch.text import List, Node, Quoted, Word, read_expression

MAX_FEATURES = 1_000
MAX_RULES = 10_000

# What the tokens of rules require of a feature, by its sort.
CONDITIONS = {
    ":c_b_pos": (Sort.BOOLEAN, "positive"),
    ":c_b_neg": (Sort.BOOLEAN, "zero"),
    ":c_n_gt": (Sort.NUMERICAL, "positive"),
    ":c_n_eq": (Sort.NUMERICAL, "zero"),
}
EFFECTS = {
    ":e_b_pos": (Sort.BOOLEAN, "positive"),
    ":e_b_neg": (Sort.BOOLEAN, "zero"),
    ":e_b_bot": (Sort.BOOLEAN, "unchanged"),
    ":e_n_inc": (Sort.NUMERICAL, "increased"),
    ":e_n_dec": (Sort.NUMERICAL, "decreased"),
    ":e_n_bot": (Sort.NUMERICAL, "unchanged"),
}


@dataclass(frozen=True)
class Feature:
    name: str
    element: Element
    line: int


@dataclass(frozen=True)
class Literal:
    """What a rule requires of a feature (given by its number): positive, zero, increased, decreased or unchanged."""

    test: str
    feature: int


@dataclass(frozen=True)
class Rule:
    conditions: tuple[Literal, ...]
    effects: tuple[Literal, ...]
    line: int


@dataclass(frozen=True)
class Sketch:
    file: str
    features: tuple[Feature, ...]
    rules: tuple[Rule, ...]


def parse_sketch(text: str, file: str) -> Sketch:
    """Reads DLPlan's text format of policies; `file` is its name in messages."""
    return _Reader(file).sketch(read_expression(text, file))


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.features: list[Feature] = []
        self.numbers: dict[str, int] = {}
        self.rules: list[Rule] = []

    def sketch(self, root: List) -> Sketch:
        parts = self._headed(root, ":policy")
        # Rules may come before the features that they name.
        for part in parts:
            if (head := self._head(part)) in (":booleans", ":numericals"):
                self._features(part, Sort.BOOLEAN if head == ":booleans" else Sort.NUMERICAL)
            elif head != ":rule":
                raise self._error(
                    part,
                    f"{head[:40]!r} is not part of a sketch",
                    ":booleans, :numericals or :rule",
                )
        for part in parts:
            if self._head(part) == ":rule":
                self._rule(part)
        if not self.rules:
            raise self._error(root, "the sketch has no rule", "at least one (:rule ...)")
        return Sketch(self.file, tuple(self.features), tuple(self.rules))

    def _features(self, part: Node, sort: Sort) -> None:
        for item in self._list(part).items[1:]:
            match item:
                case List(items=(Word(text=name), Quoted(text=text))):
                    pass
                case _:
                    raise self._error(item, "this is not a feature", '(NAME "FEATURE")')
            if name in self.numbers:
                raise self._error(item, f"there are two features {name[:40]!r}", "one of each name")
            if len(self.features) >= MAX_FEATURES:
                raise self._error(item, "too many features", f"at most {MAX_FEATURES}")
            element = parse_feature(text, sort, f"{self.file}:{item.line}: feature {name[:40]}")
            self.numbers[name] = len(self.features)
            self.features.append(Feature(name, element, item.line))

    def _rule(self, part: Node) -> None:
        items = self._list(part).items
        if len(self.rules) >= MAX_RULES:
            raise self._error(part, "too many rules", f"at most {MAX_RULES}")
        if len(items) != 3:
            raise self._error(
                part, "this is not a rule", "(:rule (:conditions ...) (:effects ...))"
            )
        conditions = self._literals(self._headed(items[1], ":conditions"), CONDITIONS)
        effects = self._literals(self._headed(items[2], ":effects"), EFFECTS)
        self.rules.append(Rule(conditions, effects, part.line))

    def _literals(
        self, items: tuple[Node, ...], tokens: Mapping[str, tuple[Sort, str]]
    ) -> tuple[Literal, ...]:
        literals = []
        for item in items:
            match item:
                case List(items=(Word(text=token), Word(text=name))) if token in tokens:
                    pass
                case _:
                    token = self._head(item)
                    raise self._error(
                        item, f"{token[:40]!r} does not fit here", f"({' | '.join(tokens)} FEATURE)"
                    )
            sort, test = tokens[token]
            if name not in self.numbers:
                raise self._error(
                    item, f"there is no feature {name[:40]!r}", "a feature of this sketch"
                )
            if self.features[self.numbers[name]].element.sort is not sort:
                raise self._error(item, f"{token} does not fit the feature {name[:40]}", sort.value)
            literals.append(Literal(test, self.numbers[name]))
        return tuple(dict.fromkeys(literals))

    def _headed(self, node: Node, head: str) -> tuple[Node, ...]:
        if self._head(node) != head:
            raise self._error(
                node, f"{self._head(node)[:40]!r} stands where {head} should", f"({head} ...)"
            )
        return self._list(node).items[1:]

    def _list(self, node: Node) -> List:
        if not isinstance(node, List):
            raise self._error(node, f"{node.text[:40]!r} stands alone", "a list in parentheses")
        return node

    def _head(self, node: Node) -> str:
        match self._list(node).items:
            case (Word(text=text), *_):
                return text
        raise self._error(node, "this list has no first word", "a list such as (:rule ...)")

    def _error(self, node: Node, what: str, expected: str) -> InputFormatError:
        return InputFormatError(what, where=f"{self.file}:{node.line}", expected=expected)


__all__ = ["Feature", "Literal", "Rule", "Sketch", "parse_sketch"]
