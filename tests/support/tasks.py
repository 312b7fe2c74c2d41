"""Small tasks of the built-in domains, and SAS files for what they do not have."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from misstep._core import CounterRandom
from misstep.policies.policy import States
from misstep.tasks.domains import generate
from misstep.tasks.domains.write import write_instance
from misstep.tasks.load import load_task
from misstep.tasks.task import State, Task

# Between a few dozen and a few thousand reachable states each.
SMALL: dict[str, tuple[str, dict[str, int]]] = {
    "blocksworld-4": ("blocksworld", {"blocks": 4}),
    "childsnack-2": ("childsnack", {"children": 2, "gluten": 50}),
    "ferry-3": ("ferry", {"cars": 3, "locations": 3}),
    "floortile-2x2": ("floortile", {"width": 2, "height": 2}),
    "gripper-4": ("gripper", {"balls": 4}),
    "gripper-4-scattered": ("gripper", {"balls": 4, "scatter": 100}),
    "miconic-3": ("miconic", {"passengers": 3, "floors": 4}),
    "satellite-1": ("satellite", {"satellites": 1, "directions": 3, "observations": 2}),
    "spanner-3": ("spanner", {"spanners": 3, "nuts": 2, "locations": 3}),
    "transport-2": ("transport", {"vehicles": 2, "packages": 2, "locations": 3}),
    "visitall-3x3": ("visitall", {"width": 3, "height": 3}),
}


@cache
def small_task(name: str) -> Task:
    domain, sizes = SMALL[name]
    return generated_task(domain, seed=1, **sizes)


def generated_task(domain: str, seed: int = 0, **sizes: int) -> Task:
    instance = generate(domain, seed=seed, **sizes)
    folder = Path(tempfile.mkdtemp(prefix="task-", dir=tempfile.gettempdir()))
    return load_task(*write_instance(instance, folder))


def with_costs(task: Task, costs: list[int]) -> Task:
    """The same task with other operator costs."""
    lines = task.sas.decode().split("\n")
    lines[lines.index("begin_metric") + 1] = "1"
    ends = [i for i, line in enumerate(lines) if line == "end_operator"]
    for cost, end in zip(costs, ends, strict=True):
        lines[end - 1] = str(cost)
    return Task("\n".join(lines).encode(), name=f"{task.name}-costs")


def random_costs(task: Task, seed: int, choices: tuple[int, ...]) -> Task:
    random = CounterRandom(seed)
    return with_costs(
        task, [choices[random.below(len(choices))] for _ in range(task.operator_count)]
    )


def walk(task: Task, steps: int, seed: int, start: State | None = None) -> list[State]:
    """States along a random walk; back to the start where it gets stuck."""
    random = CounterRandom(seed)
    state = start = task.initial_state if start is None else start
    states = [state]
    for _ in range(steps):
        operators = task.applicable(state)
        state = task.apply(state, operators[random.below(len(operators))]) if operators else start
        states.append(state)
    return states


def rows(states: list[State]) -> States:
    return np.array([state.values for state in states], dtype=np.int32)


def sas(
    domains: list[int],
    initial: list[int],
    goal: list[tuple[int, int]],
    operators: list[str],
    *,
    metric: int = 1,
) -> str:
    """A SAS file; operators are given by the lines between their markers, without the name."""
    lines = ["begin_version", "3", "end_version", "begin_metric", str(metric), "end_metric"]
    lines.append(str(len(domains)))
    for v, size in enumerate(domains):
        lines += ["begin_variable", f"var{v}", "-1", str(size)]
        lines += [f"Atom v{v}({value})" for value in range(size)] + ["end_variable"]
    lines += ["0", "begin_state", *map(str, initial), "end_state"]
    lines += ["begin_goal", str(len(goal)), *(f"{v} {x}" for v, x in goal), "end_goal"]
    lines.append(str(len(operators)))
    for i, body in enumerate(operators):
        lines += ["begin_operator", f"op{i}", *body.strip().split("\n"), "end_operator"]
    return "\n".join([*(line.strip() for line in lines), "0", ""])


# A switch that toggles, a counter that moves only while it is on: conditional effects.
CONDITIONAL = sas(
    [2, 4, 3],
    [0, 0, 0],
    [(1, 3)],
    [
        "0\n1\n0 0 -1 1\n2",
        "0\n3\n2 0 1 1 0 1 -1 1\n2 0 1 1 1 1 -1 2\n2 0 1 1 2 1 -1 3\n1",
        "1\n0 1\n2\n1 1 2 0 -1 0\n0 2 -1 1\n0",
        "0\n2\n1 2 1 2 -1 2\n1 2 2 2 -1 0\n3",
    ],
)
