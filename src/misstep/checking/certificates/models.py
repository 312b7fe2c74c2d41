"""Check that a policy never gets into an unsafe state of a model: an inductive set, from the model's files alone.

The certificate lists states and what the policy does in each: a label, or that it does not matter. It proves the claim
if the set contains every start, if no state of it is unsafe, and if whatever the model can do after the policy's label
leads back into the set. Then no run of the policy can leave the set, by induction over its steps, and so none is ever
unsafe. A certificate may leave out starts that no strategy keeps safe. It proves each of them by ranks: a state is lost
if it is unsafe, or if every label that applies has an outcome that is lost and has a smaller rank.

The checker does not verify that the labels are those of the policy; the caller may ask the policy again.

Nothing of the engine is used. The files of the model are those that the caller gives, compared with the digests in the
certificate, and the starts are listed here once more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from misstep.checking.certificates.container import Certificate, canonical
from misstep.checking.certificates.report import CertificateReport, RefusedError
from misstep.checking.certificates.starts import MAX_STEPS, TooManyStartsError, start_states
from misstep.checking.errors import CheckError
from misstep.checking.jani import ModelError, SafetyTask, State
from misstep.checking.jani.documents import digest_of
from misstep.checking.jani.errors import UnsupportedModelError

CLAIM = "no run of the policy from a start is ever unsafe"
KEPT = "no run of the policy is ever unsafe from a start that can be kept safe"
STOPS = "; where the policy names no label that applies, its run ends"
# What stands for a state in the place of a label; labels follow.
NONE, ANY, FIRST = 0, 1, 2
EVERY = 1000  # states between two reports of progress
Progress = Callable[[int, int], None]


def check_model(
    certificate: Certificate,
    files: Sequence[bytes],
    *,
    digest: str | None = None,
    max_steps: int = MAX_STEPS,
    progress: Progress | None = None,
) -> CertificateReport:
    """`files` are those of the model, in the order of the certificate; `digest` is that of the caller's task."""
    about = _about(certificate)
    starts = 0
    try:
        task = _task(certificate, files, digest)
        checker = _Checker(certificate, task)
        checker.check_header()
        checker.check_states(progress)
        starts = checker.check_starts(max_steps)
    except RefusedError as why:
        return CertificateReport(False, CLAIM, str(why), False, certificate.states, starts, about)
    except (TooManyStartsError, UnsupportedModelError, RecursionError) as why:
        reason = "nested too deeply" if isinstance(why, RecursionError) else str(why)
        return CertificateReport(False, CLAIM, reason, True, certificate.states, starts, about)
    claim = KEPT if checker.hopeless else CLAIM
    claim += STOPS if checker.stops else ""
    about["hopeless"] = checker.hopeless
    return CertificateReport(True, claim, "", False, certificate.states, starts, about)


def _about(certificate: Certificate) -> dict[str, Any]:
    task = certificate.header.get("task")
    task = task if isinstance(task, Mapping) else {}
    return {
        "task": {key: task.get(key) for key in ("name", "digest", "options")},
        "policy": certificate.header.get("policy"),
    }


def _task(certificate: Certificate, files: Sequence[bytes], digest: str | None) -> SafetyTask:
    """The task that the certificate is about, read from the files."""
    own = certificate.header.get("task")
    options = own.get("options") if isinstance(own, Mapping) else None
    if not isinstance(options, Mapping):
        raise CheckError("the certificate does not say how the model was read")
    listed = listed_files(certificate)
    found = [hashlib.sha256(content).hexdigest() for content in files]
    if [one.get("sha256") for one in listed] != found:
        raise RefusedError("the model is another one: the digest of a file differs")
    names = [one["name"] for one in listed]
    source = {**options, "files": dict(zip(names, files, strict=True))}
    known = digest_of(source)
    if certificate.text("task", "digest") != known or digest not in (None, known):
        raise RefusedError(
            "the digest of the task differs: another model, property, constant or option"
        )
    try:
        task = SafetyTask.from_source({**source, "path": certificate.text("task", "path")})
    except UnsupportedModelError:
        raise
    except ModelError as error:
        raise RefusedError(f"the model cannot be read: {error}") from None
    if certificate.text("property") != hashlib.sha256(canonical(task.property)).hexdigest():
        raise RefusedError("the digest of the property differs")
    return task


def listed_files(certificate: Certificate) -> list[dict[str, Any]]:
    """The files of the model as the certificate names them: name, sha256, and content of what was given in words."""
    task = certificate.header.get("task")
    listed = task.get("files") if isinstance(task, Mapping) else None
    if not isinstance(listed, list) or not listed:
        raise CheckError("the certificate does not list the files of the model")
    for one in listed:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            raise CheckError("the certificate does not name a file of the model")
    return listed


class _Checker:
    def __init__(self, certificate: Certificate, task: SafetyTask) -> None:
        self.certificate = certificate
        self.task = task
        self.members: set[int] = set()
        self.lost: dict[int, int] = {}  # states that are left out, with their ranks
        self.hopeless = 0  # starts among them
        self.stops = False

    def check_header(self) -> None:
        """The variables, the labels, and that no state stands twice."""
        certificate, task = self.certificate, self.task
        slots = task.model.slots
        named = [(column.name, column.kind) for column in certificate.columns]
        if named != [(slot.name, slot.type.base) for slot in slots]:
            raise RefusedError("the variables are not those of the model")
        if list(certificate.extra) not in (["label"], ["label", "lost"]):
            raise CheckError("the certificate does not say what the policy does")
        if certificate.header.get("labels") != task.labels:
            raise RefusedError("the labels are not those of the model")
        policy = certificate.header.get("policy")
        if not isinstance(policy, Mapping) or not isinstance(policy.get("digest"), str):
            raise CheckError("the certificate does not say which policy it is about")
        self.stops = policy.get("inapplicable") == "stop_safe"
        if not certificate.states:
            raise RefusedError("the certificate has no state")
        for column, slot in zip(certificate.columns, slots, strict=True):
            for value in {min(column.values()), max(column.values())}:
                try:
                    slot.type.read(value)
                except ModelError as error:
                    raise RefusedError(f"the variable {slot.name!r}: {error}") from None
        keys, ranks = certificate.keys(), self._ranks()
        self.members = {key for key, rank in zip(keys, ranks, strict=True) if rank == 0}
        self.lost = {key: rank for key, rank in zip(keys, ranks, strict=True) if rank > 0}
        if (
            len(self.members) + len(self.lost) != certificate.states
            or self.members & self.lost.keys()
        ):
            raise RefusedError("a state stands twice")

    def _ranks(self) -> list[int]:
        """0: the state is not left out."""
        column = self.certificate.extra.get("lost")
        ranks = [0] * self.certificate.states if column is None else column.whole()
        if min(ranks) < 0:
            raise RefusedError("a rank is negative")
        return ranks

    def check_states(self, progress: Progress | None) -> None:
        codes, rows = self.certificate.extra["label"].whole(), self.certificate.rows()
        for number, (state, code, rank) in enumerate(zip(rows, codes, self._ranks(), strict=True)):
            if progress is not None and number % EVERY == 0:
                progress(number, self.certificate.states)
            try:
                if rank > 0:
                    self._check_lost(state, rank)
                else:
                    self._check_state(state, code)
            except UnsupportedModelError:
                raise
            except ModelError as error:
                raise RefusedError(
                    f"the model has an error in {self._shown(state)}: {error}"
                ) from None

    def _check_state(self, state: State, code: int) -> None:
        task, labels = self.task, len(self.task.labels)
        if task.is_unsafe(state):
            raise RefusedError(f"a state is unsafe: {self._shown(state)}")
        if task.is_goal(state):
            return  # runs end here
        if not 0 <= code < FIRST + labels:
            raise RefusedError(f"the model has no label number {code - FIRST}")
        if code == NONE:
            if not (self.stops or task.model.is_dead_end(state)):
                raise RefusedError(f"no label is given for {self._shown(state)}")
            return
        for label in range(labels) if code == ANY else (code - FIRST,):
            outcomes = task.model.outcomes_of(state, label)
            if not outcomes and code != ANY:
                raise RefusedError(
                    f"the label {task.labels[label]!r} does not apply in {self._shown(state)}"
                )
            for outcome in outcomes:
                if self.certificate.key(outcome) not in self.members:
                    raise RefusedError(
                        f"the label {task.labels[label]!r} leads out of the set, from {self._shown(state)} "
                        f"to {self._shown(outcome)}"
                    )

    def _check_lost(self, state: State, rank: int) -> None:
        task = self.task
        if task.is_unsafe(state):
            return
        reached = [task.model.outcomes_of(state, label) for label in range(len(task.labels))]
        if task.is_goal(state) or not any(reached):
            raise RefusedError(f"a run ends well in a state that is left out: {self._shown(state)}")
        for label, outcomes in zip(task.labels, reached, strict=True):
            keys = (self.certificate.key(outcome) for outcome in outcomes)
            if outcomes and not any(
                self.lost.get(-1 if key is None else key, rank) < rank for key in keys
            ):
                raise RefusedError(
                    f"the label {label!r} may keep a state safe that is left out: {self._shown(state)}"
                )

    def check_starts(self, max_steps: int) -> int:
        found, hopeless = set(), set()
        for start in start_states(self.task, max_steps):
            key = self.certificate.key(start)
            if key is not None and key in self.members:
                found.add(key)
            elif key is not None and key in self.lost:
                hopeless.add(key)
            else:
                raise RefusedError(f"a start is missing: {self._shown(start)}")
        if not found:
            raise RefusedError("no start is left" if hopeless else "the model has no start")
        self.hopeless = len(hopeless)
        return len(found) + len(hopeless)

    def _shown(self, state: State) -> str:
        """The first few variables, for a message."""
        slots = self.task.model.slots
        pairs = [
            f"{slot.name}={json.dumps(value)}" for slot, value in zip(slots, state, strict=True)
        ]
        more = f", and {len(pairs) - 8} more" if len(pairs) > 8 else ""
        return ", ".join(pairs[:8]) + more


__all__ = ["ANY", "CLAIM", "FIRST", "NONE", "check_model", "listed_files"]
