"""A safety task: a compiled model with start states, unsafe states and goals."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from misstep._core import CounterRandom, JaniCore, JaniEngine, JaniSpace
from misstep.decoding import parse_json
from misstep.errors import (
    BudgetLimitError,
    InputFormatError,
    MemoryLimitError,
    TimeLimitError,
    UsageError,
)
from misstep.ranges import bytes_of
from misstep.tasks.jani.chances import Chances
from misstep.tasks.jani.property import State

Value = bool | int | float
OutOfBounds = Literal["error", "disable"]
Silent = Literal["refuse", "as_action", "step"]
Scale = Literal["none", "l1"]
MOST_TEXTS = 1000  # that are kept, of one variable


class JaniTask:
    """States are tuples of values, in the order of `variable_names`; labels are numbered as in `labels`.

    A state is unsafe, or else a goal, or else a dead end, or none of these. No label applies in unsafe states and
    goals. Every method that takes a state also exists by id on `engine`, which loops should use.
    """

    world: ClassVar[Literal["model"]] = "model"

    def __init__(
        self,
        core: JaniCore,
        *,
        name: str,
        property_name: str,
        locations: Mapping[str, Sequence[str]],
        interface: Path | None,
        source: Mapping[str, Any],
        chances: Chances | None = None,
        constants: Mapping[str, Value] | None = None,
    ) -> None:
        self.core = core
        self.name = name
        self.property_name = property_name
        self.interface_file = interface  # named by the property
        self.constants: Mapping[str, Value] = dict(constants or {})  # arrays cell by cell
        self.engine = JaniEngine(core)
        self.labels: tuple[str, ...] = tuple(core.labels)
        self.variables = core.variables  # name, type, lower and upper bound
        self.variable_names: tuple[str, ...] = tuple(v[0] for v in self.variables)
        self._locations = dict(locations)  # names of the values of location variables
        # Of each variable: what whole numbers look like, as records say it again and again.
        self._texts: list[dict[int, str]] = [{} for _ in self.variables]
        self._source = dict(source)
        self._chances = chances or Chances()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks for the user on how the model was read."""
        return self._chances.on_loading()

    @property
    def chance_remarks(self) -> tuple[str, ...]:
        """The assumptions behind probabilities of runs, besides what the model says."""
        return self._chances.on_probabilities()

    @property
    def locations(self) -> Mapping[str, Sequence[str]]:
        """The names of the values of variables that are locations of automata."""
        return self._locations

    def __repr__(self) -> str:
        return f"<JaniTask {self.name}: {len(self.variables)} variables, {len(self.labels)} labels>"

    def __reduce__(self) -> tuple[Any, ...]:
        from misstep.tasks.jani.load import rebuild

        return rebuild, (self.source,)

    @property
    def source(self) -> dict[str, Any]:
        """Everything that `rebuild_task` needs: the files that were read, and the options."""
        return {"world": self.world, "name": self.name, **self._source}

    @cached_property
    def digest(self) -> str:
        """Identifies the task: a hash of all content and options, but not of the paths."""
        files = self._source["files"]
        rest = {key: value for key, value in self._source.items() if key not in ("files", "path")}
        contents = [hashlib.sha256(content).hexdigest() for content in files.values()]
        text = json.dumps([contents, rest], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    def new_engine(self, cache_bytes: int = 0) -> JaniEngine:
        """An engine with its own states and cache, for another thread or a long search."""
        return JaniEngine(self.core, cache_bytes)

    @cached_property
    def reader(self) -> JaniEngine:
        """An engine for views of states. A policy that looks ahead must not change the engine that is asking it."""
        return self.new_engine()

    # -- states -----------------------------------------------------------------------------------

    def label_id(self, name: str) -> int:
        if name not in self.labels:
            raise UsageError(
                f"the model has no label {name!r}",
                where=self.name,
                hint="labels: " + ", ".join(self.labels[:20]),
            )
        return self.labels.index(name)

    @property
    def environment(self) -> int | None:
        """The label of states where the environment alone can move, which no policy is asked about."""
        label = self.engine.environment_label
        return None if label < 0 else label

    def is_unsafe(self, state: State) -> bool:
        return self.engine.is_unsafe(self.engine.intern(state))

    def is_goal(self, state: State) -> bool:
        """A goal, and not unsafe."""
        return self.engine.is_goal(self.engine.intern(state))

    def is_dead_end(self, state: State) -> bool:
        return self.engine.is_dead_end(self.engine.intern(state))

    def distance(self, state: State) -> float:
        """An estimate of the distance to unsafe states; 0 exactly if the measured condition holds."""
        return self.engine.distance(self.engine.intern(state))

    def applicable(self, state: State, *, raw: bool = False) -> list[int]:
        """`raw` asks the model alone, in which labels may apply also in unsafe states and goals."""
        id = self.engine.intern(state)
        if raw:
            return [label for label, _ in self.engine.expand(id, raw=True)]
        return self.engine.applicable(id)

    def outcomes(self, state: State, label: int | str, *, raw: bool = False) -> list[State]:
        """The distinct states that may come next; none if the label is not applicable."""
        number = self.label_id(label) if isinstance(label, str) else label
        ids = self.engine.outcomes(self.engine.intern(state), number, raw=raw)
        return [self.engine.values(id) for id in ids]

    def probabilities(self, state: State, label: int | str) -> dict[State, float]:
        """How likely each outcome is: enabled edges of the label are equally likely, destinations as the model says.

        The values of a non-deterministic assignment are equally likely as well, and edges of the environment count as
        edges of the label.
        """
        number = self.label_id(label) if isinstance(label, str) else label
        id = self.engine.intern(state)
        chances = self.engine.probabilities(id, number)
        ids = self.engine.outcomes(id, number)
        return dict(zip(map(self.engine.values, ids), chances, strict=True))

    def text(self, state: State) -> str:
        """Such as `pos=3, vel=1`."""
        self.engine.intern(state)  # checks it
        return ", ".join(
            known[value]
            if type(value) is int and value in known
            else self._text_of(place, value)  # also of true, which would be found as 1
            for place, (known, value) in enumerate(zip(self._texts, state, strict=True))
        )

    def _text_of(self, place: int, value: Value) -> str:
        name, known = self.variable_names[place], self._texts[place]
        places = self._locations.get(name)
        text = f"{name}={json.dumps(value) if places is None else places[int(value)]}"
        if type(value) is int and len(known) < MOST_TEXTS:
            known[value] = text
        return text

    def places(self, name: str) -> tuple[str, ...] | None:
        """The names of the values of a variable that is the location of an automaton; None for other variables."""
        found = self._locations.get(name)
        return None if found is None else tuple(found)

    def parse_state(self, text: str) -> State:
        """Reads `pos=3, vel=1`, in any order."""
        given: dict[str, str] = {}
        for part in text.split(","):
            name, equals, value = part.strip().rpartition("=")
            if not equals or name in given:
                raise InputFormatError(
                    f"{part.strip()!r} is not a value of a variable",
                    where=f"state {text[:60]!r}",
                    expected="NAME=VALUE, each variable once",
                )
            given[name] = value.strip()
        if given.keys() != set(self.variable_names):
            odd = sorted(given.keys() ^ set(self.variable_names))
            raise InputFormatError(
                "variables missing or unknown: " + ", ".join(odd[:6]), where=f"state {text[:60]!r}"
            )
        state = tuple(self._parse(name, given[name]) for name in self.variable_names)
        self.engine.intern(state)
        return state

    def _parse(self, name: str, text: str) -> Value:
        if name in self._locations and text in self._locations[name]:
            return list(self._locations[name]).index(text)
        try:
            value = parse_json(text)
        except ValueError:
            value = None
        if not isinstance(value, (bool, int, float)):
            raise InputFormatError(
                f"{text!r} is not a value", where=f"state variable {name}", expected="a JSON value"
            )
        return value

    # -- start states -----------------------------------------------------------------------------

    def sample_initial(self, random: CounterRandom) -> State:
        """A start state, drawn uniformly."""
        return self.engine.values(self.engine.sample_initial(random))

    def initial_states(self, max_steps: int = 2**24) -> list[State]:
        """All start states, each once."""
        ids = self.engine.all_initial(max_steps)
        if ids is None:
            raise BudgetLimitError(
                f"the start states were not listed in {max_steps} steps",
                where=self.name,
                hint="sample them instead",
            )
        return [self.engine.values(id) for id in ids]

    # -- everything -------------------------------------------------------------------------------

    def space(
        self,
        roots: Sequence[State] | None = None,
        *,
        raw: bool = False,
        max_states: int | None = 10_000_000,
        max_outcomes: int | None = None,
        time_limit: float | None = None,
        memory_limit_mb: int | None = None,
        progress: Any = None,
    ) -> JaniSpace:
        """All states that can be reached from the start states; an error if a limit ends the exploration."""
        space = JaniSpace(
            self.core,
            roots,
            raw=raw,
            seconds=time_limit,
            bytes=bytes_of(memory_limit_mb),
            states=max_states,
            outcomes=max_outcomes,
            progress=progress,
        )
        if space.complete:
            return space
        seen = f"the model is larger: {len(space):,} states explored so far"
        if space.limit == "time":
            raise TimeLimitError(seen, where=self.name, hint=f"the limit was {time_limit} seconds")
        if space.limit == "memory":
            raise MemoryLimitError(
                seen, where=self.name, hint=f"the limit was {memory_limit_mb} MB"
            )
        limits = [
            f"{limit:,} {what}"
            for limit, what in ((max_states, "states"), (max_outcomes, "outcomes"))
            if limit is not None
        ]
        raise BudgetLimitError(seen, where=self.name, hint="the limit was " + " or ".join(limits))


__all__ = ["JaniTask", "OutOfBounds", "Scale", "Silent", "State"]
