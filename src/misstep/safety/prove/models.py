"""Prove that a policy never gets into an unsafe state of a model, or find an unsafe run.

There are two methods, with the same answers:

    all     explore every state that the policy can reach, and ask the policy in each of them
    needed  first explore the model with all labels; then ask the policy only where it matters, which two fixpoints
            decide: one assumes the best about states where it was not asked, the other the worst

`auto` uses `all` for a native policy, because it answers fast. For any other policy it uses `needed`, unless the model
has more than `NEEDED_STATES` states, or an error in a part that the policy may never reach.

If an unsafe run is found, a decider decides whether its start could have been kept safe: then it is a BUG. If not, the
other starts are checked until one is a bug. If there is none, the policy is not safe, but not to blame either: NOT A
BUG, as in the records. With `leave_out` these starts are left out of the claim, and the certificate proves that each of
them is lost.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misstep import _core
from misstep.checking.certificates import check_model, read_certificate
from misstep.checking.certificates.models import CLAIM, KEPT
from misstep.errors import (
    InputFormatError,
    MisstepError,
    PolicyCrashError,
    PolicyTimeoutError,
    TimeLimitError,
    UnsupportedError,
    UsageError,
)
from misstep.policies.labels.policy import LabelPolicy
from misstep.ranges import bytes_of, check_limits, check_seed
from misstep.runs.again import SAMPLE, sampled
from misstep.safety.again import Contradiction, Said, ask_again
from misstep.safety.decider import Budget, Decider
from misstep.safety.fuzz import UnsafeRun, envelope
from misstep.safety.jani import system_of
from misstep.safety.prove.certificate import CHECKED_STATES, model_certificate
from misstep.safety.prove.result import (
    BUG,
    FLAKY,
    NOT_A_BUG,
    PROVEN,
    UNKNOWN,
    Finding,
    Proof,
    carried_out,
)
from misstep.safety.system import System
from misstep.safety.verdict import SafetyVerdict, Status, judge
from misstep.tasks.jani.task import JaniTask, State

ASK = ("auto", "all", "needed")
NEEDED_STATES = 1_000_000  # of the model, up to which `auto` asks only where it is needed
MAX_STATES = 50_000_000  # about 6 GB
START_STEPS = (2**20, 2**22, 2**24, 2**26)
DECIDER_SECONDS = 60.0  # for one start

ENDINGS: dict[type[MisstepError], str] = {
    PolicyTimeoutError: "timeout",
    PolicyCrashError: "crash",
    TimeLimitError: "time",
}


@dataclass(frozen=True)
class ProveSettings:
    ask: str = "auto"
    max_states: int | None = MAX_STATES
    time_limit: float | None = None
    memory_limit_mb: int | None = None
    leave_out: bool = (
        False  # starts that no strategy keeps safe; the certificate proves each of them
    )
    check: bool | None = None  # the certificate, independently; None: if it is small
    seed: int = 0  # of the sample that is asked again

    def __post_init__(self) -> None:
        if self.ask not in ASK:
            raise UsageError(f"ask is {self.ask!r}", expected=", ".join(ASK))
        check_seed(self.seed)
        check_limits(
            max_states=self.max_states,
            time_limit=self.time_limit,
            memory_limit_mb=self.memory_limit_mb,
        )


def prove_safe(
    task: JaniTask,
    policy: LabelPolicy,
    settings: ProveSettings | None = None,
    progress: Callable[..., None] | None = None,
) -> Proof:
    """The policy was loaded for the task."""
    if policy.set_valued or policy.plans:
        raise UnsupportedError(
            f"the policy {policy.spec} is not a function of the state", where=task.name
        )
    search = _Search(task, policy, settings or ProveSettings(), progress)
    return carried_out(search, policy.deterministic, ENDINGS)


class _Search:
    def __init__(
        self,
        task: JaniTask,
        policy: LabelPolicy,
        settings: ProveSettings,
        progress: Callable[..., None] | None,
    ) -> None:
        self.task, self.policy, self.settings, self.progress = task, policy, settings, progress
        self.system: System[State, str] = system_of(task, policy, policy.engine)
        self.began = time.monotonic()
        self.proof = Proof(UNKNOWN, CLAIM, task.name, policy.spec)
        self._listed: list[int] = []
        self._closure: _core.SafetyClosure | None = None
        self._sparing: _core.SparingProof | None = None

    def ended(self, end: str, reason: str) -> None:
        self._count()
        self.proof.left_open(end, reason)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def run(self) -> None:
        starts = self._starts()
        if starts is None:
            return
        ask = self.settings.ask
        if ask == "auto":
            ask = "all" if self.policy.native else "needed"
            if ask == "needed" and self._needed(starts, NEEDED_STATES):
                return
            self._all(starts)
        elif ask == "needed":
            self._needed(starts, None)
        else:
            self._all(starts)

    def _starts(self) -> list[int] | None:
        starts: list[int] | None = None
        try:
            for steps in START_STEPS:  # more and more, with a look at the clock in between
                starts = self.policy.engine.all_initial(steps)
                if starts is not None or self._late():
                    break
        except InputFormatError as error:
            self.ended("gave up", f"the start states cannot be listed: {error}")
            return None
        if starts is None:
            if not self._late():
                reason = f"the start states were not listed in {START_STEPS[-1]:,} steps: too many"
                self.ended("gave up", reason)
            return None
        if not starts:
            raise InputFormatError(
                "no state satisfies the start condition",
                where=self.task.name,
                expected="at least one start state",
            )
        self.proof.starts = len(starts)
        self._listed = starts
        return starts

    def _late(self) -> bool:
        """Whether the time is over, which ends the work."""
        limit = self.settings.time_limit
        if limit is None or self.seconds < limit:
            return False
        self.ended("time", "the limit of time ended the work")
        return True

    def _limits(self, max_states: int | None) -> dict[str, Any]:
        settings = self.settings
        given = [own for own in (settings.max_states, max_states) if own is not None]
        seconds = settings.time_limit
        return {
            "seconds": None if seconds is None else max(0.0, seconds - self.seconds),
            "bytes": bytes_of(settings.memory_limit_mb),
            "expansions": min(given) if given else None,
            "progress": self.progress,
        }

    def _count(self) -> None:
        proof, native = self.proof, self.system.native
        proof.asked = native.policy_calls
        if self._closure is not None:
            proof.method = "all"
            proof.states = len(self._closure)
            proof.megabytes = self._closure.bytes / 2**20
        elif self._sparing is not None:
            proof.method = "needed"
            proof.states = len(self._sparing)
            proof.megabytes = self._sparing.bytes / 2**20

    def _limited(self, limit: str) -> bool:
        """Whether a limit has ended the work."""
        if limit == "none":
            return False
        end = {"expansions": "states"}.get(limit, limit)
        self.ended(end, f"the limit of {end} ended the work")
        return True

    # -- the two methods --------------------------------------------------------------------------

    def _all(self, starts: list[int]) -> None:
        self._closure = closure = _core.SafetyClosure(self.system.native)
        self._sparing = None
        closure.add_starts(starts)
        if self._limited(closure.explore(True, **self._limits(None))):
            return
        self._count()
        if closure.unsafe:
            if not self._judged(self._run_of(closure.unsafe_run)):
                self._other_starts(closure)
            return
        self._proven(*closure.certificate())

    def _needed(self, starts: list[int], most: int | None) -> bool:
        """Whether that gave an answer, or the limits of the user ended it; not if the model is larger than `most`."""
        self._sparing = sparing = _core.SparingProof(self.system.native, starts)
        try:
            limit = sparing.run(**self._limits(most))
        except InputFormatError:
            if most is None:
                raise
            return False  # an error of the model, perhaps where the policy never goes
        if limit == "expansions" and most is not None:
            own = self.settings.max_states
            if own is None or own > most:
                return False
        if self._limited(limit):
            return True
        self._count()
        if sparing.end == "safe":
            self._proven(*sparing.certificate())
        elif not self._judged(self._run_of(sparing.unsafe_run)):
            # The start is lost. Whether another one is a bug takes all that the policy does.
            self._all(starts)
            self.proof.method = "needed, then all"
        return True

    # -- unsafe runs ------------------------------------------------------------------------------

    def _run_of(self, ids: list[int]) -> UnsafeRun[State, str]:
        system = self.system
        labels = [system.native.decision(id) for id in ids[:-1]]
        assert None not in labels
        return UnsafeRun(
            system.states(ids), system.labels(label for label in labels if label is not None)
        )

    def _judged(self, run: UnsafeRun[State, str]) -> bool:
        """Whether this run ends the work: it is a bug, or the policy contradicts itself."""
        said = list(zip(run.states, run.labels, strict=False))
        found = self._ask_again(said)
        if not self.policy.native:
            self.proof.asked_again += len(said)
        if found:
            self._flaky(len(found), found[0].state)
            return True
        verdict = judge(self._decider(), run.states[0], run=run)
        proof = self.proof
        proof.finding = _finding(run, verdict)
        proof.failing = 1
        if verdict.status is Status.BUG:
            proof.verdict = BUG
            proof.reason = "the policy gets into an unsafe state from a start that can be kept safe"
            return True
        proof.verdict = NOT_A_BUG
        proof.reason = (
            "the policy gets into an unsafe state from a start that no strategy keeps safe"
        )
        if verdict.status is Status.UNKNOWN:
            proof.verdict, proof.end = UNKNOWN, "gave up"
            proof.reason = (
                "the policy gets into an unsafe state from a start, and whether that could be avoided is "
                f"undecided ({', '.join(verdict.limits)})"
            )
        return False

    def _decider(self) -> Decider[State, str]:
        limits = self._limits(None)
        left = limits["seconds"]
        seconds = DECIDER_SECONDS if left is None else min(DECIDER_SECONDS, left)
        return Decider(self.system, budget=Budget(seconds=seconds, bytes=limits["bytes"]))

    def _other_starts(self, closure: _core.SafetyClosure) -> None:
        """The policy is not to blame for the first unsafe run: check the runs from other starts."""
        first = self.proof.finding, self.proof.verdict, self.proof.reason, self.proof.end
        if self._limited(closure.explore(False, **self._limits(None))):
            self.proof.finding = first[0]
            return
        self._count()
        bad = closure.unsafe_starts()
        decider = self._decider()
        hopeless, open_starts = 0, 0
        for id in bad:
            if self._late():
                return
            decision = decider.decide_id(id, math.inf)
            if decision.answer == "safe":
                found = envelope(self.system, [self.system.state(id)], Budget(None, None, None))
                assert found.run is not None
                self._judged(found.run)
                self.proof.failing = len(bad)
                return
            hopeless += decision.answer == "not safe"
            open_starts += decision.answer == "unknown"
        proof = self.proof
        proof.finding, proof.verdict, proof.reason, proof.end = first
        proof.failing, proof.hopeless = len(bad), hopeless
        if open_starts and proof.verdict == NOT_A_BUG:
            proof.verdict, proof.end = UNKNOWN, "gave up"
            starts = f"of {len(bad):,} starts from which the policy gets into an unsafe state"
            proof.reason = f"{starts}, {open_starts:,} are undecided"
        elif self.settings.leave_out and proof.verdict == NOT_A_BUG:
            self._without(bad)

    def _without(self, hopeless: list[int]) -> None:
        """Prove the policy on the other starts, and that these starts are lost for every strategy."""
        out = set(hopeless)
        kept = [id for id in self._listed if id not in out]
        if not kept:
            self.proof.reason = "no start can be kept safe, so there is nothing to prove"
            return
        lost = _core.SparingProof(self.system.native, hopeless)
        closure = _core.SafetyClosure(self.system.native)
        closure.add_starts(kept)
        if self._limited(lost.explore(**self._limits(None))):
            return
        if self._limited(closure.explore(True, **self._limits(None))):
            return
        assert closure.unsafe == 0
        self.proof.claim, self.proof.reason, self.proof.finding = KEPT, "", None
        self._proven(*closure.certificate(), lost.lost_certificate())

    # -- the proof --------------------------------------------------------------------------------

    def _proven(
        self,
        ids: NDArray[np.uint32],
        labels: NDArray[np.int32],
        lost: tuple[NDArray[np.uint32], NDArray[np.uint32]] | None = None,
    ) -> None:
        proof, system = self.proof, self.system
        if not self.policy.native:
            asked = np.flatnonzero(labels >= 0)
            chosen = asked[sampled(len(asked), SAMPLE, self.settings.seed)]
            said = [
                (system.state(int(ids[place])), system.label(int(labels[place])))
                for place in chosen
            ]
            found = self._ask_again(said)
            proof.asked_again += len(said)
            if found:
                self._flaky(len(found), found[0].state)
                return
        about = {"starts": proof.starts, "asked_again": proof.asked_again, "method": proof.method}
        content = model_certificate(self.task, self.policy, ids, labels, about, lost)
        check = self.settings.check
        if check or (check is None and len(ids) <= CHECKED_STATES):
            files = list(self.task.source["files"].values())
            proof.checked = check_model(read_certificate(content), files, digest=self.task.digest)
            if not (proof.checked.valid or proof.checked.undecided):
                self.ended("gave up", f"the independent checker refuses: {proof.checked.reason}")
                return
        proof.verdict, proof.certificate = PROVEN, content
        self.proof.states = len(ids) if proof.method == "all" else proof.states

    def _ask_again(self, said: Sequence[Said]) -> list[Contradiction]:
        seconds = self._limits(None)["seconds"]
        return ask_again(self.task, self.policy, said, self.settings.seed, seconds)

    def _flaky(self, count: int, state: State) -> None:
        proof = self.proof
        proof.verdict, proof.contradictions, proof.finding = FLAKY, count, None
        shown = self.task.text(state)
        proof.reason = (
            f"asked again, the policy answers differently in {count} states, first in {shown[:200]}"
        )


def _finding(run: UnsafeRun[State, str], verdict: SafetyVerdict[State, str]) -> Finding:
    avoidable = {Status.BUG: True, Status.NOT_A_BUG: False}.get(verdict.status)
    return Finding(
        run.states[0],
        list(run.states),
        list(run.labels),
        "unsafe",
        avoidable,
        0 if verdict.strategy is None else len(verdict.strategy),
    )


__all__ = ["ASK", "NEEDED_STATES", "ProveSettings", "prove_safe"]
