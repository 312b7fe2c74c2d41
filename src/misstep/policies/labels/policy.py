"""The result of loading a policy for a model, and the argument of a loader."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from misstep import _core
from misstep.tasks.jani.task import JaniTask

# What happens if a policy names no applicable label; the first is the default.
INAPPLICABLE = ("filter", "stop_safe", "error")


@dataclass
class LabelPolicy:
    """A policy bound to a model: `System(transitions, own.policy, inapplicable=own.inapplicable)`."""

    task: JaniTask
    engine: _core.JaniEngine  # the policy identifies states by its ids
    policy: _core.LabelPolicy
    digest: str  # hash of its content: equal digests mean equal decisions
    inapplicable: str = INAPPLICABLE[0]
    spec: str = ""  # what it was loaded from
    in_memory: bool = False  # made from a Python object, which no spec can load again
    end: Callable[[], None] | None = None
    deterministic: bool = True  # its own description
    set_valued: bool = False  # whether it permits several labels: `weights`
    stochastic: bool = False  # whether it draws among them: `weights`
    plans: bool = False  # whether it answers with a whole plan
    weights: Callable[[int], dict[int, float]] | None = (
        None  # of a state's id: labels, probabilities
    )
    files: tuple[str, ...] = ()  # files that it is known to depend on; the digest covers them
    environment: Mapping[str, str | None] = field(
        default_factory=dict
    )  # variables that its code has read
    native: bool = False  # native code alone: a function of the state by construction

    @property
    def name(self) -> str:
        return self.spec

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
    inapplicable: str | None  # None: not chosen

    def bind(
        self,
        policy: _core.LabelPolicy,
        digest: str,
        *,
        inapplicable: str | None = None,
        end: Callable[[], None] | None = None,
        native: bool = False,
        deterministic: bool = True,
    ) -> LabelPolicy:
        """`inapplicable` is the policy's own default; the user's choice takes precedence."""
        chosen = self.inapplicable or inapplicable or INAPPLICABLE[0]
        return LabelPolicy(
            self.task,
            self.engine,
            policy,
            digest,
            chosen,
            end=end,
            native=native,
            deterministic=deterministic,
        )


def digest_of(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


__all__ = ["INAPPLICABLE", "LabelPolicy", "Setting", "digest_of"]
