# mypy: disable-error-code="untyped-decorator, no-untyped-def, no-untyped-call"
"""The kernel that builds the indices of a batch, one program per state: lists of atoms by relation, rows by object.

Nothing is sorted, and the host is never asked. An atom gets its place in the list of its relation from an atomic
counter. A row gets its place by counting the rows before it, which is faster than sorting for the few rows of a state.

Needs Triton: see `kernels.py`, which has the network itself.
"""

from __future__ import annotations

import triton
import triton.language as tl

# The header of a part of a batch, at the start of its inputs: see `fused.py`.
HEADER = 4


@triton.jit
def _facts(own, fact_base, fact_arity, f, variables, facts):
    """For positions in a state: the facts there, and how many arguments their atoms have."""
    value = tl.load(own + 1 + f, mask=f < variables, other=0)
    fact = tl.load(fact_base + f, mask=f < facts, other=0) + value
    return fact, tl.load(fact_arity + fact, mask=f < facts, other=0)


@triton.jit
def _degrees(
    own,
    fact_base,
    fact_arity,
    fact_object,
    variables,
    facts,
    nodes,
    o,
    ARITY: tl.constexpr,
    NODES: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """For each object, the number of rows at earlier objects and at it; and the last object with any row."""
    smaller = tl.zeros((NODES,), tl.int32)
    equal = tl.zeros((NODES,), tl.int32)
    last = -1
    for start in range(0, facts, CHUNK):
        f = start + tl.arange(0, CHUNK)
        fact, arity = _facts(own, fact_base, fact_arity, f, variables, facts)
        for k in tl.static_range(ARITY):
            object = tl.load(fact_object + fact * ARITY + k, mask=k < arity, other=nodes)
            smaller += tl.sum((object[None, :] < o[:, None]).to(tl.int32), axis=1)
            equal += tl.sum((object[None, :] == o[:, None]).to(tl.int32), axis=1)
            last = tl.maximum(last, tl.max(tl.where(object < nodes, object, -1), axis=0))
    return smaller, equal, last


@triton.jit
def _rows_before(
    own,
    fact_base,
    fact_arity,
    fact_object,
    variables,
    facts,
    nodes,
    objects,
    here,
    ARITY: tl.constexpr,
    FACTS: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """The number of rows of a state that come before the rows with these objects, facts and argument positions."""
    row = tl.zeros((FACTS,), tl.int32)
    for start in range(0, facts, CHUNK):
        f = start + tl.arange(0, CHUNK)
        fact, arity = _facts(own, fact_base, fact_arity, f, variables, facts)
        for k in tl.static_range(ARITY):
            object = tl.load(fact_object + fact * ARITY + k, mask=k < arity, other=nodes)
            earlier = f * ARITY + k
            comes_first = (object[None, :] < objects[:, None]) | (
                (object[None, :] == objects[:, None]) & (earlier[None, :] < here[:, None])
            )
            row += tl.sum(comes_first.to(tl.int32), axis=1)
    return row


@triton.jit
def build(
    inputs,
    fact_base,
    fact_relation,
    fact_arity,
    fact_object,
    initial,
    counters,
    list_begin,
    atom_node,
    atom_row,
    atom_group,
    node_row,
    node_degree,
    node_group,
    state_node,
    state_size,
    embedding,
    variables,
    facts,
    nodes,
    rows,
    ARITY: tl.constexpr,
    WIDTH: tl.constexpr,
    FACTS: tl.constexpr,
    NODES: tl.constexpr,
    RELATIONS: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """One state: its atoms join the lists of their relations, its nodes get their places and first embeddings."""
    local = tl.program_id(0)
    if local >= tl.load(inputs):
        return
    state = tl.load(inputs + 1) + local
    first_node = tl.load(inputs + 2) + local * nodes
    first_row = tl.load(inputs + 3) + local * rows
    own = inputs + 4 + local * (variables + 1)
    group = tl.load(own)

    f = tl.arange(0, FACTS)
    fact, arity = _facts(own, fact_base, fact_arity, f, variables, facts)
    relation = tl.load(fact_relation + fact, mask=f < facts, other=RELATIONS)

    # The lists: a place for all atoms of a relation at once, then one for each.
    r = tl.arange(0, RELATIONS)
    is_of = (relation[:, None] == r[None, :]).to(tl.int32)
    count = tl.sum(is_of, axis=0)
    begin = tl.load(list_begin + r) + tl.atomic_add(
        counters + r, count, mask=count > 0, sem="relaxed"
    )
    before = tl.cumsum(is_of, axis=0) - is_of
    place = tl.sum(is_of * (before + begin[None, :]), axis=1)
    exists = relation < RELATIONS
    tl.store(atom_group + place, tl.zeros_like(place) + group, mask=exists)

    # The rows of a state are ordered by object, then by fact and argument position.
    o = tl.arange(0, NODES)
    smaller, equal, last = _degrees(
        own, fact_base, fact_arity, fact_object, variables, facts, nodes, o, ARITY, NODES, CHUNK
    )
    tl.store(node_row + first_node + o, first_row + smaller, mask=o < nodes)
    tl.store(node_degree + first_node + o, equal, mask=o < nodes)
    tl.store(node_group + first_node + o, tl.zeros_like(o) + group, mask=o < nodes)
    tl.store(state_node + state, first_node)
    tl.store(state_size + state, last + 1)

    for j in tl.static_range(ARITY):
        has = j < arity
        objects = tl.load(fact_object + fact * ARITY + j, mask=has, other=0)
        here = f * ARITY + j
        row = _rows_before(
            own,
            fact_base,
            fact_arity,
            fact_object,
            variables,
            facts,
            nodes,
            objects,
            here,
            ARITY,
            FACTS,
            CHUNK,
        )
        tl.store(atom_node + place * ARITY + j, first_node + objects, mask=has)
        tl.store(atom_row + place * ARITY + j, first_row + row, mask=has)

    c = tl.arange(0, WIDTH)
    start_values = tl.load(initial + o[:, None] * WIDTH + c[None, :], mask=o[:, None] < nodes)
    tl.store(
        embedding + (first_node + o[:, None]) * WIDTH + c[None, :],
        start_values,
        mask=o[:, None] < nodes,
    )


__all__ = ["HEADER", "build"]
