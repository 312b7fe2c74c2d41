"""The truth about the policies of the zoo, by judging every state of their tasks."""

from __future__ import annotations

from collections import Counter

from misstep.oracles import Workbench, parse_oracle
from misstep.oracles.verdict import Status
from misstep.policies.load import load_policy
from misstep.policies.zoo.index import Entry
from misstep.runs.make import make_runner
from misstep.tasks.census import state_space
from misstep.tasks.task import Task


def known_bugs(entry: Entry) -> tuple[int, Counter[str]]:
    """How many states can be reached and are no goals, and how many of them are bugs, by kind."""
    task = entry.task()
    assert isinstance(task, Task)
    policy = load_policy(f"zoo:{entry.name}", task)
    try:
        bench = Workbench(make_runner(policy, permitted_limit=100_000))
        tester = parse_oracle("census", bench)
        space = state_space(task)
        states = [space.state(i) for i in range(len(space)) if not space.is_goal[i]]
        found: Counter[str] = Counter()
        for state in states:
            verdict = tester.test(state)
            assert verdict.status is not Status.UNKNOWN
            if verdict.status is Status.BUG:
                assert verdict.kind is not None
                found[verdict.kind.value] += 1
                bench.check(verdict)
        return len(states), found
    finally:
        policy.close()
