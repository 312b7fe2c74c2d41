"""Settings by their names for users: keywords of `misstep.test`, options of `misstep test`.

Both use one flat list of names, and each name belongs to one place in the tree of settings. An option that is not given
has its value from the settings file, or else its default.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from misstep.campaigns.settings import (
    MODEL,
    NONE,
    PLANNING,
    ModelSettings,
    PlanningSettings,
    Settings,
    check_oracle,
)
from misstep.errors import UsageError
from misstep.fuzzing.settings import Settings as FuzzingSettings
from misstep.fuzzing.settings import preset as fuzzing_preset
from misstep.tasks.parameters import did_you_mean


class Place(NamedTuple):
    """Where an option goes: a table of the tree, and the name there."""

    table: str  # "" for the root
    name: str


COMMON = {name: Place("", name) for name in ("oracle", "seed", "max_steps", "fault_budget")}
OF_PLANNING = {
    **{name: Place("planning", name) for name in ("objective", "chunk", "round", "isolate")},
    **{
        name: Place("planning", name)
        for name in ("require_solved", "revisit", "permitted_limit", "costly_some", "risk")
    },
    "fuzz": Place("fuzzing", "bias"),
    "pool": Place("fuzzing", "max_states"),
    "walk_length": Place("fuzzing", "max_walk_length"),
    "fuzz_time": Place("fuzzing", "time_limit"),
    **{
        name: Place("fuzzing", name)
        for name in (
            "walks",
            "min_weight",
            "unbiased_share",
            "estimate",
            "state_budget",
            "expansion_budget",
            "novelty",
            "dead_ends",
            "patience",
        )
    },
}
OF_MODELS = {
    name: Place("model", name)
    for name in (
        *("fuzz", "runs", "radius", "evaluations", "lookahead_cap", "inapplicable", "batch"),
        *("open_evaluations", "on_revisit", "layers", "distance", "severity", "severity_budget"),
        "risk",
    )
}
# Settings that "none" takes away.
OPTIONAL = {"fault_budget", "fuzz_time", "state_budget", "expansion_budget", "inapplicable"}
PRESET = "preset"  # fuzzing as in a paper, to begin with


def make_settings(
    world: str, policy: str, options: Mapping[str, Any], base: Settings | None = None
) -> Settings:
    """The settings for these options; `base` has the values of options that are not given."""
    places = {**COMMON, **(OF_PLANNING if world == PLANNING else OF_MODELS)}
    known = [*places, *([PRESET] if world == PLANNING else [])]
    changes: dict[str, dict[str, Any]] = {"": {}, "planning": {}, "fuzzing": {}, "model": {}}
    for option, value in options.items():
        if option == PRESET and world == PLANNING:
            continue
        if option not in places:
            other = option in OF_PLANNING or option in OF_MODELS or option == PRESET
            kind = "a planning task" if world == PLANNING else "a model"
            raise UsageError(
                f"{option} is not an option for {kind}"
                if other
                else f"there is no option {option!r}",
                expected="one of " + ", ".join(known),
                hint=did_you_mean(option, known),
            )
        place = places[option]
        changes[place.table][place.name] = None if value == NONE and option in OPTIONAL else value
    if base is not None and base.world != world:
        raise UsageError(
            f"the settings are of a {base.world} campaign", expected=f"settings of {world}"
        )
    if world == PLANNING:
        own = PlanningSettings() if base is None else base.of_planning
        fuzzing = fuzzing_preset(options[PRESET]) if PRESET in options else own.fuzzing
        changes["planning"]["fuzzing"] = _changed(fuzzing, changes["fuzzing"])
        changes[""]["planning"] = _changed(own, changes["planning"])
    else:
        for name in ("radius", "severity_budget"):  # texts or numbers
            if name in changes["model"]:
                changes["model"][name] = str(changes["model"][name])
        model = ModelSettings() if base is None else base.of_model
        changes[""]["model"] = _changed(model, changes["model"])
    root = Settings(policy, world) if base is None else dataclasses.replace(base, policy=policy)
    if changes[""].get("oracle", "given") in ("", None):
        raise UsageError("the oracle is empty", expected="the spec of an oracle")
    settings: Settings = _changed(root, changes[""])
    check_oracle(world, settings.oracle)
    return settings


def _changed(settings: Any, changes: Mapping[str, Any]) -> Any:
    try:
        return dataclasses.replace(settings, **changes)
    except UsageError as error:
        error.what = _in_users_words(error.what, settings)
        raise


def _in_users_words(text: str, settings: Any) -> str:
    """Replace the place in the tree by the name of the option in an error."""
    table = "fuzzing" if isinstance(settings, FuzzingSettings) else None
    for option, place in OF_PLANNING.items():
        if place.table == table and text.startswith(f"{place.name} is "):
            return text.replace(place.name, option, 1)
    return text


WORLD_OPTIONS = {PLANNING: (*OF_PLANNING, PRESET), MODEL: tuple(OF_MODELS)}

__all__ = ["COMMON", "OF_MODELS", "OF_PLANNING", "WORLD_OPTIONS", "make_settings"]
