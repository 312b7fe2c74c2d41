"""Prove that a policy has no bugs, on planning tasks and models, and check such proofs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from misstep.checking.certificates import (
    Certificate,
    CertificateReport,
    check_model,
    check_planning,
    read_certificate,
)
from misstep.checking.certificates.models import ANY, FIRST
from misstep.checking.certificates.planning import FIRST as FIRST_OPERATOR
from misstep.errors import UsageError
from misstep.oracles.prove import ReachSettings, prove_reaches
from misstep.policies.labels.policy import LabelPolicy
from misstep.policies.load import load_policy
from misstep.policies.policy import Policy
from misstep.runs.runner import ask
from misstep.safety.jani import system_of
from misstep.safety.prove import Proof, ProveSettings, prove_safe
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import load_task
from misstep.tasks.task import Task

BATCH = 4096  # states of a certificate that are asked about at a time


def prove(
    task: Any,
    policy: Any,
    settings: ProveSettings | ReachSettings | None = None,
    *,
    inapplicable: str | None = None,
    progress: Callable[..., None] | None = None,
) -> Proof:
    """Prove that the policy never gets into an unsafe state of a model, or that it reaches the goal of a planning task.

    `task` is anything that `load_task` takes, and `policy` anything that `load_policy` takes. The settings are
    `ProveSettings` for models and `ReachSettings` for planning tasks.
    """
    loaded = load_task(task)
    if isinstance(loaded, Task):
        if inapplicable is not None or not isinstance(settings, (ReachSettings, type(None))):
            raise UsageError("these settings are for models", where=loaded.name)
        subject = load_policy(policy, loaded)
        try:
            return prove_reaches(loaded, subject, settings, progress)
        finally:
            if subject is not policy:
                subject.close()
    if not isinstance(settings, (ProveSettings, type(None))):
        raise UsageError("these settings are for planning tasks", where=loaded.name)
    labels = load_policy(policy, loaded, inapplicable=inapplicable)
    try:
        return prove_safe(loaded, labels, settings, progress)
    finally:
        if labels is not policy:
            labels.close()


def check_certificate(
    content: bytes,
    task: Any,
    policy: Any = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> CertificateReport:
    """Check a certificate for the task with the independent checker; with a policy, also ask it again in every state.

    Without a policy, the decisions in the file are not compared with those of the policy.
    """
    loaded = load_task(task)
    certificate = read_certificate(content)
    world = certificate.text("world")
    if world != loaded.world:
        raise UsageError(
            f"the certificate is about a {world}, but the task is a {loaded.world}",
            where=loaded.name,
        )
    if isinstance(loaded, Task):
        report = check_planning(certificate, loaded.sas, progress=progress)
    else:
        files = list(loaded.source["files"].values())
        report = check_model(certificate, files, digest=loaded.digest, progress=progress)
    if policy is None or not report.valid:
        return report
    why = _asked_again(certificate, loaded, policy)
    return replace(report, valid=not why, reason=why)


def _asked_again(certificate: Certificate, task: Task | JaniTask, policy: Any) -> str:
    """The first difference between the policy and the certificate, in words; empty if there is none."""
    stored = certificate.text("policy", "digest")
    if isinstance(task, Task):
        subject: Policy | LabelPolicy = load_policy(policy, task)
    else:
        rule = certificate.header["policy"].get("inapplicable")
        subject = load_policy(policy, task, inapplicable=rule)
    try:
        if subject.digest != stored:
            return "the policy is not the one of the certificate: its digest differs"
        if isinstance(task, Task):
            assert isinstance(subject, Policy)
            return _operators_again(certificate, subject)
        assert isinstance(subject, LabelPolicy)
        return _labels_again(certificate, task, subject)
    finally:
        if subject is not policy:
            subject.close()


def _operators_again(certificate: Certificate, policy: Policy) -> str:
    codes = np.array(certificate.extra["operator"].whole(), dtype=np.int64)
    columns = [np.array(own.whole(), dtype=np.int64) for own in certificate.columns]
    states = np.column_stack(columns).astype(np.int32)
    rows = np.flatnonzero(codes >= FIRST_OPERATOR)
    for first in range(0, len(rows), BATCH):
        part = rows[first : first + BATCH]
        answers = ask(policy, states[part]).operators.astype(np.int64)
        wrong = part[answers != codes[part] - FIRST_OPERATOR]
        if len(wrong):
            return f"asked again, the policy decides otherwise in state {int(wrong[0])}"
    return ""


def _labels_again(certificate: Certificate, task: JaniTask, policy: LabelPolicy) -> str:
    system = system_of(task, policy, policy.engine)
    codes = certificate.extra["label"].whole()
    lost = certificate.extra.get("lost")
    ranks = [0] * len(codes) if lost is None else lost.whole()
    rows = zip(certificate.rows(), codes, ranks, strict=True)
    for number, (state, code, rank) in enumerate(rows):
        if code == ANY or rank > 0:  # the policy was not asked
            continue
        label = system.native.decision(system.id(state))
        if (0 if label is None else label + FIRST) != code:
            return f"asked again, the policy decides otherwise in state {number}"
    return ""


__all__ = ["check_certificate", "prove"]
