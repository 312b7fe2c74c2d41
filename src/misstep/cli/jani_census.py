"""`misstep census MODEL.jani`: exact numbers of a small model, and of a policy on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from misstep.cli.models import read_model
from misstep.cli.output import print_json, print_pairs, search_progress

DEFAULT_POLICY = "first"


def jani_census(
    paths: list[Path],
    policy: str | None,
    *,
    property: str | None,
    constants: list[str] | None,
    inapplicable: str | None,
    max_states: int,
    time_limit: float | None,
    memory_limit: int | None,
    as_json: bool,
) -> int:
    """Exit code 1 says that the policy, if one is given, has bugs."""
    task = read_model(paths, property, constants)
    from misstep.policies.load import load_policy
    from misstep.safety.census import safety_census

    handle = load_policy(policy or DEFAULT_POLICY, task, inapplicable=inapplicable)
    try:
        with search_progress("enumerating") as progress:
            census = safety_census(
                task,
                handle,
                max_states=max_states,
                time_limit=time_limit,
                memory_limit_mb=memory_limit,
                progress=progress,
            )
    finally:
        handle.close()
    counts: dict[str, Any] = {"task": task.name, "policy": handle.name, **census.as_dict()}
    if as_json:
        print_json(counts)
    else:
        by_radius = {f"safe, radius {radius}": n for radius, n in counts.pop("safe").items()}
        print_pairs({**counts, **by_radius})
    return 1 if policy is not None and census.bugs else 0
