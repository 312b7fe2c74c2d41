"""Values agree with wlplan, where it is installed, and runs with those of published rankers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from misstep import _core
from misstep.policies.load import load_policy
from misstep.policies.policy import States
from misstep.policies.wl import WlPolicy
from misstep.policies.wl.model_file import WlModel, encode
from misstep.policies.wl.policy import Options
from misstep.tasks.load import load_task
from misstep.tasks.task import Task

Make = Callable[..., WlModel]


def theirs(task: Task, model: WlModel, states: States, folder: Path) -> list[float]:
    """The values of wlplan."""
    import json

    pytest.importorskip("wlplan", reason="wlplan is not installed")
    from _wlplan.planning import Atom, Domain, Predicate, Problem, State
    from wlplan.feature_generator import load_feature_generator

    predicates = {name: Predicate(name, arity) for name, arity in model.predicates}
    path = folder / "rooms.params"
    path.write_text(json.dumps(encode(model)))
    features = load_feature_generator(str(path), quiet=True)

    def atoms(facts: Any) -> list[Any]:
        return [Atom(predicates[a.predicate], list(a.terms)) for a in facts]

    lifted = task.lifted
    features.set_problem(
        Problem(
            domain=Domain(model.domain, list(predicates.values()), [], [], []),
            objects=[named.name for named in lifted.objects],
            positive_goals=atoms(literal.atom for literal in lifted.goal),
            negative_goals=[],
        )
    )
    from misstep.policies.wl.layout import _atom

    variable = [[_atom(name) for name in names] for names in task.fact_names]
    known = {atom for atoms in variable for atom in atoms}
    always = [atom for atom in lifted.init if atom not in known]
    values = []
    for row in states.tolist():
        true = [variable[v][value] for v, value in enumerate(row)]
        facts = {atom for atom in true if atom is not None}
        values.append(float(features.predict(State(atoms([*facts, *always])))))
    return values


@pytest.mark.parametrize("multiset", [False, True])
@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_values_are_those_of_wlplan(
    task: Task, states: States, ranker: Make, iterations: int, multiset: bool, tmp_path: Path
) -> None:
    model = ranker(iterations, multiset=multiset)
    expected = theirs(task, model, states, tmp_path)
    own = WlPolicy(task, model, Options(statics="all")).values(states)
    assert own == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("domain", "greedy", "hill"), [("ferry", 0, 6), ("miconic", 0, 6), ("blocksworld", 2, 2)]
)
def test_published_rankers(shared: Path, domain: str, greedy: int, hill: int) -> None:
    """How many of six tasks they solve. As search heuristics they are good; followed greedily they go in circles."""
    file = shared / "policies" / "wl-rankers" / f"ipc23lt-{domain}.model"
    folder = shared / "benchmarks" / "ipc23-learning" / domain
    if not file.exists() or not folder.is_dir():
        pytest.skip("the published rankers are not there")
    solved = {"greedy": 0, "hill:1000": 0}
    for number in range(1, 7):
        task = load_task(folder / "domain.pddl", folder / "testing" / "easy" / f"p{number:02}.pddl")
        for choose in solved:
            policy = load_policy(f"wl:--choose={choose} {file}", task)
            assert isinstance(policy, WlPolicy)
            graph = _core.PolicyGraph(task)
            ids = graph.add(np.array([task.initial_state.values], np.int32))
            graph.run_native(policy.native, ids, 1000)
            solved[choose] += _core.OUTCOMES[graph.ends(ids, 1000)[0][0]] == "goal"
    assert (solved["greedy"], solved["hill:1000"]) == (greedy, hill)
