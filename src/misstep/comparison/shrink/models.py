"""Shrink a bug of a model: the shortest unsafe run, the fewest changed variables, the lowest constants.

The run is the shortest unsafe run of the policy from the bug state, found breadth first over all outcomes. The start
moves to the decision that is to blame. Then variables get back their value in the start state of the run that found the
bug, and whole constants are lowered, as long as the decider still proves that unsafe states could be avoided, the fault
has the same signature, and the independent checker agrees.

Models have no mutex groups, only bounds of variables, so `mutex` means here that all values are within their bounds;
`reachable` leaves the state unchanged.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.records import Record
from misstep.campaigns.rows import Ids, RunRow, Values
from misstep.campaigns.session import load_again, source_of, work
from misstep.campaigns.settings import Settings
from misstep.campaigns.store import memory_store
from misstep.campaigns.tables import Content
from misstep.comparison.shrink.folder import keep, small_name
from misstep.comparison.shrink.judging import Sought
from misstep.comparison.shrink.model_variants import Variant, build, variant_of
from misstep.comparison.shrink.planning import Budget, Progress
from misstep.comparison.shrink.shrunk import Effort, Note, Shrunk, Sizes
from misstep.errors import MisstepError, PolicyAwayError, UndecidedError
from misstep.policies.labels.policy import LabelPolicy
from misstep.safety.jani import system_of
from misstep.safety.system import System
from misstep.tasks.jani.task import JaniTask

MINIMAL = "1-minimal: no changed variable can be set back alone and no constant lowered alone, without a longer run"
FIXED_START = (
    "1-minimal: no constant can be lowered alone without a longer run, and the start was to stay"
)
NOT_ALL = "nothing more is known to be removable"
RUN_STATES = 200_000  # that are looked at for the shortest run
LOWER_VALUES = 16  # of a constant that are tried, the lowest first


class ModelShrink:
    """One bug of a model on its way to the smallest variant."""

    def __init__(
        self,
        campaign: Campaign,
        task: JaniTask,
        record: Record,
        place: Path | None,
        budget: Budget,
        progress: Progress | None,
        *,
        legal: str,
    ) -> None:
        settings = campaign.settings
        self.task = task
        self.record = record
        self.place = place
        self.budget = budget
        self.legal = legal
        self.tell = progress or (lambda *_: None)
        self.settings: Settings = replace(settings, model=replace(settings.of_model, runs=1))
        self.source: Any = source_of(campaign._content, settings, campaign._policy, campaign._trust)
        self.sought = Sought.of(record)
        self.effort = Effort()
        self.began = monotonic()
        self.name = small_name(record)
        runs = {run.number: run for run in campaign._content.findings(record.task).runs()}
        found = runs.get(-1 if record.found.run is None else record.found.run)
        self.origin: RunRow | None = found
        self.given: Values = record.state if found is None or not found.states else found.states[0]

    @property
    def digest(self) -> str:
        text = f"{self.task.digest} {self.settings.as_dict()} {self.sought}"
        return hashlib.sha256(text.encode()).hexdigest()

    def run(self) -> Shrunk:
        variant, small = self._started()
        whole = variant
        self._keep(whole, variant, small, "the search was interrupted", minimal=False)
        limit: str | None = None
        while True:
            self.effort = replace(self.effort, undecided=0, refused=0)
            for candidate in self._candidates(variant):
                limit = self.budget.used_up(self.effort.candidates)
                if limit is not None:
                    break
                # Fewer changed variables are not worth a longer run.
                found = self._examined(candidate, len(small.records[0].run.operators))
                if found is not None:
                    small.close()
                    variant, small = candidate, found
                    self.effort = replace(self.effort, accepted=self.effort.accepted + 1)
                    reason = "the search was interrupted"
                    self._keep(whole, variant, small, reason, minimal=False)
                    break
            else:
                reason, minimal = self._all_tried(variant)
                return self._keep(whole, variant, small, reason, minimal=minimal)
            if limit is not None:
                return self._keep(whole, variant, small, limit, minimal=False)

    def _all_tried(self, variant: Variant) -> tuple[str, bool]:
        """What a round without a success says, and whether it leaves nothing open."""
        large = [name for name, value in variant.constants if value > LOWER_VALUES]
        left: list[str] = []
        if large:
            left.append(f"of {', '.join(large)} only values below {LOWER_VALUES} were tried")
        if self.effort.undecided:
            left.append(f"{self.effort.undecided} variants were left undecided")
        if self.effort.refused:
            left.append(
                f"{self.effort.refused} variants were no models or not accepted by the policy"
            )
        minimal = not large and not self.effort.undecided
        full = FIXED_START if self.legal == "reachable" else MINIMAL
        return "; ".join([full if minimal else NOT_ALL, *left]), minimal

    # -- candidates -------------------------------------------------------------------------------

    def _started(self) -> tuple[Variant, Campaign]:
        """Start from the decision to blame or from the bug state, whichever has the shorter run."""
        states = [own.state for own in reversed(self.record.faults or ())]
        best: tuple[int, Variant, Campaign] | None = None
        for state in dict.fromkeys([*states, self.record.state]):
            variant = variant_of(self.task, state)
            found = self._examined(variant)
            if found is None:
                continue
            length = len(found.records[0].run.operators)
            if best is None or length < best[0]:
                if best is not None:
                    best[2].close()
                best = (length, variant, found)
            else:
                found.close()
        if best is None:
            raise UndecidedError(
                f"the bug {self.record.id} does not occur any more",
                where=self.task.name,
                hint="has the policy changed, or does it contradict itself?",
            )
        return best[1], best[2]

    def _candidates(self, variant: Variant) -> Iterator[Variant]:
        if self.legal != "reachable":
            differing = self._differing(variant.state)
            groups = [differing] if len(differing) > 1 else []
            for group in groups + [[slot] for slot in differing]:
                values = list(variant.state)
                for slot in group:
                    values[slot] = self.given[slot]
                yield replace(variant, state=tuple(values))
        for name, value in variant.constants:
            for lower in range(min(max(value, 0), LOWER_VALUES)):
                yield variant.lowered(name, lower)

    def _differing(self, state: Values) -> list[int]:
        return [
            slot
            for slot, (now, was) in enumerate(zip(state, self.given, strict=True))
            if now != was
        ]

    # -- judging ----------------------------------------------------------------------------------

    def _examined(self, variant: Variant, most: int | None = None) -> Campaign | None:
        """The same as `_certified`, for a variant that need not be a model, be accepted or be decided."""
        try:
            return self._certified(variant, most)
        except PolicyAwayError:
            raise
        except UndecidedError:
            self.effort = replace(self.effort, undecided=self.effort.undecided + 1)
        except (MisstepError, ValueError, KeyError):
            self.effort = replace(self.effort, refused=self.effort.refused + 1)
        return None

    def _certified(self, variant: Variant, most: int | None = None) -> Campaign | None:
        """A campaign of the shortest unsafe run from the start, if its first state is the wanted bug."""
        self.effort = replace(self.effort, candidates=self.effort.candidates + 1)
        self.tell("shrinking", self.effort.candidates, self.effort.accepted)
        task = build(self.task, variant, self.name)
        if task.is_unsafe(variant.state):
            return None
        run = self._shortest_run(task, variant.state, most or self.settings.max_steps)
        if run is None:
            return None
        found = self._campaign(task, run)
        try:
            if self._shown(found):
                return found
        except BaseException:
            found.close()
            raise
        found.close()
        return None

    def _shown(self, found: Campaign) -> bool:
        """Whether the first state is the wanted bug; an error if that is not known."""
        record = next(iter(found.records), None)
        if record is None:
            return False
        why = self.sought.left_open_by(record)
        if why is None and self.sought.shown_by(record) and not found.replay().ok:
            why = "the checker does not confirm the bug"
        if why is not None:
            raise UndecidedError(why, where=self.task.name)
        return self.sought.shown_by(record)

    def _campaign(self, task: JaniTask, run: RunRow) -> Campaign:
        store = memory_store(self.settings.as_dict())
        content = Content(store)
        content.add_task(task)
        findings = content.findings(task.name)
        with store.unit():
            findings.add_runs([run])
            findings.add_fuzzed(0, 1, {"unsafe": 1})
        work(content, self.settings, self.source, 1, None, None, None, trust=True)
        return Campaign(store, self.source, True)

    def _shortest_run(self, task: JaniTask, state: Values, most: int) -> RunRow | None:
        policy = load_again(self.source, task, self.settings)
        assert isinstance(policy, LabelPolicy)
        try:
            engine = task.engine
            system = system_of(task, policy, engine)
            found = _to_unsafe(system, state, most)
        finally:
            if isinstance(self.source, str):
                policy.close()
        if found is None:
            return None
        states, labels = found
        return RunRow(0, "unsafe", None, labels, states)

    # -- what is kept -----------------------------------------------------------------------------

    def _keep(
        self, whole: Variant, variant: Variant, small: Campaign, reason: str, *, minimal: bool
    ) -> Shrunk:
        record, now = self.record, small.records[0]
        is_same = variant == whole
        walk = self._walk(whole.state)
        changed, constants = self._differing(variant.state), dict(variant.constants)
        removed = [
            f"{self.task.variable_names[slot]} = {self.given[slot]}"
            for slot in self._differing(whole.state)
            if slot not in changed
        ]
        removed += [
            f"{name} = {constants[name]}" for name, was in whole.constants if constants[name] != was
        ]
        note = Note(
            id=record.id,
            digest=self.digest,
            kind=now.kind,
            family=now.family,
            number=now.number,
            start=_step_of(record, whole.state),
            before=Sizes(
                run=len(record.run.operators),
                walk=record.found.step,
                changed=len(self._differing(record.state)),
                constants=_total(whole),
                strategy=record.witness.size,
            ),
            after=Sizes(
                run=len(now.run.operators),
                walk=None if walk is None else len(walk),
                changed=len(changed),
                constants=_total(variant),
                strategy=now.witness.size,
            ),
            legal="reachable" if is_same else "mutex",
            allowed=self.legal,
            minimal=minimal,
            reason=reason,
            removed=tuple(removed),
            walk=walk,
            effort=replace(self.effort, seconds=round(monotonic() - self.began, 3)),
        )
        return keep(small, note, self.place)

    def _walk(self, state: Values) -> tuple[str, ...] | None:
        """The labels of the run that found the bug, up to the start."""
        run = self.origin
        if run is None or run.states is None or state not in run.states:
            return None
        step = run.states.index(state)
        return tuple(self.task.labels[label] for label in run.operators[:step])


def _step_of(record: Record, state: Values) -> int:
    states = record.run.states or ()
    return states.index(state) if state in states else 0


def _total(variant: Variant) -> int | None:
    if not variant.constants:
        return None
    return sum(max(0, value) for _, value in variant.constants)


def _to_unsafe(
    system: System[Values, str], state: Values, most: int
) -> tuple[tuple[Values, ...], Ids] | None:
    """The shortest way of the policy into an unsafe state, breadth first over all outcomes."""
    native, first = system.native, system.id(state)
    before: dict[int, int | None] = {first: None}
    layer = deque([(first, 0)])
    while layer and len(before) <= RUN_STATES:
        here, steps = layer.popleft()
        if native.kind(here) == "unsafe":
            path = [here]
            while (previous := before[path[-1]]) is not None:
                path.append(previous)
            path.reverse()
            labels = [native.decision(own) for own in path[:-1]]
            return tuple(map(system.state, path)), tuple(own for own in labels if own is not None)
        if steps < most and native.decision(here) is not None:
            for other in native.policy_outcomes(here):
                if other not in before:
                    before[other] = here
                    layer.append((other, steps + 1))
    if layer:
        raise UndecidedError(f"no unsafe run was found among {RUN_STATES} states")
    return None


__all__ = ["ModelShrink"]
