"""Shrinking on the workers of a cluster gives the same small tasks by the same number of candidates."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import misstep
from misstep.campaigns.cluster.jobs import Done, NoMemory, packed
from misstep.comparison.shrink.elsewhere import There
from misstep.comparison.shrink.examine import Candidate, Examined
from misstep.comparison.shrink.problem import read_problem
from misstep.errors import UsageError
from support.cluster import local_scheduler, needs_dask
from support.small import task_of

POLICY = """
def lazy(view):
    names = [view.task.operator_name(op) for op in view.task.applicable(view.state)]
    return next((name for name in names if name.startswith("drop")), None)
"""


def shrunk(folder: Path, policy: str, **how: Any) -> list[dict[str, Any]]:
    """What becomes of a bug, but for the time that it took."""
    misstep.test(task_of("gripper", balls=2), policy, pool=4, out=folder).close()
    found = []
    with misstep.open_campaign(folder, trust_policy=True) as campaign:
        for bug in campaign.bugs[:1]:
            own = campaign.shrink(bug, **how)
            assert own.campaign.replay().ok
            told = own.as_dict()
            told["effort"].pop("seconds")
            found.append({**told, "folder": None})
    return found


@needs_dask
@pytest.mark.soundness
def test_the_same_as_here(tmp_path: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text(POLICY)
    for policy in ("first", f"python:{file}:lazy"):
        place = tmp_path / policy.partition(":")[0]
        here = shrunk(place / "here", policy)
        with local_scheduler(2) as (address, _):
            assert shrunk(place / "there", policy, cluster=address) == here


def test_jobs_and_wrong_addresses_are_refused() -> None:
    with misstep.test(task_of("gripper", balls=2), "first", pool=2) as campaign:
        bug = campaign.bugs[0]
        with pytest.raises(UsageError, match="both jobs and cluster"):
            campaign.shrink(bug, jobs=2, cluster="local:2")
        with pytest.raises(UsageError, match="is no address"):
            campaign.shrink(bug, cluster="nowhere")


class Backwards:
    """A link with room for three jobs, which ends the last one first; the second runs out of memory."""

    def __init__(self) -> None:
        self.jobs: list[int] = []
        self.count = 0
        self.forgotten: list[int] = []

    @property
    def free(self) -> int:
        return 3 - len(self.jobs)

    def submit(self, *_: object) -> int:
        self.count += 1
        self.jobs.append(self.count)
        return self.count

    def next(self) -> tuple[int, Done | NoMemory]:
        number = self.jobs.pop()
        if number == 2:
            return number, NoMemory()
        return number, Done(pickle.dumps(Examined(str(number).encode())))

    def forget(self, number: int) -> None:
        self.forgotten.append(number)

    def release(self, digest: str) -> None:
        pass


def test_answers_are_taken_in_order_and_the_rest_is_forgotten() -> None:
    task = task_of("gripper", balls=1)
    assert task.pddl is not None
    problem = read_problem(task.pddl[1])
    link: Any = Backwards()
    notes: list[str] = []
    each = There(link, packed(None), notes.append).each([Candidate(problem)] * 5, None)
    answers = [next(each)[1] for _ in range(3)]
    assert [own.sas for own in answers] == [b"1", None, b"3"]
    assert "too little memory" in str(answers[1].undecided)
    assert len(notes) == 1
    each.close()  # type: ignore[attr-defined]
    assert link.forgotten == [4, 5]
