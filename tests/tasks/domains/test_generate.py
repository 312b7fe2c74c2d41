"""Instances are reproducible, and wrong requests get a helpful error."""

from __future__ import annotations

import hashlib
import time
from typing import Any

import pytest

from misstep.errors import UsageError
from misstep.tasks.domains import DOMAINS, generate

# SHA-256 of the problem with default sizes and seed 0, shortened. A change here breaks the
# reproducibility of what users have published, and needs a line in the changelog.
GOLDEN = {
    "blocksworld": "bb14284db7d8a983",
    "childsnack": "69ed60f71a0f4963",
    "delivery": "2be26323640fe7f7",
    "elevators": "b80022e174f7a646",
    "ferry": "3468603e2ea14c64",
    "floortile": "241f4830ae2f0ff6",
    "gripper": "dce9263ddb3b6ae5",
    "matching-blocksworld": "8e906288cda65c22",
    "miconic": "049b775a3ca2bcbc",
    "reward": "85e345186de8a71c",
    "rovers": "937027c34d391624",
    "satellite": "681429efb4049adc",
    "scanalyzer": "327a6595e19ccfbb",
    "sokoban": "6ad4271743dfd654",
    "spanner": "f020cc97d4dfdc78",
    "storage": "fae61ff05e6b9022",
    "transport": "18853875d712e2a9",
    "visitall": "a53d9afb169ffcb7",
    "woodworking": "2db134e8b584a1bb",
}


@pytest.mark.parametrize("name", DOMAINS)
def test_same_request_gives_the_same_bytes(name: str) -> None:
    text = generate(name).problem_pddl
    assert generate(name, seed=0).problem_pddl == text
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == GOLDEN[name]


@pytest.mark.parametrize("name", DOMAINS)
def test_seeds_give_different_problems(name: str) -> None:
    # Gripper with all balls in one room, the usual instance, leaves nothing to draw.
    sizes = {"scatter": 50} if name == "gripper" else {}
    bodies = {generate(name, seed=s, **sizes).problem_pddl.split("\n", 1)[1] for s in range(20)}
    assert len(bodies) > 5


@pytest.mark.parametrize("name", DOMAINS)
def test_the_name_says_how_to_generate_it_again(name: str) -> None:
    sizes = {parameter.name: parameter.default for parameter in DOMAINS[name].parameters}
    instance = generate(name, seed=7, **sizes)
    described = "-".join(f"{size}{value}" for size, value in sizes.items())
    assert instance.name == f"{name}-{described}-seed7"
    assert instance.problem_pddl.startswith(f"(define (problem {instance.name})\n")


@pytest.mark.parametrize("name", DOMAINS)
def test_largest_sizes_are_generated_fast(name: str) -> None:
    largest = {parameter.name: parameter.maximum for parameter in DOMAINS[name].parameters}
    begin = time.perf_counter()
    generate(name, **largest)
    assert time.perf_counter() - begin < 2


@pytest.mark.parametrize("name", DOMAINS)
def test_defaults_are_in_range_and_described(name: str) -> None:
    for parameter in DOMAINS[name].parameters:
        assert parameter.minimum <= parameter.default <= parameter.maximum
        assert parameter.help
    assert DOMAINS[name].summary


@pytest.mark.parametrize(
    ("domain", "request_", "fragments"),
    [
        ("griper", {}, ["unknown domain 'griper'", "did you mean gripper?"]),
        ("", {}, ["unknown domain ''", "one of blocksworld, childsnack"]),
        ("gripper", {"ball": 3}, ["gripper has no parameter 'ball'", "did you mean balls?"]),
        ("gripper", {"balls": 0}, ["balls of gripper is 0", "from 1 to 2000"]),
        ("gripper", {"balls": 2001}, ["balls of gripper is 2001", "from 1 to 2000"]),
        ("gripper", {"balls": "3"}, ["balls of gripper is '3'", "an integer"]),
        ("gripper", {"balls": 3.0}, ["balls of gripper is 3.0", "an integer"]),
        ("gripper", {"balls": True}, ["balls of gripper is True", "an integer"]),
        ("gripper", {"seed": -1}, ["the seed is -1", "not negative"]),
        ("gripper", {"seed": "x"}, ["the seed is 'x'", "an integer"]),
        ("spanner", {"spanners": 1, "nuts": 2}, ["1 spanners", "set spanners to 2 or more"]),
        ("floortile", {"width": 2, "robots": 3}, ["3 robots", "set robots to 2 or less"]),
        (
            "satellite",
            {"directions": 2, "modes": 2, "observations": 5},
            ["5 different observations", "at most 4"],
        ),
    ],
)
def test_wrong_requests_are_refused(
    domain: str, request_: dict[str, Any], fragments: list[str]
) -> None:
    with pytest.raises(UsageError) as caught:
        generate(domain, **request_)
    for fragment in fragments:
        assert fragment in str(caught.value)
