"""Options in front of the argument of a policy spec: `exec:--timeout=5 python policy.py`."""

from __future__ import annotations

import math

from misstep.errors import UsageError


def split_options(argument: str, spec: str, names: tuple[str, ...]) -> tuple[dict[str, float], str]:
    """The leading words `--name=NUMBER` as positive numbers, and what follows them."""
    options: dict[str, float] = {}
    rest = argument.strip()
    while rest.startswith("--"):
        word, _, tail = rest.partition(" ")
        name, _, text = word[2:].partition("=")
        if name not in names:
            raise UsageError(
                f"there is no option --{name}",
                where=f"policy {spec}:{argument}",
                expected="one of " + ", ".join(f"--{known}=NUMBER" for known in names),
            )
        options[name.replace("-", "_")] = _positive(text, f"--{name}", f"{spec}:{argument}")
        rest = tail.strip()
    return options, rest


def _positive(text: str, option: str, spec: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (number > 0 and math.isfinite(number)):
        raise UsageError(
            f"{option} is {text or 'empty'}",
            where=f"policy {spec}",
            expected=f"a positive number, as in {option}=10",
        )
    return number


__all__ = ["split_options"]
