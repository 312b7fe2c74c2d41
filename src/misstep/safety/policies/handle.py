"""What loading a policy gives, and what a loader gets."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from misstep import _core
from misstep.safety.jani import jani_transitions
from misstep.tasks.jani.task import JaniTask


@dataclass
class LabelPolicyHandle:
    """A policy bound to a task: `System(transitions, handle.policy, inapplicable=handle.inapplicable)`."""

    policy: _core.LabelPolicy
    digest: str  # hash of what it is made of: equal digests, equal decisions
    # What the system is to do where the policy names no label that applies.
    inapplicable: str = "filter"
    name: str = ""  # the spec it was loaded from
    end: Callable[[], None] | None = None

    def close(self) -> None:
        """Ends processes. The policy is not used afterwards."""
        if self.end is not None:
            self.end()
            self.end = None


@dataclass(frozen=True)
class Setting:
    """What a policy is loaded for."""

    task: JaniTask
    engine: _core.JaniEngine
    inapplicable: str | None  # none: not chosen

    @property
    def transitions(self) -> _core.JaniTransitions:
        return jani_transitions(self.task, self.engine)

    def handle(
        self,
        policy: _core.LabelPolicy,
        digest: str,
        end: Callable[[], None] | None = None,
    ) -> LabelPolicyHandle:
        return LabelPolicyHandle(policy, digest, self.inapplicable or "filter", end=end)


def digest_of(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


__all__ = ["LabelPolicyHandle", "Setting", "digest_of"]
