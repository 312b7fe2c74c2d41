"""`zoo:NAME`: a policy that comes with Misstep, loaded as its family loads it."""

from __future__ import annotations

from misstep.errors import UnsupportedError
from misstep.policies.labels.policy import LabelPolicy, Setting
from misstep.policies.policy import Policy
from misstep.policies.zoo.index import Entry, entry
from misstep.tasks.task import Task


def load(argument: str, task: Task) -> Policy:
    from misstep.policies.load import load_policy

    own = _of_world(argument, of_model=False)
    return load_policy(own.installed, task)


def load_label_policy(argument: str, setting: Setting) -> LabelPolicy:
    """The same for models."""
    from misstep.policies.labels.load import load_label_policy as load_of_spec

    own = _of_world(argument, of_model=True)
    return load_of_spec(
        own.installed, setting.task, inapplicable=setting.inapplicable, engine=setting.engine
    )


def _of_world(name: str, *, of_model: bool) -> Entry:
    own = entry(name)
    if own.of_model != of_model:
        raise UnsupportedError(
            "the policy is for a model" if own.of_model else "the policy is for a planning task",
            where=f"policy zoo:{name}",
            hint=f"{own.command} makes one",
        )
    return own


__all__ = ["load", "load_label_policy"]
