"""Start states: listed, enumerated, counted, and drawn uniformly."""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from misstep._core import CounterRandom
from misstep.checking.jani.expressions import evaluate
from misstep.errors import BudgetLimitError, InputFormatError, TimeLimitError
from misstep.tasks.jani.task import JaniTask
from support.jani import automaton, bounded, model, op, pa, task, variable

OR = "\u2228"


def condition(exp: Any, **more: Any) -> Any:
    return {"op": "state-condition", "exp": exp, **more}


def built(variables: list[Any], start: Any, **more: Any) -> JaniTask:
    return task(model(variables, [], prop=pa(start=start), **more))


def draw(built: JaniTask, count: int, seed: int = 1) -> Counter[Any]:
    random = CounterRandom(seed)
    return Counter(built.sample_initial(random) for _ in range(count))


def assert_uniform(found: Counter[Any], size: int) -> None:
    """Chi-squared, with a bound far out in the tail; seeds are fixed."""
    assert len(found) == size
    expected = sum(found.values()) / size
    statistic = sum((count - expected) ** 2 / expected for count in found.values())
    freedom = size - 1
    assert statistic < freedom + 5 * (2 * freedom) ** 0.5 + 12


def test_a_list() -> None:
    values = [
        {"variables": [{"var": "x", "value": 2}]},
        {"variables": [{"var": "y", "value": op("+", "C", 1)}, {"var": "x", "value": 1}]},
        {"variables": [{"var": "x", "value": 2}]},
    ]
    task = built(
        [variable("x", bounded(0, 9)), variable("y", "real", 7)],
        {"op": "states-values", "values": values},
        constants=[{"name": "C", "type": "int", "value": 4}],
    )
    assert task.initial_states() == [(2, 7.0), (1, 5.0)]
    assert task.engine.initial_method == "listed"
    found = draw(task, 300)
    assert found[(2, 7.0)] > 150  # it stands there twice


def test_the_model_s_own_initial_states() -> None:
    parts = automaton(
        "m",
        [],
        ("l", "k", "h"),
        variables=[variable("z", bounded(0, 3))],
        **{"restrict-initial": {"exp": op("≥", "z", 2)}},
    )
    parts["initial-locations"] = ["l", "h"]
    document = model([variable("x", bounded(0, 9), 4), variable("b", "bool")], [parts])
    task_ = task({**document, "restrict-initial": {"exp": op("=", "x", 4)}})
    expected = set(product((0, 2), (4,), (False, True), (2, 3)))
    assert set(task_.initial_states()) == expected
    assert_uniform(draw(task_, 2000), 8)


def test_start_replaces_initial_values() -> None:
    task = built(
        [variable("x", bounded(0, 3), 0), variable("y", bounded(0, 1), 0), variable("n", "int", 8)],
        condition(op("≥", "x", 2)),
    )
    # Free variables take all their values; one without bounds keeps its initial value.
    assert set(task.initial_states()) == set(product((2, 3), (0, 1), (8,)))


def test_locations_of_a_start_condition() -> None:
    parts = automaton("m", [], ("l", "k"))

    def start(**more: Any) -> list[Any]:
        return task(
            model([variable("x", bounded(0, 1))], [parts], prop=pa(start=condition(True, **more)))
        ).initial_states()

    assert {location for location, _ in start()} == {0}
    named = start(locations=[{"automaton": "m", "index": 0, "location": "k"}])
    assert {location for location, _ in named} == {1}


LOADS = [variable(f"load{i}", bounded(0, 15)) for i in range(10)]
SUM = op("=", op("+", *(f"load{i}" for i in range(10))), 15)


def test_sums_are_counted() -> None:
    task = built(LOADS, condition(op("∧", SUM, op("=", "load9", 0))))
    assert task.engine.initial_method == "counted"
    assert task.engine.initial_count == 490_314  # 23 choose 8
    assert len(task.initial_states()) == 490_314
    larger = built(
        [*LOADS, *[variable(f"more{i}", bounded(0, 9)) for i in range(6)]], condition(SUM)
    )
    assert larger.engine.initial_method == "counted"
    assert larger.engine.initial_count == 1_307_504 * 10**6
    random = CounterRandom(3)
    for _ in range(100):
        state = larger.sample_initial(random)
        assert sum(state[:10]) == 15
    with pytest.raises(BudgetLimitError, match="start states"):
        larger.initial_states(max_steps=1000)


def test_counting_is_uniform() -> None:
    """Weights, gaps in domains, and a Boolean-free rest: drawn states against the list of them all."""
    free = variable("free", bounded(0, 2**21))
    weighted = op("=", op("-", op("+", op("*", 2, "x"), op("*", 3, "y")), "z"), 7)
    extra = op("∧", op("≠", "x", 2), op("≤", "y", 4))
    variables = [variable(name, bounded(0, 6)) for name in "xyz"]
    task = built([*variables, free], condition(op("∧", extra, weighted)))
    assert task.engine.initial_method == "counted"
    expected = {
        (x, y, z)
        for x, y, z in product(range(7), repeat=3)
        if 2 * x + 3 * y - z == 7 and x != 2 and y <= 4
    }
    assert task.engine.initial_count == len(expected) * (2**21 + 1)
    random = CounterRandom(5)
    found = Counter(task.sample_initial(random)[:3] for _ in range(3000))
    assert found.keys() == expected
    assert_uniform(found, len(expected))


def test_rejection_is_uniform_too() -> None:
    free = variable("free", bounded(0, 2**21))
    rest = op("∧", op("=", op("+", "x", "y", "z"), 8), op("≠", op("*", "x", "y"), "z"))
    task = built([*(variable(name, bounded(0, 6)) for name in "xyz"), free], condition(rest))
    assert task.engine.initial_method == "rejection"
    assert task.engine.initial_count is None
    expected = {s for s in product(range(7), repeat=3) if sum(s) == 8 and s[0] * s[1] != s[2]}
    random = CounterRandom(9)
    found = Counter(task.sample_initial(random)[:3] for _ in range(4000))
    assert found.keys() == expected
    assert_uniform(found, len(expected))


def test_rejection_gives_up() -> None:
    wide = [variable(name, bounded(0, 10**6)) for name in "xyz"]
    task = built(wide, condition(op("=", op("*", "x", "y"), op("+", op("*", "z", "z"), 1000003))))
    with pytest.raises(InputFormatError, match=r"in 50 tries.*list the start states"):
        task.engine.sample_initial(CounterRandom(1), tries=50)


def test_reals_are_drawn_in_their_box() -> None:
    variables = [
        variable("x", bounded(-9, 9, "real")),
        variable("y", bounded(0, 1, "real")),
        variable("t", bounded(0, 5)),
    ]
    box = op(
        "∧",
        op("≤", op("abs", "x"), 3),
        op("≤", 1, "x"),
        op("<", "x", 2),
        op("=", "t", 0),
        op("=", "y", 0.5),
    )
    task = built(variables, condition(box))
    states = list(draw(task, 500))
    assert all(1 <= x < 2 and y == 0.5 and t == 0 for x, y, t in states)
    assert {int(10 * x) for x, _, _ in states} == set(range(10, 20))
    with pytest.raises(InputFormatError, match="a real variable is free"):
        task.initial_states()


def test_nothing_to_start_from() -> None:
    task = built([variable("x", bounded(0, 9))], condition(op(">", "x", 9)))
    assert task.initial_states() == []
    assert task.engine.initial_count == 0
    with pytest.raises(InputFormatError, match="no state satisfies the start condition"):
        task.sample_initial(CounterRandom(1))


def test_a_variable_that_nothing_bounds() -> None:
    with pytest.raises(InputFormatError, match="n has no bounds"):
        built([variable("n", "int")], condition(True))
    with pytest.raises(InputFormatError, match="x has no bounds"):
        task(model([variable("x", "real")], []))
    bounded_by_start = built(
        [variable("n", "int")], condition(op("∧", op("≤", "n", 12), op("<", 9, "n")))
    )
    assert set(bounded_by_start.initial_states()) == {(10,), (11,), (12,)}


def test_a_condition_may_protect_what_stands_behind_it() -> None:
    variables = [variable("x", bounded(0, 3)), variable("y", bounded(0, 3))]
    task = built(variables, condition(op("∧", op("≠", "y", 0), op(">", op("/", "x", "y"), 1))))
    assert set(task.initial_states()) == {
        (x, y) for x in range(4) for y in range(1, 4) if x / y > 1
    }


def test_what_stands_behind_a_condition_that_never_holds_is_not_evaluated() -> None:
    variables = [variable("x", bounded(0, 3)), variable("y", bounded(0, 3))]
    never, without_result = op("<", op("+", "x", "y"), 0), op(">", op("/", 1, 0), 0)
    assert built(variables, condition(op("∧", never, without_result))).initial_states() == []
    with pytest.raises(InputFormatError, match="division by zero"):
        built(variables, condition(op("∧", op("<", "x", "y"), without_result))).initial_states()


values = st.sampled_from(["x", "y", "z", 0, 1, 2, 3])
sums = st.one_of(values, st.builds(op, st.sampled_from(["+", "-", "*", "max"]), values, values))
atoms = st.builds(op, st.sampled_from(["=", "≠", "<", "≤", ">", "≥"]), sums, sums)
either = st.one_of(atoms, st.builds(op, st.just(OR), atoms, atoms))


@settings(max_examples=60, deadline=None)
@given(st.lists(either, min_size=1, max_size=4))
def test_enumeration_finds_exactly_the_solutions(parts: list[Any]) -> None:
    variables = [
        variable("x", bounded(-1, 3)),
        variable("y", bounded(0, 4)),
        variable("z", bounded(0, 2)),
    ]
    whole = parts[0] if len(parts) == 1 else op("∧", *parts)
    found = built(variables, condition(whole)).initial_states()
    # The same condition as that of unsafe states: no search there, only evaluation.
    other = task(model(variables, [], prop=pa(unsafe=whole, start=condition(True))))
    expected = {s for s in product(range(-1, 4), range(5), range(3)) if other.is_unsafe(s)}
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_limits_hold_while_start_states_are_listed() -> None:
    task = built(LOADS, condition(op("≥", op("+", *(f"load{i}" for i in range(10))), 20)))
    with pytest.raises(TimeLimitError):
        task.space(time_limit=0.05)


# -- solutions that hang together -----------------------------------------------------------------


def towers(blocks: int, extra: list[Any] | None = None, more: list[Any] | None = None) -> Any:
    """Each block lies on the table or on another one; heights exclude circles."""
    names, table = range(blocks), blocks
    parts = [op("≠", f"on{i}", i) for i in names]
    parts += [
        op(OR, op("≠", f"on{i}", f"on{j}"), op("=", f"on{i}", table))
        for i in names
        for j in range(i)
    ]
    parts += [op(OR, op("≠", f"on{i}", table), op("=", f"height{i}", 0)) for i in names]
    parts += [
        op(OR, op("≠", f"on{i}", j), op("=", f"height{i}", op("+", f"height{j}", 1)))
        for i in names
        for j in names
        if i != j
    ]
    variables = [variable(f"height{i}", bounded(0, blocks - 1)) for i in names]
    variables += [variable(f"on{i}", bounded(0, blocks)) for i in names]
    return built([*variables, *(extra or [])], condition(op("∧", *parts, *(more or []))))


def test_consequences_are_drawn() -> None:
    """The numbers of ways to build towers of n blocks are known: 1, 3, 13, 73, 501, 4051, 37633."""
    for blocks, count in ((3, 13), (5, 501), (7, 37_633)):
        task = towers(blocks)
        assert task.engine.initial_method == "enumerated"
        assert task.engine.initial_count == count
    few = towers(3)
    found = Counter(few.sample_initial(CounterRandom(i)) for i in range(3000))
    assert_uniform(found, 13)


def test_states_that_are_too_many_to_list_are_searched_for() -> None:
    task = towers(6, [variable("free", bounded(0, 2**40))])
    assert task.engine.initial_method == "searched"
    assert task.engine.initial_count is None
    random = CounterRandom(2)
    found = {task.sample_initial(random)[:12] for _ in range(300)}
    assert len(found) > 200
    for state in found:
        heights, on = state[:6], state[6:]
        assert all(
            height == (0 if on[i] == 6 else heights[on[i]] + 1) for i, height in enumerate(heights)
        )


def test_slots_that_are_free_do_not_end_the_search_by_tables() -> None:
    free = [variable(f"free{i}", bounded(0, 63)) for i in range(4)]
    task = towers(6, free)
    assert task.engine.initial_method == "searched"
    random = CounterRandom(2)
    found = [task.sample_initial(random) for _ in range(300)]
    assert len({state[:12] for state in found}) > 200
    assert {state[:12] for state in found} <= all_towers(6)
    assert all(len({state[i] for state in found}) > 50 for i in range(12, 16))


def test_a_list_that_was_given_up_changes_no_start() -> None:
    """Listing tries values of slots that follow from others; states that are drawn later must not keep them."""
    names = [f"x{i}" for i in range(11)]
    variables = [variable("x0", bounded(0, 0)), *(variable(x, bounded(0, 10)) for x in names[1:])]
    variables += [variable("two", bounded(2, 2)), variable("three", bounded(0, 10))]
    variables += [variable(f"free{i}", bounded(0, 63)) for i in range(4)]
    different = [op("≠", x, y) for i, x in enumerate(names) for y in names[:i]]
    task = built(variables, condition(op("∧", *different, op("=", op("+", "three", "two"), 5))))
    assert task.engine.initial_method == "searched"
    random = CounterRandom(2)
    for steps in range(1, 100):
        assert task.engine.all_initial(steps) is None
        state = task.sample_initial(random)
        assert sorted(state[:11]) == list(range(11))
        assert state[11:13] == (2, 3)


def all_towers(blocks: int) -> set[tuple[int, ...]]:
    """Heights, then what each block lies on, block after block onto every block and the table that is free."""
    found = set()
    for on in product(range(blocks + 1), repeat=blocks):
        under = [place for place in on if place < blocks]
        if len(under) > len(set(under)):
            continue
        heights = []
        for i in range(blocks):
            height, at = 0, i
            while on[at] < blocks and height <= blocks:
                height, at = height + 1, on[at]
            heights.append(height)
        if max(heights) < blocks:
            found.add((*heights, *on))
    return found


def test_tables_find_what_trying_all_values_finds() -> None:
    """Towers under random conditions more, which the towers that were found by trying are held to."""
    everything = all_towers(5)
    names = [*(f"height{i}" for i in range(5)), *(f"on{i}" for i in range(5))]
    sizes = set()
    for seed in range(25):
        random = Random(seed)
        chosen = dict(zip("xyz", random.sample(names, 3), strict=True))
        more = [random_condition(random, random.randint(1, 4), True) for _ in range(2)]
        extra = [*(variable(name, bounded(0, 5)) for name in "xyz"), variable("b", "bool")]
        same = [op("=", name, own) for name, own in chosen.items()]
        task = towers(5, extra, [*same, *more])
        expected = set()
        for state in everything:
            own = dict(zip(names, state, strict=True))
            values = {name: own[of] for name, of in chosen.items()}
            for b in (False, True):
                if all(evaluate(part, {**values, "b": b}) for part in more):
                    expected.add((*state, *values.values(), b))
        assert set(task.initial_states()) == expected
        assert len(task.initial_states()) == len(expected)
        sizes.add(len(expected))
    assert len(sizes) > 10


def test_a_long_sum_beside_what_hangs_together() -> None:
    """Tables alone would try all values of the sum but the last; there are 501 towers and 36 ways to sum up to 2."""
    loads = [f"load{i}" for i in range(8)]
    task = towers(
        5, [variable(name, bounded(0, 9)) for name in loads], [op("=", op("+", *loads), 2)]
    )
    assert task.engine.initial_method == "enumerated"
    assert task.engine.initial_count == 501 * 36


def test_engines_of_a_task_share_what_was_listed() -> None:
    task = towers(5)
    first = [task.engine.values(id) for id in task.engine.all_initial(10**6) or ()]
    other = task.new_engine()
    assert other.initial_method == "enumerated"
    assert [other.values(id) for id in other.all_initial(10**6) or ()] == first
    assert len(first) == 501


@pytest.mark.soundness
def test_starts_of_eight_blocks_are_uniform() -> None:
    task = towers(8)
    assert task.engine.initial_method == "enumerated"
    assert task.engine.initial_count == 394_353
    # By what a start looks like: the number of towers, whose sizes are known (Lah numbers).
    lah = [1, 56, 1176, 11_760, 58_800, 141_120, 141_120, 40_320][::-1]
    random = CounterRandom(8)
    drawn = Counter(task.sample_initial(random)[8:].count(8) for _ in range(50_000))
    statistic = sum(
        (drawn[towers] - 50_000 * size / 394_353) ** 2 / (50_000 * size / 394_353)
        for towers, size in enumerate(lah, 1)
    )
    assert statistic < 40


def random_condition(random: Random, depth: int, boolean: bool) -> Any:
    if depth == 0:
        return (
            random.choice([True, False, "b"]) if boolean else random.choice(["x", "y", "z", 1, -2])
        )
    inner = depth - random.randint(1, depth)
    if not boolean:
        symbol = random.choice(["+", "-", "*", "min", "max", "ite", "%"])
        if symbol == "ite":
            return op("ite", random_condition(random, inner, True), *numbers(random, inner))
        if symbol == "%":
            return op("%", random_condition(random, inner, False), 3)
        return op(symbol, *numbers(random, inner))
    symbol = random.choice(["=", "≠", "<", "≤", "≥", "∧", OR, "¬", "⇒"])
    if symbol == "¬":
        return op("¬", random_condition(random, inner, True))
    if symbol in ("∧", OR, "⇒"):
        return op(
            symbol, random_condition(random, inner, True), random_condition(random, inner, True)
        )
    return op(symbol, *numbers(random, inner))


def numbers(random: Random, depth: int) -> list[Any]:
    return [random_condition(random, depth, False) for _ in range(2)]


@pytest.mark.parametrize("seed", range(150))
def test_branching_finds_what_trying_all_values_finds(seed: int) -> None:
    """Random conditions; a wide slot that one of them fixes keeps the plain enumeration from ending."""
    random = Random(seed)
    parts = [
        random_condition(random, random.randint(1, 4), True) for _ in range(random.randint(1, 5))
    ]
    wide = op("=", "wide", op("+", op("*", 1000, "x"), op("*", 10_000_000, "y")))
    variables = [
        *(variable(name, bounded(-2, 3)) for name in "xyz"),
        variable("b", "bool"),
        variable("wide", bounded(-(10**8), 10**8)),
    ]
    task = built(variables, condition(op("∧", wide, *parts)))
    expected = {
        (x, y, z, b, 1000 * x + 10_000_000 * y)
        for x, y, z in product(range(-2, 4), repeat=3)
        for b in (False, True)
        if all(evaluate(part, {"x": x, "y": y, "z": z, "b": b}) for part in parts)
    }
    assert set(task.initial_states()) == expected
    if expected:
        assert task.engine.initial_method == "enumerated"
        assert task.sample_initial(CounterRandom(seed)) in expected
    else:
        with pytest.raises(InputFormatError, match="no state satisfies the start condition"):
            task.sample_initial(CounterRandom(seed))


@pytest.mark.parametrize(
    "start",
    [
        op("=", op("+", "x", 1.0), 1.0),  # holds for all small numbers
        op("∧", op("≤", op("*", "x", 3.0), 0.3), op("≥", "x", 0.09999999999999999)),
        op("=", op("/", "x", 4.0), 0.1),
        op("=", op("-", op("*", 2.0, "x"), "x"), 0.5),
    ],
)
def test_computed_bounds_of_reals_list_no_starts(start: Any) -> None:
    """Other numbers may satisfy the condition beside the one that solving it gives, so that they are not all known."""
    found = built([variable("x", bounded(-9, 9, "real"))], condition(start))
    assert len(set(draw(found, 10))) == 1
    with pytest.raises(InputFormatError, match="a real variable is free"):
        found.initial_states()


def test_reals_with_one_value() -> None:
    between = op("∧", op("≤", "y", 0.25), op("≥", "y", op("/", 1, 4)))
    found = built(
        [variable("x", bounded(-9, 9, "real")), variable("y", bounded(0, 1, "real"))],
        condition(op("∧", op("=", "x", op("*", 3, 0.1)), between)),
    )
    assert found.initial_states() == [(3 * 0.1, 0.25)]


@pytest.mark.parametrize(
    ("computed", "exact"),
    [
        (op("≤", op("*", 2.0, "x"), 3.0), op("=", "x", 1.0)),
        (op("=", op("+", "x", 1.0), 1.0), op("=", "x", 1e-20)),
        (op("≤", op("+", "x", 1.0), 1.0), op("=", "x", 1e-20)),
    ],
)
@pytest.mark.parametrize("exact_first", [True, False])
def test_computed_bounds_leave_exact_ones_alone(
    computed: Any, exact: Any, exact_first: bool
) -> None:
    """The start is listed in whatever order the conditions are."""
    conjuncts = (exact, computed) if exact_first else (computed, exact)
    found = built([variable("x", bounded(-9, 9, "real"))], condition(op("∧", *conjuncts)))
    assert found.initial_states() == [(exact["right"],)]
    assert set(draw(found, 2)) == {(exact["right"],)}
