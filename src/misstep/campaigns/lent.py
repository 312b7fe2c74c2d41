"""The row of the table `meta` about the campaign from which states and witnesses were copied (see `lending`)."""

from __future__ import annotations

import json
from typing import NamedTuple

from misstep.campaigns.rows import decoded
from misstep.campaigns.store import Store
from misstep.decoding import parse_json

RETEST = "retest"  # the key of the row
CLAIMS = 0  # the part of the round before the first that holds derivations that are not checked yet


class Loan(NamedTuple):
    """Where the states of a campaign come from."""

    policy: str  # the spec of the lender's policy
    digest: str
    finished: bool  # whether the lender was
    bugs: dict[str, frozenset[int]]  # of each task, the states that were bugs


def loan_of(store: Store) -> Loan | None:
    """The origin of the states; None if the campaign has made them itself."""
    found = store.rows("SELECT value FROM meta WHERE key = ?", RETEST)
    return decoded(lambda row: _loan(row[0]), found[0], store.path) if found else None


def note_loan(store: Store, loan: Loan) -> None:
    bugs = {task: sorted(numbers) for task, numbers in loan.bugs.items()}
    store.set_meta(RETEST, json.dumps({**loan._asdict(), "bugs": bugs}))


def _loan(text: str) -> Loan:
    given = parse_json(text)
    if not isinstance(given, dict) or not isinstance(given.get("bugs"), dict):
        raise ValueError("expected which states were bugs")
    bugs = {}
    for task, numbers in given["bugs"].items():
        if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
            raise ValueError("expected numbers of states")
        bugs[str(task)] = frozenset(numbers)
    policy, digest = given.get("policy"), given.get("digest")
    if not isinstance(policy, str) or not isinstance(digest, str):
        raise ValueError("expected the policy that was tested before")
    return Loan(policy, digest, given.get("finished") is True, bugs)


__all__ = ["CLAIMS", "Loan", "loan_of", "note_loan"]
