"""Turns PDDL text into the syntax trees of plado.

The words come from our own tokenizer, so that names and lines agree with the rest of the package,
with repairs where the parser is stricter than the translator: names that look like
keywords or numbers, `either` types, empty effects, requirements, negated facts in :init.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from plado.parser.parser import LookaheadStreamer, parse_domain, parse_problem
from plado.parser.tokenizer import Category, Token

from misstep.errors import InputFormatError, UnsupportedError
from misstep.tasks.pddl.precheck import check_pair
from misstep.tasks.pddl.text import Block, Source, Word

_SECTIONS = {
    f":{category.name.lower().replace('_', '-')}": category
    for category in (
        Category.REQUIREMENTS,
        Category.TYPES,
        Category.CONSTANTS,
        Category.PREDICATES,
        Category.FUNCTIONS,
        Category.DERIVED,
        Category.ACTION,
        Category.PARAMETERS,
        Category.PRECONDITION,
        Category.EFFECT,
        Category.DOMAIN,
        Category.OBJECTS,
        Category.INIT,
        Category.GOAL,
        Category.METRIC,
    )
}
_OPERATORS = {
    "and": Category.AND,
    "or": Category.OR,
    "not": Category.NOT,
    "imply": Category.IMPLY,
    "exists": Category.EXISTS,
    "forall": Category.FORALL,
    "when": Category.WHEN,
    "=": Category.EQUAL,
    "<": Category.LT,
    "<=": Category.LE,
    ">": Category.GT,
    ">=": Category.GE,
    "+": Category.PLUS,
    "-": Category.MINUS,
    "*": Category.TIMES,
    "/": Category.DIVIDE,
    "assign": Category.ASSIGN,
    "increase": Category.INCREASE,
    "decrease": Category.DECREASE,
    "scale-up": Category.SCALE_UP,
    "scale-down": Category.SCALE_DOWN,
}
_HEADERS = {
    "define": Category.DEFINE,
    "domain": Category.DOMAIN_DEF,
    "problem": Category.PROBLEM_DEF,
}
_METRICS = {"minimize": Category.MINIMIZE, "maximize": Category.MAXIMIZE}
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_POSITION = re.compile(r"<Token <[^>]*> (?P<text>.*?) @(?P<line>\d+):\d+>\.? ?(?P<expected>.*)")
_EITHER = "either "

# Not typed in plado.
_token: Any = Token
_stream: Any = LookaheadStreamer


def parse_pair(domain: Source, problem: Source) -> tuple[Any, Any]:
    """The domain and the problem as objects of plado."""
    domain_tree, problem_tree = check_pair(domain, problem)
    # Requirements add nothing to the content, and plado knows fewer of them.
    for tree in (domain_tree, problem_tree):
        tree[:] = [b for b in tree if not (isinstance(b, Block) and b.tag == ":requirements")]
    _drop_negated_init(problem_tree)
    return (
        _parse(parse_domain, domain, domain_tree),
        _parse(parse_problem, problem, problem_tree),
    )


def _drop_negated_init(problem: Block) -> None:
    # Facts that are not listed are false, so negated facts are redundant.
    for block in problem:
        if isinstance(block, Block) and block.tag == ":init":
            block[:] = [b for b in block if not (isinstance(b, Block) and b.tag == "not")]


def _parse(parser: Callable[[Any], Any], source: Source, tree: Block) -> Any:
    try:
        return parser(_stream(_tokens(tree)))
    except RecursionError as error:
        raise UnsupportedError("a formula is nested too deep", where=source.path) from error
    except (ValueError, StopIteration, AttributeError, TypeError) as error:
        found = _POSITION.search(str(error))
        if found is None:
            raise UnsupportedError(
                f"no lifted view of this file: {str(error) or type(error).__name__}",
                where=source.path,
            ) from error
        expected = found["expected"].removeprefix("Expected ").rstrip(".")
        raise InputFormatError(
            f"unexpected {found['text']}",
            where=source.at(int(found["line"])),
            expected=expected if found["expected"].startswith("Expected ") else None,
        ) from error


def _tokens(tree: Block) -> Iterator[Any]:
    """The tokens of a tree, in textual order, with the categories that plado's parser expects."""
    stack: list[tuple[Block, int]] = [(tree, 0)]
    yield _token(Category.LBRACK, tree.line, 1, "(")
    while stack:
        block, index = stack.pop()
        if index == len(block):
            yield _token(Category.RBRACK, block.line, 1, ")")
            continue
        stack.append((block, index + 1))
        item = block[index]
        if isinstance(item, Word):
            yield _token(_category(block, index, item, len(stack)), item.line, 1, str(item))
        elif item.tag == "either" and index > 0 and block[index - 1] == "-":
            yield _token(Category.NAME, item.line, 1, _EITHER + " ".join(map(str, item[1:])))
        else:
            yield _token(Category.LBRACK, item.line, 1, "(")
            if not item and index > 0 and block[index - 1] == ":effect":
                # An empty effect, which plado accepts only in another form.
                yield _token(Category.AND, item.line, 1, "and")
            stack.append((item, 0))


def _category(block: Block, index: int, word: Word, depth: int) -> Any:
    # Keywords are special only in their place: elsewhere they are ordinary names.
    if word.startswith(":"):
        return _SECTIONS.get(word, Category.REQUIREMENT_CONSTANT)
    if word.startswith("?"):
        return Category.VARIABLE
    if index == 0:
        if word in _HEADERS and depth <= 2:
            return _HEADERS[word]
        return _OPERATORS.get(word, Category.NAME)
    if word == "-":
        return Category.MINUS
    if index == 1 and block.tag == ":metric":
        return _METRICS.get(word, Category.NAME)
    if isinstance(block[index - 1], Block) and _NUMBER.fullmatch(word):
        return Category.CONSTANT
    return Category.NAME


def split_type(name: str) -> tuple[str, ...]:
    """The alternatives of a type name made by `_tokens`."""
    return tuple(name.removeprefix(_EITHER).split()) if name.startswith(_EITHER) else (name,)
