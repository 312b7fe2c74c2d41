"""Options in front of the argument of a policy spec: `exec:--timeout=5 python policy.py`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from misstep.decoding import whole_number
from misstep.errors import UsageError

# Policies that run in a separate process if a limit is set.
LIMITED = ("python", "exec", "program")
MOST = 10**9  # seconds or megabytes: clocks do not take any number
Parser = Callable[[str], Any]  # raises ValueError with what was expected


def positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number <= MOST:
        raise ValueError(f"a positive number up to {MOST:,}, as in --{{name}}=10")
    return number


def whole(text: str) -> int:
    number = whole_number(text)
    if number is None:
        raise ValueError("a whole number, as in --{name}=10")
    return number


def flag(text: str) -> bool:
    if text:
        raise ValueError("nothing behind it, just --{name}")
    return True


def word(text: str) -> str:
    if not text:
        raise ValueError("a word, as in --{name}=WORD")
    return text


def one_of(*words: str) -> Parser:
    """A parser of one of the words."""

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(" or ".join(words) + f", as in --{{name}}={words[0]}")
        return text

    return parse


def with_timeout(spec: str | None, seconds: float | None) -> str | None:
    """The spec with a time limit for each answer; for policies that can have one."""
    if seconds is None:
        return spec
    if spec is None:
        raise UsageError("--timeout without --policy", expected="both")
    outer, plus, inner = spec.rpartition("+")
    kind, colon, argument = inner.partition(":")
    if plus and kind not in LIMITED:  # the plus is part of a file name
        outer, plus = "", ""
        kind, colon, argument = spec.partition(":")
    if kind not in LIMITED or not colon:
        raise UsageError(
            f"--timeout with the policy {spec}",
            expected="a policy of the kinds " + ", ".join(f"{name}:" for name in LIMITED),
        )
    if argument.lstrip().startswith("--") and "--timeout" in argument.partition(":")[0]:
        raise UsageError("the time limit is given twice", where=f"policy {spec}")
    return f"{outer}{plus}{kind}:--timeout={seconds:g} {argument}"


def split_options(
    argument: str, kind: str, parsers: Mapping[str, Parser]
) -> tuple[dict[str, Any], str]:
    """The leading words `--name=VALUE` (or `--name`), parsed, and what follows them."""
    options: dict[str, Any] = {}
    rest = argument.strip()
    while rest.startswith("--"):
        option, _, tail = rest.partition(" ")
        name, _, text = option[2:].partition("=")
        where = f"policy {kind}:{argument}"
        if name not in parsers:
            raise UsageError(
                f"there is no option --{name}",
                where=where,
                expected="one of " + ", ".join(f"--{known}" for known in parsers),
            )
        key = name.replace("-", "_")
        if key in options:
            raise UsageError(f"--{name} is given twice", where=where)
        try:
            options[key] = parsers[name](text)
        except ValueError as error:
            raise UsageError(
                f"--{name} is {text or 'empty'}", where=where, expected=str(error).format(name=name)
            ) from None
        rest = tail.strip()
    return options, rest


__all__ = [
    "LIMITED",
    "Parser",
    "flag",
    "one_of",
    "positive",
    "split_options",
    "whole",
    "with_timeout",
    "word",
]
