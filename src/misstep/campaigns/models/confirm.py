"""Ask a policy on a model again."""

from __future__ import annotations

from contextlib import suppress

from misstep.campaigns.confirm import (
    Asked,
    AskPayload,
    Decisions,
    Questions,
    Weighed,
    WeighPayload,
    answers_of,
    weigh,
)
from misstep.campaigns.rows import ContradictionRow, RunRow, Values
from misstep.errors import PolicyCrashError, PolicyTimeoutError
from misstep.policies.policy import FAILED, NO_ACTION, TIMED_OUT
from misstep.safety.system import System

BATCH = 64  # states between two fresh starts


def decisions_of(run: RunRow) -> Decisions:
    assert run.states is not None
    return list(zip(run.states, answers_of(run), strict=False))


def ask_again(system: System[Values, str], payload: AskPayload) -> Asked:
    """Ask again with a new system for each batch, because a system remembers what its policy said.

    A run asks about one state at a time or about many, as it goes on. Here it is one and the other in turn, so that a
    policy whose answer depends on the other states of its batch is found whatever the run did.
    """
    assert system.policy is not None
    questions = Questions(payload, [decisions_of(own.run) for own in payload.runs])
    for number, states in enumerate(questions.batches(BATCH)):
        fresh = system.with_policy(system.policy)
        # One alone ends what the last batch has left.
        together = states[:1] if number % 2 else states
        with suppress(PolicyCrashError, PolicyTimeoutError):  # then each has its own answer below
            fresh.native.prepare([fresh.id(state) for state in together])
        questions.answered(states, [answer(fresh, state) for state in states])
    return questions.outcome()


def answer(system: System[Values, str], state: Values) -> int:
    try:
        label = system.native.decision(system.id(state))
    except PolicyTimeoutError:
        return TIMED_OUT
    except PolicyCrashError:
        return FAILED
    return NO_ACTION if label is None else label


def contradictions_on(system: System[Values, str], run: RunRow) -> list[ContradictionRow]:
    """The states of a run recorded by another process where the policy of this process answers differently."""
    return [
        ContradictionRow(state, first, second, 2)
        for state, first in decisions_of(run)
        if (second := answer(system, state)) != first
    ]


def weigh_runs(payload: WeighPayload) -> Weighed:
    return weigh([(run.number, decisions_of(run)) for _, run in payload.runs], payload)


__all__ = ["ask_again", "contradictions_on", "decisions_of", "weigh_runs"]
