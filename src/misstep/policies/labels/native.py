"""Policies that need no file."""

from __future__ import annotations

from misstep import _core
from misstep.errors import UsageError
from misstep.policies.labels.policy import LabelPolicy, Setting, digest_of


def load_first(_argument: str, setting: Setting) -> LabelPolicy:
    return setting.bind(_core.FirstLabel(), digest_of("first"), native=True)


def load_random(argument: str, setting: Setting) -> LabelPolicy:
    if not (argument.isascii() and argument.isdigit() and int(argument) < 2**64):
        raise UsageError(
            f"the seed is {argument!r}",
            where=f"policy random:{argument}",
            expected="a whole number, as in random:7",
        )
    seed = int(argument)
    policy = _core.RandomLabel(setting.engine, seed)
    return setting.bind(policy, digest_of("random", str(seed)), native=True)


__all__ = ["load_first", "load_random"]
