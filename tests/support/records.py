"""Records that are made up, for what only reads records."""

from __future__ import annotations

from typing import Any

from misstep.campaigns.records import Effort, Found, Record, Run, Times, Witness

WITHOUT = Witness("none", None, None, None, None, None, None, None)


def record(
    number: int = 0,
    *,
    task: str = "p",
    world: str = "planning",
    outcome: str = "goal",
    cost: int | None = 0,
    verdict: str = "UNKNOWN",
    **given: Any,
) -> Record:
    """A record with what is named; all else is empty."""
    values: dict[str, Any] = {
        "id": f"{task}:{number}",
        "world": world,
        "task": task,
        "number": number,
        "state": (number,),
        "facts": (f"fact {number}",),
        "found": Found(None, None, None, None, None),
        "run": Run(outcome, (), (), cost, None, None),
        "verdict": verdict,
        "kind": None,
        "gap": None,
        "radius": None,
        "bounds": None,
        "witness": WITHOUT,
        "oracle": "none",
        "source": None,
        "verdicts": (),
        "faults": None,
        "family": None,
        "contradictions": (),
        "effort": Effort(0, 0),
        "times": Times(0.0, 0.0, 0.0),
        "at": 0.0,
        "fuzzing_bug": None,
    }
    return Record(**(values | given))


__all__ = ["WITHOUT", "record"]
