"""Loads a policy for a model from a spec such as `random:7` or `policy.jani2nnet`, or from a Python object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from misstep._core import JaniEngine
from misstep.errors import UsageError
from misstep.policies.contract import TAKES, is_policy_code
from misstep.policies.function import unwrapped
from misstep.policies.identity import in_memory_name
from misstep.policies.kinds import Kind, third_party_loader, unknown_kind
from misstep.policies.labels.function import from_code
from misstep.policies.labels.policy import INAPPLICABLE, LabelPolicy, Setting
from misstep.policies.networks.load import ENDINGS
from misstep.tasks.jani.task import JaniTask

# The loader of shields is named by a string also because shields import the safety analyses, a later layer.
BUILTIN: dict[str, Kind] = {
    "first": Kind(
        "first", "the first label that applies, as declared", "policies.labels.native:load_first"
    ),
    "random": Kind(
        "random:SEED", "a pseudo-random function of the state", "policies.labels.native:load_random"
    ),
    "network": Kind(
        "network:FILE",
        "a network or tree ensemble with its interface; a plain FILE will do",
        "policies.labels.network:load",
    ),
    "shipped": Kind(
        "shipped:NAME",
        "a trained network that comes with Misstep",
        "policies.labels.network:load_shipped",
    ),
    "python": Kind(
        "python:FILE.py:NAME", "a Python function, object or class", "policies.labels.function:load"
    ),
    "exec": Kind(
        "exec:COMMAND", "a program that speaks JSON lines", "policies.labels.process:load"
    ),
    "shield": Kind(
        "shield:FILE+SPEC",
        "another policy behind a shield; without +SPEC the one that FILE names",
        "safety.shielded:load",
    ),
    "sb3": Kind(
        "sb3:FILE.zip",
        "an agent of Stable-Baselines3 (PPO, MaskablePPO, DQN, ...); a plain FILE.zip will do",
        "policies.sb3.policy:load_label_policy",
    ),
    "zoo": Kind(
        "zoo:NAME",
        "a network with known bugs (misstep list --zoo)",
        "policies.zoo.load:load_label_policy",
    ),
}
AGENT = ".zip"
FILES = (".jani2nnet", *ENDINGS, AGENT)


def load_label_policy(
    policy: Any,
    task: JaniTask,
    *,
    inapplicable: str | None = None,
    engine: JaniEngine | None = None,
) -> LabelPolicy:
    """Like `misstep.policies.load.load_policy`, for models."""
    if inapplicable not in (None, *INAPPLICABLE):
        raise UsageError(f"inapplicable is {inapplicable!r}", expected=", ".join(INAPPLICABLE))
    if not isinstance(engine, (JaniEngine, type(None))):
        raise UsageError(f"engine is {engine!r:.80}", expected="an engine of the task")
    # An engine that has stored no state yet is false in Python.
    setting = Setting(task, task.engine if engine is None else engine, inapplicable)
    if isinstance(policy, str):
        return _of_spec(policy, setting)
    if isinstance(policy, LabelPolicy):
        return _checked(policy, setting)
    code = unwrapped(policy)
    if not is_policy_code(code):
        raise UsageError(f"{policy!r:.80} is not a policy", expected=TAKES)
    spec = in_memory_name(code)
    made = from_code(code, setting, f"policy {spec}")
    made.spec, made.in_memory = spec, True
    return made


def _of_spec(spec: str, setting: Setting) -> LabelPolicy:
    kind, colon, argument = spec.partition(":")
    if kind not in BUILTIN and Path(spec).suffix.lower() in FILES:
        kind = "sb3" if spec.lower().endswith(AGENT) else "network"
        argument = spec
    elif kind not in BUILTIN:
        return _of_third_party(kind, argument, spec, setting)
    elif bool(colon) != (":" in BUILTIN[kind].spec):
        raise UsageError(
            "too much or too little to name a policy",
            where=f"--policy {spec}",
            expected=BUILTIN[kind].spec,
        )
    policy: LabelPolicy = BUILTIN[kind].load()(argument, setting)
    policy.spec = spec
    return policy


def _of_third_party(kind: str, argument: str, spec: str, setting: Setting) -> LabelPolicy:
    loader = third_party_loader(kind)
    if loader is None:
        raise unknown_kind(kind, spec, BUILTIN, ", or a file ending in " + ", ".join(FILES))
    policy = load_label_policy(
        loader(argument, setting.task),
        setting.task,
        inapplicable=setting.inapplicable,
        engine=setting.engine,
    )
    policy.spec, policy.in_memory = spec, False
    return policy


def _checked(policy: LabelPolicy, setting: Setting) -> LabelPolicy:
    """Binds a policy that is loaded already."""
    if policy.task.digest != setting.task.digest or policy.engine is not setting.engine:
        other = "task" if policy.task.digest != setting.task.digest else "engine of the task"
        raise UsageError(
            f"the policy {policy.spec} is bound to another {other} {policy.task.name}",
            where=setting.task.name,
            expected="a policy on this task",
        )
    if setting.inapplicable not in (None, policy.inapplicable):
        raise UsageError(
            f"inapplicable comes too late: the policy {policy.spec} is loaded with "
            f"{policy.inapplicable}"
        )
    return policy


__all__ = ["BUILTIN", "load_label_policy"]
