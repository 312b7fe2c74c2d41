"""Risks by Storm, for comparison: the model is loaded, built and solved by Storm alone.

Storm knows neither our properties nor our start conditions, so it is given the model without properties, with the
initial states that the start condition has, and asked for the probability of `not goal until unsafe`. It chooses edges
itself: with several edges of a label, its least probability takes the best of them, which is why models with one edge
a label are compared.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from misstep.tasks.jani.task import JaniTask, State

Json = Any


def storm_model(document: Json) -> Json:
    """What Storm can read: no properties of ours, the starts as initial states, all variables with a value."""
    model = copy.deepcopy(document)
    expression = model["properties"][0]["expression"]
    start = expression.get("start", {"exp": True})
    model["properties"] = []
    for variable in model["variables"]:
        variable.pop("initial-value", None)
    model["restrict-initial"] = {"exp": _condition(start)}
    return model


def _condition(start: Json) -> Json:
    if start.get("op") != "states-values":
        return start["exp"]
    found: Json = False
    for entry in start["values"]:
        own: Json = True
        for item in entry["variables"]:
            equal = {"op": "=", "left": item["var"], "right": item["value"]}
            own = {"op": "∧", "left": own, "right": equal}
        found = {"op": "\u2228", "left": found, "right": own}
    return found


class StormSpace:
    """All states of a model as Storm finds them, with its answers by state."""

    def __init__(self, document: Json, task: JaniTask, folder: Path) -> None:
        import stormpy

        self.task = task
        path = folder / f"{task.name}.storm.jani"
        path.write_text(json.dumps(storm_model(document)), encoding="utf-8")
        model, _ = stormpy.parse_jani_model(str(path))
        options = stormpy.BuilderOptions()
        options.set_build_state_valuations(True)
        options.set_build_choice_labels(True)
        options.set_build_all_labels(True)
        self.sparse = stormpy.build_model[float](model, options=options)
        self.states = [self._state(s) for s in range(self.sparse.nr_states)]
        self._label()

    def _state(self, number: int) -> State:
        given = json.loads(str(self.sparse.state_valuations.to_json(number)))
        found = []
        for name, kind, _, _ in self.task.variables:
            found.append(bool(given[name]) if kind == "bool" else given[name])
        return tuple(found)

    def _label(self) -> None:
        from stormpy.datastructures import BitVector

        for name, holds in (
            ("misstep_unsafe", self.task.is_unsafe),
            ("misstep_goal", self.task.is_goal),
        ):
            marked = BitVector(self.sparse.nr_states, False)
            for number, state in enumerate(self.states):
                if holds(state):
                    marked.set(number)
            self.sparse.labeling.add_label(name)
            self.sparse.labeling.set_states(name, marked)

    def probabilities(self, kind: str, steps: int | None = None) -> dict[State, float]:
        """`kind`: Pmin or Pmax."""
        found = _checked(self.sparse, kind, steps)
        return {state: found.get_value(number) for number, state in enumerate(self.states)}

    def under(self, decisions: dict[State, str]) -> dict[State, float]:
        """The probability under a policy: its labels are the only choices that are kept."""
        from stormpy.datastructures import BitVector
        from stormpy.transformations import build_submodel

        keep = BitVector(self.sparse.nr_choices, False)
        first = self.sparse.nondeterministic_choice_indices
        labels = self.sparse.choice_labeling
        for number, state in enumerate(self.states):
            rows = range(first[number], first[number + 1])
            wanted = decisions.get(state)
            if wanted is None:
                keep.set(rows[0])
                continue
            (chosen,) = [row for row in rows if wanted in labels.get_labels_of_choice(row)]
            keep.set(chosen)
        everything = BitVector(self.sparse.nr_states, True)
        part = build_submodel(self.sparse, everything, keep, keep_unreachable_states=True)
        found = _checked(part.model, "Pmax", None)
        assert part.model.nr_states == len(self.states)
        return {state: found.get_value(number) for number, state in enumerate(self.states)}


def _checked(model: Any, kind: str, steps: int | None) -> Any:
    import stormpy

    bound = "" if steps is None else f"<={steps}"
    text = f'{kind}=? [ !"misstep_goal" U{bound} "misstep_unsafe" ]'
    return stormpy.model_checking(model, stormpy.parse_properties(text)[0])
