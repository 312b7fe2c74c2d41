"""Policies that need no file."""

from __future__ import annotations

from misstep import _core
from misstep.decoding import whole_number
from misstep.errors import UsageError
from misstep.policies.labels.policy import LabelPolicy, Setting, digest_of


def load_first(_argument: str, setting: Setting) -> LabelPolicy:
    return setting.bind(_core.FirstLabel(), digest_of("first"), native=True)


def load_random(argument: str, setting: Setting) -> LabelPolicy:
    seed = whole_number(argument)
    if seed is None:
        raise UsageError(
            f"the seed is {argument!r}",
            where=f"policy random:{argument}",
            expected="a whole number, as in random:7",
        )
    policy = _core.RandomLabel(setting.engine, seed)
    return setting.bind(policy, digest_of("random", str(seed)), native=True)


__all__ = ["load_first", "load_random"]
