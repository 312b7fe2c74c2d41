"""The lifted signature of a fault: the action schema that the policy chose, and the one that would have been better.

Faults in tasks of any size, and with any names of objects, that confuse the same two schemas have the same signature.
It is a function of one fault alone, so it stays the same from campaign to campaign; `misstep.comparison.families` adds
the conditions under which the policy does so, which are learned from all faults of a campaign.
"""

from __future__ import annotations

from collections.abc import Iterable

from misstep.campaigns.records import Decision, Fault

STOPS = "stops"
UNKNOWN = "something else"


def schema_of(name: str) -> str:
    """The action schema of an operator, or the label of a model: the name up to its arguments."""
    return name.split(" ", 1)[0].lower()


def signature(decision: Decision | None, better: Decision | None) -> str:
    """The signature, such as "move instead of pick", "move instead of another move", "stops instead of drop"."""
    did = STOPS if decision is None else schema_of(decision.name)
    best = UNKNOWN if better is None else schema_of(better.name)
    return f"{did} instead of {f'another {best}' if best == did else best}"


def family_of(faults: Iterable[Fault] | None) -> str | None:
    """The signature of the fault with the largest share of the gap (the first one if equal), or None without faults."""
    worst = max(faults or (), key=lambda fault: (fault.share or 0, -fault.step), default=None)
    return None if worst is None else signature(worst.decision, worst.better)


__all__ = ["STOPS", "UNKNOWN", "family_of", "schema_of", "signature"]
