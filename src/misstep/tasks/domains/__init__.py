"""The built-in domains: seeded generators of solvable instances, from toys to out of reach.

The same domain, sizes and seed give the same text, byte for byte, on every machine.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from misstep.errors import UsageError
from misstep.tasks.domains import (
    blocksworld,
    childsnack,
    ferry,
    floortile,
    gripper,
    miconic,
    satellite,
    spanner,
    transport,
    visitall,
)
from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.model import BuiltinDomain, Instance, Parameter
from misstep.tasks.domains.pddl import render
from misstep.tasks.domains.write import write_instance

__all__ = ["DOMAINS", "BuiltinDomain", "Instance", "Parameter", "generate", "write_instance"]

DOMAINS: Mapping[str, BuiltinDomain] = MappingProxyType(
    {
        module.DOMAIN.name: module.DOMAIN
        for module in (
            blocksworld,
            childsnack,
            ferry,
            floortile,
            gripper,
            miconic,
            satellite,
            spanner,
            transport,
            visitall,
        )
    }
)


def generate(domain: str, /, *, seed: int = 0, **sizes: int) -> Instance:
    """A random instance of a built-in domain; sizes not given take their default."""
    if domain not in DOMAINS:
        raise UsageError(
            f"unknown domain {domain!r}",
            expected=f"one of {', '.join(DOMAINS)}",
            hint=_did_you_mean(domain, DOMAINS),
        )
    builtin = DOMAINS[domain]
    sizes = _checked_sizes(builtin, sizes)
    if not _is_integer(seed) or seed < 0:
        raise UsageError(f"the seed is {seed!r}", expected="an integer that is not negative")
    name = "-".join([domain, *(f"{size}{value}" for size, value in sizes.items()), f"seed{seed}"])
    # The name holds the domain, the sizes and the seed, so it is also the key of the random draws.
    problem = builtin.problem(Dice(name), **sizes)
    return Instance(name, builtin.pddl, render(problem, name=name, domain=domain))


def _checked_sizes(domain: BuiltinDomain, given: Mapping[str, object]) -> dict[str, int]:
    known = [parameter.name for parameter in domain.parameters]
    for name in given:
        if name not in known:
            raise UsageError(
                f"{domain.name} has no parameter {name!r}",
                expected=f"one of {', '.join(known)}",
                hint=_did_you_mean(name, known),
            )
    return {p.name: _checked(domain, p, given.get(p.name, p.default)) for p in domain.parameters}


def _checked(domain: BuiltinDomain, parameter: Parameter, value: object) -> int:
    low, high = parameter.minimum, parameter.maximum
    if isinstance(value, int) and _is_integer(value) and low <= value <= high:
        return value
    raise UsageError(
        f"{parameter.name} of {domain.name} is {value!r}",
        expected=f"an integer from {low} to {high} ({parameter.help})",
    )


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _did_you_mean(name: str, known: Iterable[str]) -> str | None:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]}?" if close else None
