"""Load a policy on a planning task or model, from a spec such as `asnet:FILE` or from a Python object."""

from __future__ import annotations

import hashlib
from typing import Any, overload

from misstep._core import JaniEngine
from misstep.errors import UsageError
from misstep.policies import function
from misstep.policies.contract import TAKES
from misstep.policies.identity import in_memory_name, object_digest
from misstep.policies.kinds import Kind, third_party, third_party_loader, unknown_kind
from misstep.policies.labels.load import load_label_policy
from misstep.policies.labels.policy import LabelPolicy
from misstep.policies.policy import Policy
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.task import Task

BUILTIN: dict[str, Kind] = {
    "first": Kind(
        "first", "the applicable operator of the lowest number", "policies.native:load_first"
    ),
    "random": Kind(
        "random:SEED", "a pseudo-random function of the state", "policies.native:load_random"
    ),
    "heuristic": Kind(
        "heuristic:NAME",
        "greedy descent on ff, add, max or lmcut",
        "policies.native:load_heuristic",
    ),
    "noisy": Kind(
        "noisy:P:SEED+SPEC", "another policy that errs with probability P", "policies.noisy:load"
    ),
    "plan": Kind("plan:FILE", "follows a plan from the initial state", "policies.native:load_plan"),
    "optimal": Kind(
        "optimal", "a cheapest way to the goal, on small tasks", "policies.native:load_optimal"
    ),
    "asnet": Kind("asnet:FILE", "an action schema network", "policies.asnet.policy:load"),
    "shipped": Kind(
        "shipped:NAME", "a trained ASNet that comes with Misstep", "policies.shipped:load"
    ),
    "gnn": Kind(
        "gnn:FILE", "a relational graph network (checkpoint of torch)", "policies.gnn.policy:load"
    ),
    "exec": Kind("exec:COMMAND", "a program that speaks JSON lines", "policies.process:load"),
    "grpc": Kind("grpc:ADDRESS", "a policy server", "policies.remote:load"),
    "python": Kind(
        "python:FILE.py:NAME", "a Python function, object or class", "policies.function:load"
    ),
    "program": Kind(
        "program:FILE.py", "a generalised plan as a Python program", "policies.program:load"
    ),
    "rules": Kind("rules:FILE", "ordered lifted rules in a text file", "policies.rules:load"),
    "llm": Kind("llm:MODEL@URL", "a language model behind a chat server", "policies.llm:load"),
    "sketch": Kind(
        "sketch:--width=0 FILE",
        "rules over features of description logic (DLPlan's text format)",
        "policies.sketch.policy:load",
    ),
    "wl": Kind("wl:FILE", "a Weisfeiler-Leman ranker of wlplan", "policies.wl.policy:load"),
    "rgnn": Kind(
        "rgnn:FILE", "a relational graph network (safetensors and JSON)", "policies.rgnn.load:load"
    ),
    "sb3": Kind(
        "sb3:FILE.zip",
        "an agent of Stable-Baselines3 (PPO, MaskablePPO, DQN)",
        "policies.sb3.policy:load",
    ),
    "zoo": Kind(
        "zoo:NAME", "a small policy with known bugs (misstep list --zoo)", "policies.zoo.load:load"
    ),
}


@overload
def load_policy(policy: Any, task: Task) -> Policy: ...
@overload
def load_policy(
    policy: Any,
    task: JaniTask,
    *,
    inapplicable: str | None = None,
    engine: JaniEngine | None = None,
) -> LabelPolicy: ...
@overload
def load_policy(
    policy: Any,
    task: Task | JaniTask,
    *,
    inapplicable: str | None = None,
    engine: JaniEngine | None = None,
) -> Policy | LabelPolicy: ...
def load_policy(
    policy: Any,
    task: Task | JaniTask,
    *,
    inapplicable: str | None = None,
    engine: JaniEngine | None = None,
) -> Policy | LabelPolicy:
    """Load a policy and bind it to the task.

    `policy` is a spec (`misstep list` names the kinds), a function of a state, an object with `act(state)` or another
    method of the contract, a class or a function of the task that makes one, or a policy that is bound to this task
    already. `misstep.policies.contract` describes the contract and the valid answers.

    For models only: `inapplicable` says what happens if the policy chooses a label that does not apply: `filter` takes
    its best-valued applicable label, `stop_safe` ends the run, `error` raises an error. The default is what the
    policy's interface says, or else `filter`. `engine` is an engine of the task to use instead of the task's own
    engine.
    """
    if isinstance(task, JaniTask):
        return load_label_policy(policy, task, inapplicable=inapplicable, engine=engine)
    if not isinstance(task, Task):
        raise UsageError(f"{task!r:.80} is not a task", expected="a planning task or a model")
    for name, value in (("inapplicable", inapplicable), ("engine", engine)):
        if value is not None:
            raise UsageError(f"{name} is an option for models only", where=task.name)
    if isinstance(policy, str):
        return _of_spec(policy, task)
    if isinstance(policy, Policy):
        return _checked(policy, task)
    code = function.unwrapped(policy)
    if not function.is_policy_code(code):
        raise UsageError(f"{policy!r:.80} is not a policy", expected=TAKES)
    return function.of_object(code, task)


def _of_spec(spec: str, task: Task) -> Policy:
    kind, _, argument = spec.partition(":")
    loader = BUILTIN[kind].load() if kind in BUILTIN else third_party_loader(kind)
    if loader is None:
        raise unknown_kind(kind, spec, BUILTIN)
    policy = loader(argument, task)
    if not isinstance(policy, Policy):
        raise UsageError(f"the policy kind {kind!r} made {policy!r:.80}", expected="a Policy")
    policy.name = spec
    policy.in_memory = False
    if not policy.digest:
        policy.digest = hashlib.sha256(spec.encode()).hexdigest()
    return policy


def _checked(policy: Policy, task: Task) -> Policy:
    """Check a policy object that was made before."""
    if policy.task.digest != task.digest:
        raise UsageError(
            f"the policy {policy.name} is bound to the task {policy.task.name}",
            where=task.name,
            expected="a policy on this task",
        )
    if policy.name == Policy.name:
        policy.name = in_memory_name(policy)
    policy.digest = policy.digest or object_digest(policy)
    return policy


__all__ = ["BUILTIN", "Kind", "load_policy", "third_party"]
