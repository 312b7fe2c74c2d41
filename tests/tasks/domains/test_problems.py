"""What the generators promise about their problems, checked on many random sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest

from misstep.tasks.domains import DOMAINS
from misstep.tasks.domains.blocksworld import random_towers
from misstep.tasks.domains.dice import Dice
from misstep.tasks.domains.pddl import Fact, Problem

DrawSizes = Callable[[str, int], dict[str, int]]

SEEDS = range(30)


def problem(name: str, seed: int, **sizes: int) -> Problem:
    return DOMAINS[name].problem(Dice(f"{name} {seed}"), **sizes)


def facts(problem: Problem, predicate: str) -> list[Fact]:
    return [fact[1:] for fact in problem.init if fact[0] == predicate]


def is_connected(nodes: Iterable[str], edges: Iterable[Fact]) -> bool:
    waiting, unseen = [], set(nodes)
    waiting.append(unseen.pop())
    pairs = list(edges)
    while waiting:
        node = waiting.pop()
        reached = {b for a, b in pairs if a == node} & unseen
        unseen -= reached
        waiting.extend(reached)
    return not unseen


@pytest.mark.parametrize("name", DOMAINS)
def test_the_goal_is_not_reached_at_the_start(name: str, draw_sizes: DrawSizes) -> None:
    for seed in SEEDS:
        generated = problem(name, seed, **draw_sizes(name, seed))
        assert generated.goal
        assert not set(generated.goal) <= set(generated.init)


@pytest.mark.parametrize("name", DOMAINS)
def test_smallest_sizes_have_work_to_do(name: str) -> None:
    smallest = {parameter.name: parameter.minimum for parameter in DOMAINS[name].parameters}
    for seed in SEEDS:
        generated = problem(name, seed, **smallest)
        assert not set(generated.goal) <= set(generated.init)


@pytest.mark.parametrize("name", DOMAINS)
def test_nothing_is_listed_twice(name: str, draw_sizes: DrawSizes) -> None:
    for seed in SEEDS:
        generated = problem(name, seed, **draw_sizes(name, seed))
        objects = [item for members in generated.objects.values() for item in members]
        for listed in (objects, generated.init, generated.goal):
            assert len(set(listed)) == len(listed)


def test_blocksworld_towers_are_uniform() -> None:
    dice = Dice("towers")
    counts = Counter(random_towers(dice, ["a", "b", "c"]) for _ in range(13_000))
    assert len(counts) == 13
    assert all(abs(count - 1000) < 150 for count in counts.values())


@pytest.mark.parametrize("name", ["ferry", "gripper"])
def test_every_load_has_one_place_at_the_start_and_in_the_goal(
    name: str, draw_sizes: DrawSizes
) -> None:
    for seed in SEEDS:
        generated = problem(name, seed, **draw_sizes(name, seed))
        loads = list(generated.objects["car" if name == "ferry" else "ball"])
        assert [fact[0] for fact in facts(generated, "at")] == loads
        assert [fact[1] for fact in generated.goal] == loads


def test_transport_roads_connect_everything_both_ways(draw_sizes: DrawSizes) -> None:
    for seed in SEEDS:
        sizes = draw_sizes("transport", seed) | {"locations": 2 + seed}
        generated = problem("transport", seed, **sizes)
        roads = facts(generated, "road")
        assert is_connected(generated.objects["location"], roads)
        assert {(b, a) for a, b in roads} == set(roads)
        assert generated.costs is not None
        assert {term[1:] for term in generated.costs} == set(roads)
        assert min(generated.costs.values()) >= 1


def test_transport_and_miconic_move_everything(draw_sizes: DrawSizes) -> None:
    for seed in SEEDS:
        transport = problem("transport", seed, **draw_sizes("transport", seed))
        assert not set(transport.goal) & set(transport.init)
        miconic = problem("miconic", seed, **draw_sizes("miconic", seed))
        assert not set(facts(miconic, "origin")) & set(facts(miconic, "destination"))


@pytest.mark.parametrize("holes", [0, 20, 70])
@pytest.mark.parametrize("percent", [1, 50, 100])
def test_visitall_region_is_connected_and_of_the_size_asked_for(holes: int, percent: int) -> None:
    for seed in range(10):
        generated = problem("visitall", seed, width=8, height=5, percent=percent, holes=holes)
        cells = generated.objects["cell"]
        assert len(cells) == 40 - 40 * holes // 100
        assert is_connected(cells, facts(generated, "connected"))
        assert len(generated.goal) == max(1, (len(cells) - 1) * percent // 100)


def test_spanner_path_is_one_way_with_all_spanners_on_it(draw_sizes: DrawSizes) -> None:
    for seed in SEEDS:
        sizes = draw_sizes("spanner", seed)
        generated = problem("spanner", seed, **sizes)
        path = list(generated.objects["location"])
        assert facts(generated, "link") == list(pairwise(path))
        places = {fact[0]: fact[1] for fact in facts(generated, "at")}
        spanners = generated.objects["spanner"]
        assert len(spanners) == sizes["spanners"] >= sizes["nuts"] == len(generated.goal)
        assert all(places[spanner] in path[1:-1] for spanner in spanners)


def test_childsnack_has_enough_of_everything(draw_sizes: DrawSizes) -> None:
    for seed in SEEDS:
        generated = problem("childsnack", seed, **draw_sizes("childsnack", seed))
        children = len(generated.objects["child"])
        allergic = len(facts(generated, "allergic"))
        safe = {item for (item,) in facts(generated, "gluten-free")}
        for kind in ("bread", "filling"):
            assert len(generated.objects[kind]) == children
            assert len(safe & set(generated.objects[kind])) == allergic
        assert len(generated.objects["sandwich"]) >= children
        assert allergic + len(facts(generated, "tolerant")) == children


@pytest.mark.parametrize(("gluten", "expected"), [(0, 0), (40, 4), (100, 10)])
def test_childsnack_gluten_is_a_percentage(gluten: int, expected: int) -> None:
    generated = problem("childsnack", 0, children=10, trays=1, tables=1, gluten=gluten)
    assert len(facts(generated, "allergic")) == expected


def test_floortile_has_room_to_work_from(draw_sizes: DrawSizes) -> None:
    for seed in SEEDS:
        sizes = draw_sizes("floortile", seed)
        generated = problem("floortile", seed, **sizes)
        tiles = generated.objects["tile"]
        assert len(tiles) == sizes["width"] * (sizes["height"] + 1)
        assert [fact[1] for fact in generated.goal] == list(tiles[sizes["width"] :])
        taken = {tile for _, tile in facts(generated, "robot-at")}
        assert len(taken) == sizes["robots"] <= sizes["width"]
        assert {tile for (tile,) in facts(generated, "clear")} == set(tiles) - taken


def test_satellite_instruments_can_do_what_is_asked(draw_sizes: DrawSizes) -> None:
    for seed in SEEDS:
        sizes = draw_sizes("satellite", seed)
        generated = problem("satellite", seed, **sizes)
        instruments = set(generated.objects["instrument"])
        supported = facts(generated, "supports")
        assert {mode for _, mode in supported} == set(generated.objects["mode"])
        assert {instrument for instrument, _ in supported} == instruments
        assert {fact[0] for fact in facts(generated, "calibration-target")} == instruments
        aboard = Counter(satellite for _, satellite in facts(generated, "on-board"))
        assert set(aboard) == set(generated.objects["satellite"])
        assert max(aboard.values()) <= sizes["instruments"]
        images = [fact for fact in generated.goal if fact[0] == "have-image"]
        assert len(images) == sizes["observations"]
