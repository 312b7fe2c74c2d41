"""Parses the text of a rule policy. The grammar is on the page docs/policies/rules.md.

The text looks like PDDL and is split into words in the same way, so names agree with those of the domain. Every error
is reported with its line, and no task is needed for that; `fit` compares the rules with a domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from misstep.errors import InputFormatError
from misstep.policies.rules.language import Condition, Equal, Exists, Holds, Rule, RuleSet
from misstep.tasks.pddl.lifted import Atom, TypedName
from misstep.tasks.pddl.text import Block, Source, Word, parse_tree, read_source, shorten

MAX_BYTES = 4 * 2**20
MAX_RULES = 10_000
KEYS = (":parameters", ":condition", ":action")
OBJECT = "object"
_RESERVED = ("and", "or", "not", "=", "goal", "exists", "forall", "imply", "when")


def read_rules(path: Path) -> tuple[RuleSet, Source]:
    source = read_source(path, MAX_BYTES, "a file of rules")
    return parse_rules(source), source


def parse_rules(text: Source | str) -> RuleSet:
    """The rules that a text describes."""
    source = Source("rules", text.encode()) if isinstance(text, str) else text
    return _Parser(source).rule_set()


class _Parser:
    def __init__(self, source: Source) -> None:
        self.source = source

    def wrong(self, what: str, item: Word | Block, expected: str) -> InputFormatError:
        return InputFormatError(what, where=self.source.at(item.line), expected=expected)

    def rule_set(self) -> RuleSet:
        tree = parse_tree(self.source)
        head = tree[1] if len(tree) > 1 else None
        if tree.tag != "define" or not isinstance(head, Block) or _words(head)[:1] != ["policy"]:
            raise self.wrong(
                f"this is not a rule policy but {shorten(_text(tree))}",
                tree,
                "(define (policy NAME)",
            )
        names = _words(head)
        if len(names) != 2 or len(head) != 2:
            raise self.wrong(f"{shorten(_text(head))} is not a name", head, "(policy NAME)")
        domain: str | None = None
        rules: list[Rule] = []
        for part in tree[2:]:
            if isinstance(part, Block) and part.tag == ":domain":
                if domain is not None or len(part) != 2 or not isinstance(part[1], Word):
                    raise self.wrong("the domain is not one name", part, "(:domain NAME), once")
                domain = part[1]
            elif isinstance(part, Block) and part.tag == ":rule":
                rules.append(self.rule(part))
            else:
                raise self.wrong(
                    f"{shorten(_text(part))} is not part of a rule policy",
                    part,
                    "(:domain NAME) or (:rule NAME ...)",
                )
        if domain is None:
            raise self.wrong("the policy names no domain", tree, "(:domain NAME)")
        self.check_names(tree, rules)
        return RuleSet(names[1], str(domain), tuple(rules))

    def check_names(self, tree: Block, rules: list[Rule]) -> None:
        if not rules or len(rules) > MAX_RULES:
            raise self.wrong(f"the policy has {len(rules)} rules", tree, f"1 to {MAX_RULES:,}")
        first: dict[str, Rule] = {}
        for rule in rules:
            if first.setdefault(rule.name, rule) is not rule:
                raise InputFormatError(
                    f"a second rule {rule.name}",
                    where=self.source.at(rule.line),
                    expected=f"another name than in line {first[rule.name].line}",
                )

    def rule(self, block: Block) -> Rule:
        if len(block) < 2 or not isinstance(block[1], Word) or block[1].startswith((":", "?")):
            raise self.wrong("a rule without a name", block, "(:rule NAME ...)")
        parts: dict[str, Block] = {}
        for key, value in zip(block[2::2], [*block[3::2], block], strict=False):
            if not isinstance(key, Word) or key not in KEYS or key in parts:
                again = " again" if isinstance(key, Word) and key in parts else ""
                raise self.wrong(
                    f"{shorten(_text(key))}{again} in the rule {block[1]}", key, ", ".join(KEYS)
                )
            if value is block or not isinstance(value, Block):
                raise self.wrong(f"no parentheses after {key}", key, f"{key} (...)")
            parts[key] = value
        if ":action" not in parts:
            raise self.wrong(f"the rule {block[1]} has no action", block, ":action (NAME ?x ...)")
        parameters = self.parameters(parts[":parameters"]) if ":parameters" in parts else ()
        known = {parameter.name for parameter in parameters}
        condition = parts.get(":condition")
        conditions = () if condition is None or not condition else self.all_of(condition, known)
        action = self.atom(parts[":action"], known)
        return Rule(str(block[1]), parameters, conditions, action, block.line)

    def parameters(self, block: Block) -> tuple[TypedName, ...]:
        """`?x ?y - type ?z`, as in PDDL; the default type is `object`."""
        found: list[TypedName] = []
        waiting: list[str] = []
        items = list(block)
        while items:
            item = items.pop(0)
            if isinstance(item, Word) and item.startswith("?") and len(item) > 1:
                if str(item) in waiting or any(item == one.name for one in found):
                    raise self.wrong(f"{item} is listed twice", item, "a new name")
                waiting.append(str(item))
            elif item == "-" and waiting and items:
                types = self.types(items.pop(0))
                found += [TypedName(name, types) for name in waiting]
                waiting = []
            else:
                raise self.wrong(
                    f"{shorten(_text(item))} among the parameters", item, "?x ?y - TYPE ..."
                )
        return (*found, *(TypedName(name, (OBJECT,)) for name in waiting))

    def types(self, item: Word | Block) -> tuple[str, ...]:
        names = [str(item)] if isinstance(item, Word) else _words(item)[1:]
        either = isinstance(item, Word) or (item.tag == "either" and len(names) == len(item) - 1)
        if not either or not names or any(name.startswith(("?", ":")) for name in names):
            raise self.wrong(
                f"{shorten(_text(item))} is not a type", item, "TYPE or (either TYPE ...)"
            )
        return tuple(names)

    def all_of(self, block: Block, known: set[str]) -> tuple[Condition, ...]:
        """The conditions of a conjunction, including nested ones; any other condition is returned alone."""
        if block.tag != "and":
            return (self.condition(block, known, True),)
        return tuple(
            condition for item in block[1:] for condition in self.all_of(self.block(item), known)
        )

    def condition(self, block: Block, known: set[str], positive: bool) -> Condition:
        match block.tag:
            case "not" if positive and len(block) == 2:
                return self.condition(self.block(block[1]), known, False)
            case "=" if len(block) == 3:
                left, right = self.terms(block[1:], known)
                return Equal(left, right, positive, block.line)
            case "goal" if len(block) == 2:
                return Holds(self.atom(self.block(block[1]), known), True, positive, block.line)
            case "exists" if len(block) == 3:
                parameters = self.parameters(self.block(block[1]))
                for parameter in parameters:
                    if parameter.name in known:
                        raise self.wrong(
                            f"{parameter.name} is already a parameter outside the exists",
                            block,
                            "a new name",
                        )
                inside = known | {parameter.name for parameter in parameters}
                conditions = self.all_of(self.block(block[2]), inside)
                return Exists(parameters, conditions, positive, block.line)
            case _:
                return Holds(self.atom(block, known), False, positive, block.line)

    def atom(self, block: Block, known: set[str]) -> Atom:
        if block.tag is None or block.tag in _RESERVED or block.tag.startswith(("?", ":")):
            raise self.wrong(
                f"{shorten(_text(block))} is not understood",
                block,
                "(NAME ?x ...); in conditions also and, not, =, (goal (NAME ?x ...)), exists",
            )
        return Atom(block.tag, self.terms(block[1:], known))

    def terms(self, items: Sequence[Word | Block], known: set[str]) -> tuple[str, ...]:
        for item in items:
            if not isinstance(item, Word) or item.startswith(":"):
                raise self.wrong(f"{shorten(_text(item))} is not a term", item, "?x or an object")
            if item.startswith("?") and item not in known:
                raise self.wrong(
                    f"{item} is not a parameter",
                    item,
                    "a variable that :parameters or exists names",
                )
        return tuple(str(item) for item in items)

    def block(self, item: Word | Block) -> Block:
        if not isinstance(item, Block):
            raise self.wrong(f"{shorten(item)} stands alone", item, "a condition in parentheses")
        return item


def _words(block: Block) -> list[str]:
    return [str(item) for item in block if isinstance(item, Word)]


def _text(item: Word | Block) -> str:
    """The text as it was written, shortened to what a message can show."""
    if isinstance(item, Word):
        return str(item)
    inside = " ".join("(...)" if isinstance(part, Block) else str(part) for part in item[:8])
    return f"({inside})"


__all__ = ["parse_rules", "read_rules"]
