"""The s-expressions that a sketch is written in: lists, words and quoted strings, each with its line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from misstep.errors import InputFormatError

MAX_DEPTH = 8  # a sketch needs four
MAX_TOKENS = 200_000

_TOKEN = re.compile(
    r'[ \t\r\f]+|(?P<line>\n)|(?P<mark>[()])|"(?P<text>[^"\n]*)"|(?P<word>[^\s()"]+)'
)


@dataclass(frozen=True)
class Word:
    text: str
    line: int


@dataclass(frozen=True)
class Quoted:
    text: str
    line: int


@dataclass(frozen=True)
class List:
    items: tuple[Node, ...]
    line: int


Node = Word | Quoted | List


def read_expression(text: str, file: str) -> List:
    """The one list that the file consists of."""
    open_lists: list[tuple[list[Node], int]] = []
    result: List | None = None
    place, line = 0, 1
    for _ in range(MAX_TOKENS):
        if place == len(text):
            break
        match = _TOKEN.match(text, place)
        if match is None:
            raise InputFormatError(
                "a quoted feature does not end",
                where=f"{file}:{line}",
                expected='another " on the same line',
            )
        place = match.end()
        if match["line"]:
            line += 1
        if match.lastgroup in (None, "line"):
            continue
        if result is not None:
            raise InputFormatError(
                f"{_short(match[0])} follows the end of the sketch",
                where=f"{file}:{line}",
                expected="one (:policy ...) and nothing else",
                hint="is a parenthesis closed too early?",
            )
        if match["mark"] == "(":
            if len(open_lists) >= MAX_DEPTH:
                raise InputFormatError(
                    "parentheses are nested too deep",
                    where=f"{file}:{line}",
                    expected=f"{MAX_DEPTH} levels at most",
                )
            open_lists.append(([], line))
            continue
        if not open_lists:
            raise InputFormatError(
                f"the file begins with {_short(match[0])}",
                where=f"{file}:{line}",
                expected="(:policy ...), the text format of DLPlan",
                hint="is this a sketch?",
            )
        if match["mark"] == ")":
            items, start = open_lists.pop()
            node: Node = List(tuple(items), start)
            if not open_lists:
                result = List(tuple(items), start)
                continue
        elif match["word"] is not None:
            node = Word(match["word"], line)
        else:
            node = Quoted(match["text"], line)
        open_lists[-1][0].append(node)
    else:
        raise InputFormatError(
            "the sketch is too long", where=file, expected=f"at most {MAX_TOKENS} words and marks"
        )
    if result is None:
        start = open_lists[-1][1] if open_lists else line
        raise InputFormatError(
            "the file ends inside a list" if open_lists else "the file is empty",
            where=f"{file}:{start}",
            expected="(:policy ...), the text format of DLPlan",
            hint="is the file cut off?",
        )
    return result


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


__all__ = ["List", "Node", "Quoted", "Word", "read_expression"]
