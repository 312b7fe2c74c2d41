"""The built-in domains: seeded generators of solvable instances, from very small ones to ones that no planner solves.

The same domain, sizes and seed give the same text, byte for byte, on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from misstep.tasks.domains import (
    blocksworld,
    childsnack,
    delivery,
    elevators,
    ferry,
    floortile,
    gripper,
    matching_blocksworld,
    miconic,
    reward,
    rovers,
    satellite,
    scanalyzer,
    sokoban,
    spanner,
    storage,
    transport,
    visitall,
    woodworking,
)
from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.model import BuiltinDomain, Instance, Parameter
from misstep.tasks.domains.pddl import render
from misstep.tasks.domains.write import write_instance
from misstep.tasks.parameters import checked_choices, checked_seed, look_up

__all__ = ["DOMAINS", "BuiltinDomain", "Instance", "Parameter", "generate", "write_instance"]

DOMAINS: Mapping[str, BuiltinDomain] = MappingProxyType(
    {
        module.DOMAIN.name: module.DOMAIN
        for module in (
            blocksworld,
            childsnack,
            delivery,
            elevators,
            ferry,
            floortile,
            gripper,
            matching_blocksworld,
            miconic,
            reward,
            rovers,
            satellite,
            scanalyzer,
            sokoban,
            spanner,
            storage,
            transport,
            visitall,
            woodworking,
        )
    }
)


def generate(domain: str, /, *, seed: int = 0, **sizes: int) -> Instance:
    """A random instance of a built-in domain; sizes not given take their default."""
    look_up("domain", domain, DOMAINS)
    builtin = DOMAINS[domain]
    sizes = checked_choices(domain, builtin.parameters, sizes)
    seed = checked_seed(seed)
    name = "-".join([domain, *(f"{size}{value}" for size, value in sizes.items()), f"seed{seed}"])
    # The name holds the domain, the sizes and the seed, so it is also the key of the random draws.
    problem = builtin.problem(Dice(name), **sizes)
    return Instance(name, builtin.pddl, render(problem, name=name, domain=domain))
