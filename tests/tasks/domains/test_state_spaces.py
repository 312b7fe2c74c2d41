"""The whole state space of a toy instance of each domain, by the simulator of plado.

This is a second opinion on the PDDL, independent of the translator, and checks what the
domains say about themselves: their number of states, dead ends, and whether actions can be undone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plado.parser import parse_and_normalize
from plado.semantics.applicable_actions_generator import ApplicableActionsGenerator
from plado.semantics.goal_checker import GoalChecker
from plado.semantics.successor_generator import SuccessorGenerator
from plado.semantics.task import Task

from misstep.tasks.domains import DOMAINS, generate, write_instance

STATES = {
    "blocksworld": 13 + 3 * 3,  # arrangements, and a block in the hand above those of the others
    "childsnack": 2 * (1 + 4 * 2 + 2),  # tray; no sandwich, 4 to make and carry, 2 to eat
    "delivery": 2 * 3,  # cell of the truck; cell of the package, or carried
    "elevators": 2 * 3,
    "ferry": 2**3 + 2 * 2**2,
    "floortile": 2 * (4 + 4 * 3 * 2 + 4 * 2 * 4),  # colour; none, one or two tiles painted
    "gripper": 28,
    # Both on the table, one on the other (the lower one is solid), one held, both held.
    "matching-blocksworld": 4 + 2 * 2 + 4 * 4 + 2 * 4,
    "miconic": 2 * 4**2,
    "reward": 4 * 2**2,
    "rovers": 2 * (1 + 2 * 2) * 3**3 * 2,  # waypoint; sample, store and report; images; camera
    "satellite": 2 * 4 * 4,  # direction; off or on, calibrated or not; images
    "scanalyzer": 2 * 2**2,
    "sokoban": 9 * 8,
    "spanner": 1 + 1 + 4 + 4 + 4,  # along the path, both spanners at its end; nut tightened
    "storage": 2 + 2 + 3,  # the crate in the container, in the depot, or lifted
    "transport": 3 * 4**2,
    "visitall": 1 + 2 * 2 + 3 * 3 + 4,  # by the number of cells seen
    # The saw; a part of the smooth board has 7 conditions, one of the rough board 9; the large part fits on the latter.
    "woodworking": 3 * (1 + 7 + 9 + 9 + 7 * 9),
}

State = tuple[frozenset[Any], ...]


class Space:
    """Reachable states, numbered from the initial one, with their successors."""

    def __init__(self, domain: Path, problem: Path) -> None:
        task = Task(*parse_and_normalize(str(domain), str(problem)))
        applicable = ApplicableActionsGenerator(task)
        successors = SuccessorGenerator(task)
        is_goal = GoalChecker(task)
        numbers: dict[State, int] = {}
        states = [task.initial_state]
        numbers[self._key(states[0])] = 0
        self.edges: list[set[int]] = []
        self.goals: set[int] = set()
        for state in states:  # grows while it is read
            if is_goal(state):
                self.goals.add(len(self.edges))
            targets = set()
            for action in applicable(state):
                ((target, _),) = successors(state, action)
                key = self._key(target)
                if key not in numbers:
                    numbers[key] = len(states)
                    states.append(target)
                targets.add(numbers[key])
            self.edges.append(targets)

    @staticmethod
    def _key(state: Any) -> State:
        # The cost so far is not part of the state, so fluents are left out.
        return tuple(frozenset(atoms) for atoms in state.atoms)

    def solvable(self) -> set[int]:
        found = set(self.goals)
        while True:
            more = {s for s, targets in enumerate(self.edges) if targets & found} | found
            if more == found:
                return found
            found = more

    def is_invertible(self) -> bool:
        return all(s in self.edges[t] for s, targets in enumerate(self.edges) for t in targets)


@pytest.mark.parametrize("name", DOMAINS)
def test_toy_state_space(name: str, toys: dict[str, dict[str, int]], tmp_path: Path) -> None:
    space = Space(*write_instance(generate(name, **toys[name]), tmp_path))
    solvable = space.solvable()
    assert len(space.edges) == STATES[name]
    assert 0 in solvable
    assert 0 not in space.goals
    assert (len(solvable) < len(space.edges)) == DOMAINS[name].dead_ends
    assert space.is_invertible() == DOMAINS[name].invertible
