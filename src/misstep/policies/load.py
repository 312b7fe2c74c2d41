"""From a spec such as `asnet:FILE` to a policy: the built-in kinds, and those that other packages add.

A package adds a kind with an entry point in the group `misstep.policies`: its name is the kind, its value a function
`load(argument, task)` that gets what follows the colon.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module, metadata
from typing import NamedTuple

from misstep.errors import ToolError, UsageError
from misstep.policies.policy import Policy
from misstep.tasks.task import Task

GROUP = "misstep.policies"

Loader = Callable[[str, Task], Policy]


class Kind(NamedTuple):
    """A kind of policy: how its spec looks, what it is, and where its loader is."""

    spec: str
    summary: str
    loader: str


BUILTIN: dict[str, Kind] = {
    "first": Kind("first", "the applicable operator of the lowest number", "native:load_first"),
    "random": Kind("random:SEED", "a pseudo-random function of the state", "native:load_random"),
    "heuristic": Kind(
        "heuristic:NAME", "greedy descent on ff, add, max or lmcut", "native:load_heuristic"
    ),
    "noisy": Kind("noisy:P:SEED+SPEC", "another policy that errs with probability P", "noisy:load"),
    "plan": Kind("plan:FILE", "follows a plan from the initial state", "native:load_plan"),
    "optimal": Kind("optimal", "a cheapest way to the goal, on small tasks", "native:load_optimal"),
    "asnet": Kind("asnet:FILE", "an action schema network", "asnet.policy:load"),
    "shipped": Kind("shipped:NAME", "a trained ASNet that comes with Misstep", "shipped:load"),
    "gnn": Kind("gnn:FILE", "a relational graph network (checkpoint of torch)", "gnn.policy:load"),
    "exec": Kind("exec:COMMAND", "a program that speaks JSON lines", "process:load"),
    "grpc": Kind("grpc:ADDRESS", "a policy server", "remote:load"),
    "python": Kind("python:FILE.py:NAME", "a Python function or class", "function:load"),
}


def load_policy(spec: str, task: Task) -> Policy:
    """The policy of that spec, bound to the task. `misstep list` names the kinds."""
    kind, _, argument = spec.partition(":")
    policy = _loader(kind, spec)(argument, task)
    policy.name = spec
    if not policy.digest:
        policy.digest = hashlib.sha256(spec.encode()).hexdigest()
    return policy


def third_party() -> dict[str, metadata.EntryPoint]:
    """Kinds added by other packages."""
    return {point.name: point for point in metadata.entry_points(group=GROUP)}


def _loader(kind: str, spec: str) -> Loader:
    if kind in BUILTIN:
        module, _, function = BUILTIN[kind].loader.partition(":")
        loader: Loader = getattr(import_module(f"misstep.policies.{module}"), function)
        return loader
    others = third_party()
    if kind in others:
        try:
            loader = others[kind].load()
        except Exception as error:
            raise ToolError(
                f"the policy kind {kind!r} cannot be loaded: {type(error).__name__}: {error}",
                where=str(others[kind].value),
            ) from error
        return loader
    known = [*BUILTIN, *others]
    close = get_close_matches(kind, known, 1)
    raise UsageError(
        f"no policy kind {kind!r}",
        where=f"--policy {spec}",
        expected=", ".join(known),
        hint=f"did you mean {close[0]}?" if close else "see misstep list",
    )
