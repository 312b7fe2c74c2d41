"""Check that a policy reaches the goal of a planning task: a rank that every decision makes smaller.

The certificate lists states, and for each one of three things:

    goal      the state is a goal, where a run is over; its rank is 0
    solved    an operator, the policy's decision, and a rank: the operator applies, and leads to a state of the list
              that is a goal or solved and has a smaller rank. Ranks are whole numbers from 0 on, so the run ends in a
              goal.
    dead end  no goal can be reached from here at all: the state is not a goal, and every operator that applies leads
              to a dead end of the list

If the claim is about all states that can be reached, the list contains the initial state and is closed under all
operators. If it is about the policy's own run, it contains the initial state, which is then a goal or solved.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from misstep.checking.certificates.container import Certificate
from misstep.checking.certificates.report import CertificateReport, RefusedError
from misstep.checking.errors import CheckError
from misstep.checking.sas import Operator, SasTask, State, parse_sas
from misstep.checking.semantics import effect_of, is_applicable, is_goal, refuse_axioms
from misstep.errors import UnsupportedError

CLAIMS = {
    "all": "the policy reaches the goal from every reachable state from which the goal can be reached",
    "runs": "the policy reaches the goal from the initial state",
}
# What stands for a state in the place of an operator; operators follow.
GOAL, DEAD_END, FIRST = 0, 1, 2
EVERY = 1000
Progress = Callable[[int, int], None]


def check_planning(
    certificate: Certificate,
    sas: bytes,
    *,
    progress: Progress | None = None,
) -> CertificateReport:
    """`sas` is the text of the task, as Fast Downward's translator writes it."""
    about: dict[str, Any] = {
        key: certificate.header.get(key) for key in ("task", "policy", "from", "dead_ends")
    }
    claim = CLAIMS.get(str(certificate.header.get("from")), "")
    try:
        if certificate.text("task", "digest") != hashlib.sha256(sas).hexdigest():
            raise RefusedError("the digest of the task differs: it is about another task")
        task = parse_sas(sas.decode("utf-8"), "the task")
        refuse_axioms(task)
        _Checker(certificate, task).check(progress)
    except RefusedError as why:
        return CertificateReport(False, claim, str(why), False, certificate.states, 1, about)
    except UnsupportedError as why:
        return CertificateReport(False, claim, str(why), True, certificate.states, 1, about)
    return CertificateReport(True, claim, "", False, certificate.states, 1, about)


class _Checker:
    def __init__(self, certificate: Certificate, task: SasTask) -> None:
        self.certificate = certificate
        self.task = task
        names = [(column.name, column.kind) for column in certificate.columns]
        if names != [(f"var{i}", "int") for i in range(len(task.variables))]:
            raise RefusedError("the variables are not those of the task")
        if list(certificate.extra) != ["operator", "rank"]:
            raise CheckError("the certificate does not say what the policy does")
        policy = certificate.header.get("policy")
        if not isinstance(policy, Mapping) or not isinstance(policy.get("digest"), str):
            raise CheckError("the certificate does not say which policy it is about")
        if certificate.text("from") not in CLAIMS:
            raise CheckError("the certificate does not say which states it is about")
        self.closed = certificate.header["from"] == "all"
        for column, variable in zip(certificate.columns, task.variables, strict=True):
            values = set(column.values())
            if not values <= set(range(len(variable.values))):
                raise RefusedError(
                    f"the variable {column.name} has a value that is none of its own"
                )
        self.codes = certificate.extra["operator"].whole()
        self.ranks = certificate.extra["rank"].whole()
        if min(self.codes, default=0) < 0 or min(self.ranks, default=0) < 0:
            raise RefusedError("an operator or a rank is negative")
        keys = certificate.keys()
        self.places = {key: place for place, key in enumerate(keys)}
        if len(self.places) != certificate.states:
            raise RefusedError("a state stands twice")
        self._by_fact: dict[tuple[int, int], list[Operator]] = defaultdict(list)
        self._always: list[Operator] = []
        for operator in task.operators:
            first = operator.preconditions()[:1]
            (self._by_fact[first[0]] if first else self._always).append(operator)

    def check(self, progress: Progress | None) -> None:
        start = self.certificate.key(self.task.initial_state)
        if start is None or start not in self.places:
            raise RefusedError("the initial state is missing")
        if not self.closed and self.codes[self.places[start]] == DEAD_END:
            raise RefusedError("the initial state is a dead end, so no run of the policy is proven")
        for number, values in enumerate(self.certificate.rows()):
            if progress is not None and number % EVERY == 0:
                progress(number, self.certificate.states)
            state = tuple(map(int, values))
            code = self.codes[number]
            if is_goal(state, self.task) != (code == GOAL):
                said = "a goal" if code == GOAL else "none"
                raise RefusedError(f"state {number} is said to be {said} where goals are reached")
            if code == GOAL and self.ranks[number] != 0:
                raise RefusedError(f"state {number} is a goal and has a rank other than 0")
            if code >= FIRST:
                self._check_decision(number, state, code - FIRST)
            if self.closed or code == DEAD_END:
                self._check_all(number, state, code == DEAD_END)

    def _check_decision(self, number: int, state: State, chosen: int) -> None:
        if chosen >= len(self.task.operators):
            raise RefusedError(f"the task has no operator number {chosen}")
        operator = self.task.operators[chosen]
        if not is_applicable(state, operator):
            raise RefusedError(f"the operator ({operator.name}) does not apply in state {number}")
        place = self.places.get(self._key(effect_of(state, operator)), -1)
        if place < 0 or self.codes[place] == DEAD_END:
            raise RefusedError(
                f"the operator ({operator.name}) leads from state {number} to none that reaches the goal"
            )
        if self.ranks[place] >= self.ranks[number]:
            raise RefusedError(f"the rank does not get smaller after state {number}")

    def _check_all(self, number: int, state: State, dead: bool) -> None:
        for operator in self._applicable(state):
            place = self.places.get(self._key(effect_of(state, operator)), -1)
            if place < 0:
                raise RefusedError(
                    f"a reachable state is missing: ({operator.name}) leads to it from state {number}"
                )
            if dead and self.codes[place] != DEAD_END:
                raise RefusedError(
                    f"state {number} is not a dead end: ({operator.name}) leads out of the dead ends"
                )

    def _applicable(self, state: State) -> list[Operator]:
        candidates = list(self._always)
        for fact in enumerate(state):
            candidates += self._by_fact.get(fact, ())
        return [operator for operator in candidates if is_applicable(state, operator)]

    def _key(self, state: State) -> int:
        key = self.certificate.key(state)
        return -1 if key is None else key


__all__ = ["CLAIMS", "DEAD_END", "FIRST", "GOAL", "check_planning"]
