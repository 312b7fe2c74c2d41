"""States on unsafe runs, decided from scratch: a unit is some of the states of a row, an oracle and a radius.

Every state gets a new decider, so that no answer about one state helps with the next; the engine caches only the
outcomes of actions and the choices of the policy. The states are drawn at random from all states of the unsafe runs but
the last ones; the same seed gives the same states, so that oracles and radii can be compared state by state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import process_time

from misstep.experiments.expressions import Value
from misstep.experiments.kinds import Json, Part
from misstep.experiments.kinds.models import (
    COLLECTING,
    LIMITS,
    ORACLES,
    RADII,
    Systems,
    budget,
    collected,
    collecting,
    drawn_states,
    is_trained,
    limits,
    open_subject,
    radius_of,
)
from misstep.experiments.schema import texts, whole
from misstep.safety.decider import Answer, Decider

WORLD = "models"
VERSION = 1
KEYS = {
    **COLLECTING,
    **LIMITS,
    "states": whole(),
    "states_a_unit": whole(100),
    "oracles": texts(ORACLES),
    "radii": texts(RADII),
}
COLUMNS = (
    *("policy", "trained", "oracle", "radius", "state", "answer", "decided", "limit", "seconds"),
    *("evaluations", "expansions", "truth"),
)
NOT_KNOWN, CONTRADICTION = "not known", "contradiction"


def units(step: Json, row: Json, seed: int) -> Iterator[Part]:
    size = step["states_a_unit"]
    for first in range(0, step["states"], size):
        count = min(size, step["states"] - first)
        for radius in step["radii"]:
            for oracle in step["oracles"]:
                payload = {
                    "subject": row["subject"],
                    "collecting": collecting(step),
                    "limits": limits(step),
                    "states": step["states"],
                    "first": first,
                    "count": count,
                    "oracle": oracle,
                    "radius": radius,
                    "seed": seed,
                }
                label = f"{oracle}, radius {radius}, states {first} to {first + count - 1}"
                yield Part(label, payload, count)


def run(payload: Json) -> Json:
    opened = open_subject(payload["subject"])
    runs = collected(payload["subject"], payload["collecting"], payload["seed"])
    states = drawn_states(runs, payload["states"], payload["seed"])
    first = payload["first"]
    allowed, radius = budget(payload["limits"]), radius_of(payload["radius"])
    systems = Systems(opened)
    answers = []
    for state in states[first : first + payload["count"]]:
        decider = Decider(systems.next(), payload["oracle"], budget=allowed)
        began = process_time()
        found = decider.decide(state, radius)
        spent = process_time() - began
        answers.append(
            [
                found.answer.value,
                found.limit,
                spent,
                found.effort.evaluations,
                found.effort.expansions,
            ]
        )
    return {"policy": opened.policy, "answers": answers}


def observations(payload: Json, result: Json) -> Iterator[dict[str, Value]]:
    for place, (answer, limit, seconds, evaluations, expansions) in enumerate(result["answers"]):
        yield {
            "policy": result["policy"],
            "trained": is_trained(result["policy"]),
            "oracle": payload["oracle"],
            "radius": payload["radius"],
            "state": payload["first"] + place,
            "answer": answer,
            "decided": answer != Answer.UNKNOWN.value,
            "limit": limit,
            "seconds": seconds,
            "evaluations": evaluations,
            "expansions": expansions,
        }


def joined(observations: Sequence[dict[str, Value]]) -> None:
    """Add what is known about each state: whether it is safe at all, by whichever oracle has decided that.

    Safe without a bound on the deviations follows from safe within any radius, so all answers "safe" count. All oracles
    are exact, so two that contradict each other are a bug of Misstep, which a claim of the definition looks for.
    """
    known: dict[tuple[Value, ...], set[Value]] = {}
    for own in observations:
        safe = own["answer"] == Answer.SAFE.value
        if own["decided"] and (safe or own["radius"] == "inf"):
            known.setdefault(_state(own), set()).add(own["answer"])
    for own in observations:
        found = known.get(_state(own), {NOT_KNOWN})
        own["truth"] = next(iter(found)) if len(found) == 1 else CONTRADICTION


def _state(own: dict[str, Value]) -> tuple[Value, ...]:
    return own["row"], own["seed"], own["state"]


def longest(payload: Json) -> float | None:
    return float(payload["limits"]["seconds"] * payload["count"])
