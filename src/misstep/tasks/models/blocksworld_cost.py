"""Blocksworld with costs: build one tower without ever crowding the table.

Moves may fail (see failures.py). Unsafe is a table with more blocks than the limit. The goal is the
tower of all blocks in order, block 0 at the bottom.

`on_i` says what block i lies on: a block, the table or the hand. The rest follows from it and is
kept because it makes guards short: whether a block is clear, whether the hand is empty, how many blocks
lie on the table. The height of a block above the table serves the description of the initial states
only: without it, blocks lying on each other in a circle would have to be excluded one circle at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from misstep.errors import UsageError
from misstep.tasks.domains.blocksworld import random_towers
from misstep.tasks.domains.dice import Dice
from misstep.tasks.models import failures
from misstep.tasks.models.expressions import (
    Expression,
    add,
    all_of,
    any_of,
    eq,
    ge,
    ite,
    le,
    ne,
    sub,
    total,
)
from misstep.tasks.models.model import BuiltinModel, Edge, SafetyModel, Start, Variable
from misstep.tasks.parameters import Parameter


def build(*, blocks: int, limit: int, max_cost: int, terminal: bool) -> SafetyModel:
    failures.check(max_cost, terminal)
    if limit >= blocks:
        raise UsageError(
            f"a limit of {limit} with {blocks} blocks: no state is unsafe",
            expected=f"a limit from 1 to {blocks - 1}",
        )
    table, hand = blocks, blocks + 1
    every = range(blocks)

    def moves() -> Iterator[tuple[str, list[Expression], dict[str, Expression], int]]:
        """Label, guard, effect and the block that is moved."""
        down = {"hand_empty": 1}
        for i in every:
            held = eq(f"on_{i}", hand)
            placed = {f"on_{i}": table, f"clear_{i}": 1, f"height_{i}": 0}
            yield "table", [held], {**placed, **down, "table": add("table", 1)}, i
        for i in every:
            free = [eq("hand_empty", 1), eq(f"clear_{i}", 1)]
            up = {f"on_{i}": hand, f"clear_{i}": 0, f"height_{i}": 0, "hand_empty": 0}
            yield f"b{i}", [*free, eq(f"on_{i}", table)], {**up, "table": sub("table", 1)}, i
            for j in every:
                if j == i:
                    continue
                yield f"b{i}", [*free, eq(f"on_{i}", j)], {**up, f"clear_{j}": 1}, i
                stacked = {
                    f"on_{j}": i,
                    f"clear_{j}": 1,
                    f"clear_{i}": 0,
                    f"height_{j}": add(f"height_{i}", 1),
                }
                yield f"b{i}", [eq(f"on_{j}", hand), eq(f"clear_{i}", 1)], {**stacked, **down}, j

    edges: list[Edge] = []
    for label, guard, moved, block in moves():
        edges += failures.attempts(label, guard, moved, f"cost_{block}", max_cost, terminal)
    return SafetyModel(
        labels=("table", *(f"b{i}" for i in every)),
        variables=[
            *(Variable(f"on_{i}", 0, hand) for i in every),
            *(Variable(f"clear_{i}", 0, 1) for i in every),
            *(Variable(f"height_{i}", 0, blocks - 1, input=False) for i in every),
            Variable("hand_empty", 0, 1),
            Variable("table", 0, blocks),
            *(Variable(f"cost_{i}", 0, max_cost) for i in every),
        ],
        edges=edges,
        start=_legal(blocks, limit),
        unsafe=ge("table", limit + 1),
        goal=all_of(eq("on_0", table), *(eq(f"on_{i}", i - 1) for i in range(1, blocks))),
        draw=lambda dice: _draw(blocks, limit, dice),
    )


def _legal(blocks: int, limit: int) -> Expression:
    every, table = range(blocks), blocks
    on = [f"on_{i}" for i in every]
    return all_of(
        *(all_of(le(on[i], table), ne(on[i], i)) for i in every),
        *(any_of(ne(on[i], on[j]), eq(on[i], table)) for i in every for j in range(i)),
        *(
            eq(f"clear_{j}", ite(any_of(*(eq(on[i], j) for i in every if i != j)), 0, 1))
            for j in every
        ),
        *(any_of(ne(on[i], table), eq(f"height_{i}", 0)) for i in every),
        *(
            any_of(ne(on[i], j), eq(f"height_{i}", add(f"height_{j}", 1)))
            for i in every
            for j in every
            if i != j
        ),
        eq("hand_empty", 1),
        eq("table", total(*(ite(eq(o, table), 1, 0) for o in on))),
        le("table", limit),
        *(eq(f"cost_{i}", 0) for i in every),
    )


def _draw(blocks: int, limit: int, dice: Dice) -> Start:
    towers = random_towers(dice, [str(i) for i in range(blocks)], most=limit)
    start: dict[str, int] = {f"on_{tower[0]}": blocks for tower in towers}
    start |= {f"on_{upper}": int(lower) for t in towers for lower, upper in pairwise(t)}
    start |= {f"clear_{i}": 0 for i in range(blocks)} | {f"clear_{t[-1]}": 1 for t in towers}
    start |= {f"height_{block}": level for t in towers for level, block in enumerate(t)}
    start |= {"hand_empty": 1, "table": len(towers)}
    return start | {f"cost_{i}": 0 for i in range(blocks)}


MODEL = BuiltinModel(
    name="blocksworld-cost",
    summary="build a tower by moves that may fail, with little room on the table",
    parameters=(
        Parameter("blocks", 4, 2, 30, "number of blocks"),
        Parameter("limit", 3, 1, 29, "most blocks that may lie on the table"),
        *failures.PARAMETERS,
    ),
    build=build,
)
