"""What loading a policy for a model gives, and what a loader gets."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from misstep import _core
from misstep.tasks.jani.task import JaniTask

# What is to happen where a policy names no label that applies; the first is the usual one.
INAPPLICABLE = ("filter", "stop_safe", "error")


@dataclass
class LabelPolicy:
    """A policy bound to a model: `System(transitions, own.policy, inapplicable=own.inapplicable)`."""

    task: JaniTask
    engine: _core.JaniEngine  # its ids are what the policy knows states by
    policy: _core.LabelPolicy
    digest: str  # hash of what it is made of: equal digests, equal decisions
    inapplicable: str = INAPPLICABLE[0]
    spec: str = ""  # what it was loaded from
    in_memory: bool = False  # made from a Python object: no spec makes it again
    end: Callable[[], None] | None = None
    deterministic: bool = True  # what it says of itself
    set_valued: bool = False  # whether it permits several labels: `weights`
    stochastic: bool = False  # whether it draws among them: `weights`
    plans: bool = False  # whether it answers with a whole plan
    weights: Callable[[int], dict[int, float]] | None = (
        None  # of a state's id: labels, probabilities
    )
    files: tuple[str, ...] = ()  # that it is known to depend on; the digest covers them
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
        """`inapplicable` is what the policy itself asks for; what the user chose goes first."""
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
