"""Turns the translator's messages about a bad task into one error with file and line.

The messages name the nested parts that were being read ("Parsing domain -> Parsing action 'move' ->
..."), say what is wrong, and quote the text, all without lines. The parts lead to a block of the
file, and the quote to a line inside it.
"""

from __future__ import annotations

import re

from misstep.errors import InputFormatError, MisstepError, ToolError, UnsupportedError
from misstep.tasks.pddl.plado_bridge import parse_pair
from misstep.tasks.pddl.precheck import section
from misstep.tasks.pddl.text import Block, Source, Word, shorten

_INPUT_ERROR = 31

_MESSAGE = re.compile(
    r"(?P<parts>^Parsing (?:domain|problem)(?:\n\t->[^\n]*)*)?\n"
    r"(?P<what>[^\n\t][^\n]*(?:\nReason:[^\n]*)?)"
    r"(?:\nExpected: (?P<labels>[^\n]*))?"
    r"(?:\nSyntax: (?P<syntax>[^\n]*))?"
    r"(?:\nGot: (?P<got>[^\n]*))?\n*\Z",
    re.MULTILINE,
)
_UNSUPPORTED = re.compile(
    r"not supported|Unsupported|Invalid requirement|Negative numbers|Fractional numbers"
    r"|Invalid metric"
)

_NUMERIC = frozenset(["<", "<=", ">", ">=", "assign", "decrease", "scale-up", "scale-down"])

Trees = tuple[Block, Block]


def diagnose(
    output: str, errors: str, code: int, sources: tuple[Source, Source], trees: Trees
) -> MisstepError:
    """The error that describes a failed run of the translator."""
    if code == _INPUT_ERROR:
        match = _MESSAGE.search(output)
        if match is not None:
            return _input_error(match, sources, trees)
        return InputFormatError(shorten(output[-300:], 300), where=sources[0].path)
    last = errors.strip().splitlines()[-1:] or output.strip().splitlines()[-1:] or [""]
    if "Traceback" not in errors and errors.strip():
        # A deliberate exit with a message, for instance about object fluents.
        text = shorten(errors.strip().removeprefix("Error: "), 300)
        return UnsupportedError(text, where=sources[0].path)
    if last[0].startswith("RecursionError"):
        return UnsupportedError(
            "a formula is nested too deep for the translator", where=sources[0].path
        )
    return _second_opinion(sources) or ToolError(
        f"the translator failed with exit code {code}: {shorten(last[0], 200)}",
        where=sources[1].path,
        hint="the task is malformed in a way that the translator does not recognise",
    )


def _second_opinion(sources: tuple[Source, Source]) -> InputFormatError | None:
    """The error of another parser, for files on which the translator crashed without a message."""
    try:
        parse_pair(*sources)
    except InputFormatError as error:
        return error
    except MisstepError:
        pass
    return None


def _input_error(
    match: re.Match[str], sources: tuple[Source, Source], trees: Trees
) -> MisstepError:
    parts = (match["parts"] or "").split("\n\t->")
    what, got = match["what"], match["got"]
    requirement = re.search(r"Invalid requirement\. Got: (\S+)", what)
    if requirement:
        got = requirement[1]
        what = "requirement not supported"
    what = what.replace("\nReason: ", ": ")
    numeric = got in _NUMERIC or what.startswith("'increase' expects two")
    if numeric:
        what = "numeric conditions and effects other than an increase of (total-cost)"
        what += " are not supported"
    elif what == "Expected logical operator or predicate name":
        what = "undefined predicate"
    side = 0 if parts[0] == "Parsing domain" else 1
    if not match["parts"] and not _mentions_problem(what, trees[1]):
        side = 0
    block, exact = _enter(trees[side], parts)
    duplicate = re.search(r"duplicate \w+s: (\S+?)(?:,|$)", what)
    line = None
    if duplicate:
        line = _find(section(trees[side], ":objects") or block, duplicate[1], last=True)
    if line is None and got:
        line = _find(block, got)
    if line is None and (exact or block is not trees[side]):
        line = block.line
    unsupported = numeric or _UNSUPPORTED.search(match["what"])
    kind = UnsupportedError if unsupported else InputFormatError
    text = what.rstrip(".") + (f": {shorten(got)}" if got else "")
    return kind(
        text[:1].lower() + text[1:],
        where=sources[side].at(line),
        expected=match["syntax"] or match["labels"],
    )


def _mentions_problem(what: str, problem: Block) -> bool:
    """Whether an error found after both files were read is about the problem file."""
    name = re.search(r"duplicate \w+s: (\S+?)(?:,|$)", what)
    objects = section(problem, ":objects")
    return not (name and (objects is None or name[1] not in objects))


def _enter(tree: Block, parts: list[str]) -> tuple[Block, bool]:
    """Follow the parts that the translator names, as far as they can be recognised."""
    block, exact = tree, False
    for part in parts:
        number = re.search(r"#(\d{1,9})\b", part)  # a name may have more digits
        index = int(number[1]) if number else 0
        if match := re.fullmatch(r"Parsing (requirements|types|constants|functions|objects)", part):
            inner = section(tree, f":{match[1]}")
        elif part == "Parsing predicates":
            inner = section(tree, ":predicates")
        elif part.startswith("Parsing predicate #"):
            inner = _nth(block, index)
        elif part.startswith("Parsing axiom/action entry #"):
            entries = [b for b in tree if isinstance(b, Block) and b.tag in (":action", ":derived")]
            inner = entries[index - 1] if 0 < index <= len(entries) else None
        elif part.startswith("Parsing element #"):
            init = section(tree, ":init")
            inner = None if init is None else _nth(init, index)
        elif part in ("Parsing goal", "Parsing metric"):
            inner = section(tree, ":" + part.split()[1])
        elif part in ("Parsing precondition", "Parsing effect"):
            inner = _after(block, ":" + part.split()[1])
        else:
            continue
        if inner is not None:
            block, exact = inner, True
    return block, exact


def _nth(block: Block, index: int) -> Block | None:
    """The item with that number, not counting the tag; a lone word counts as a block."""
    item = block[index] if 0 < index < len(block) else None
    if isinstance(item, Word):
        alone = Block([item])
        alone.line = item.line
        return alone
    return item


def _after(block: Block, keyword: str) -> Block | None:
    for number, item in enumerate(block[:-1]):
        if item == keyword:
            following = block[number + 1]
            return following if isinstance(following, Block) else None
    return None


def _find(block: Block, text: str, last: bool = False) -> int | None:
    """The line of a word or of a block, given as the translator prints it."""
    lines = [
        item.line
        for inner in block.walk()
        for item in inner
        if isinstance(item, Word) and item == text
    ]
    if not lines and text.startswith("("):
        wanted = re.findall(r"[()]|[^\s()]+", text)
        lines = [inner.line for inner in block.walk() if _flat(inner, len(wanted) + 1) == wanted]
    return (lines[-1] if last else lines[0]) if lines else None


def _flat(block: Block, limit: int) -> list[str]:
    """The first tokens of a block, as many as needed to distinguish it from others."""
    tokens: list[str] = []
    stack: list[Block | str] = [block]
    while stack and len(tokens) < limit:
        item = stack.pop()
        if isinstance(item, Block):
            tokens.append("(")
            stack.append(")")
            stack.extend(reversed(item))
        else:
            tokens.append(str(item))
    return tokens
