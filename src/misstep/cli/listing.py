"""`misstep list`: what can be named on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from misstep.binomial import percent
from misstep.cli.arguments import AsJson
from misstep.cli.output import print_entries, print_json, say

if TYPE_CHECKING:
    from misstep.tasks.parameters import AnyParameter


MODEL_FUZZERS = {
    "greedy-inf": "an outcome closest to being unsafe, after looking ahead (the default)",
    "greedy-1": "an outcome closest to being unsafe",
    "sample-inf": "close outcomes more often, after looking ahead",
    "sample-1": "close outcomes more often",
    "uniform-1": "any outcome",
    "probable": "an outcome by the model's probabilities",
}
DECIDERS = {
    "localfix": "bounds raised by propagation around the state (the default)",
    "tarjan": "TarjanSafe: depth first, component by component; good with small radii",
    "lrtdp": "labelled real-time dynamic programming",
    "lao": "LAO*: the best strategy so far is expanded and improved",
    "vi": "value iteration over all that can be reached",
    "ipi": "policy iteration in pieces",
}


def list_command(
    zoo: Annotated[
        bool,
        typer.Option(
            "--zoo", help="List the small policies that come with Misstep and their known bugs."
        ),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """List the built-in domains and models, the kinds of policies, the searches, the oracles and the fuzzers.

    Example: misstep list --zoo
    """
    if zoo:
        return _list_zoo(as_json)
    sections = _sections()
    if as_json:
        print_json({**sections, **_generated()})
        return 0
    for title, entries in sections.items():
        say(f"{title}:")
        print_entries(entries)
    return 0


def _sections() -> dict[str, dict[str, str]]:
    """Titles, and below each the names with what they mean."""
    from misstep.fuzzing.settings import BIASES, PRESETS
    from misstep.oracles.presets import PRESETS as ORACLE_PRESETS
    from misstep.oracles.registry import BUILTIN as ORACLES
    from misstep.oracles.registry import known_oracles
    from misstep.planning import SEARCHES
    from misstep.policies.labels.load import BUILTIN as LABEL_POLICIES
    from misstep.policies.load import BUILTIN, third_party
    from misstep.policies.shipped import shipped_names
    from misstep.tasks.domains import DOMAINS
    from misstep.tasks.models import MODELS

    return {
        "domains": {
            name: domain.summary
            + ". Sizes: "
            + ", ".join(f"--{p.name} {p.default}" for p in domain.parameters)
            for name, domain in DOMAINS.items()
        },
        "models": {
            name: model.summary
            + ". Options: "
            + ", ".join(_option(parameter) for parameter in model.parameters)
            for name, model in MODELS.items()
        },
        "policies": {kind.spec: kind.summary for kind in BUILTIN.values()}
        | {f"{name}:...": f"from {point.value}" for name, point in third_party().items()},
        "shipped policies": {f"shipped:{n}": _figures(n) for n in shipped_names("asnets")},
        "policies for models": {kind.spec: kind.summary for kind in LABEL_POLICIES.values()},
        "shipped policies for models": {
            f"shipped:{n}": _safety_figures(n) for n in shipped_names("safety")
        },
        "searches": {name: kind.summary for name, kind in SEARCHES.items()},
        "oracles": {kind.spec: kind.summary for kind in ORACLES.values()}
        | {name: "from another package" for name in known_oracles() if name not in ORACLES},
        "oracles of papers": {f"--oracle {name}": spec for name, spec in ORACLE_PRESETS.items()},
        "fuzzers": {
            f"--preset {name}": f"{', '.join(BIASES[settings.algorithm])} (--fuzz); default {settings.bias}"
            for name, settings in PRESETS.items()
        },
        "fuzzers of models": {f"--fuzz {name}": text for name, text in MODEL_FUZZERS.items()},
        "oracles of models": {f"--oracle {name}": text for name, text in DECIDERS.items()},
    }


def _generated() -> dict[str, dict[str, dict[str, object]]]:
    """What can be generated, with the sizes and choices as data."""
    from misstep.tasks.domains import DOMAINS
    from misstep.tasks.models import MODELS

    return {
        "domains": {
            name: {"summary": own.summary, "sizes": {p.name: p.default for p in own.parameters}}
            for name, own in DOMAINS.items()
        },
        "models": {
            name: {"summary": own.summary, "choices": {p.name: p.default for p in own.parameters}}
            for name, own in MODELS.items()
        },
    }


def _list_zoo(as_json: bool) -> int:
    from misstep.policies.zoo.index import entries

    if as_json:
        print_json({"zoo": {name: entry.as_dict() for name, entry in entries().items()}})
        return 0
    for name, entry in entries().items():
        bugs = ", ".join(f"{count} {kind}" for kind, count in entry.bugs.items()) or "no bugs"
        needs = f" (needs misstep[{entry.extra}])" if entry.extra else ""
        say(f"zoo:{name}{needs}")
        say(f"  {entry.summary}")
        say(f"  {entry.family}; {bugs} in {entry.states} states; {entry.command}")
    return 0


def _figures(name: str) -> str:
    from misstep.policies.shipped import shipped

    card = shipped("asnets", name).card
    held = card["held_out"]
    states = f"{held['bugs']} of {held['processed']} states are bugs"
    return f"{round(card['bytes'] / 1000)} kB; solves {held['coverage']} of {held['tasks']} larger tasks, {states}"


def _safety_figures(name: str) -> str:
    from misstep.policies.shipped import shipped

    card = shipped("safety", name).card
    test = card["test"]
    model = card["commands"][0].removeprefix("misstep generate ").partition(" -o ")[0]
    return (
        f"for {model}; unsafe in {percent(test['unsafe_rate'], 1)}% of {test['episodes']} episodes"
    )


def _option(parameter: AnyParameter) -> str:
    from misstep.tasks.parameters import Flag

    option = "--" + parameter.name.replace("_", "-")
    return option if isinstance(parameter, Flag) else f"{option} {parameter.default}".rstrip()
