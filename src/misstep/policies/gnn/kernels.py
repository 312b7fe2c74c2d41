# mypy: disable-error-code="untyped-decorator, no-untyped-def, no-untyped-call"
"""The graph network as four Triton kernels: messages, smooth maxima, update, readout. `indexing.py` has the fifth.

An evaluation through PyTorch moves every message through memory about eight times and waits for the host to learn how
many rows each relation has. Here a round of the network is one launch per arity and two for the nodes: embeddings are
gathered, both layers are applied, and each message is stored once and read once. The host is never asked.

The numbers of a row never depend on which other rows share its tile, maxima are exact in any order, and the messages of
an object are stored and summed in a fixed order. So the value of a state is the same, to the bit, in every batch,
although atomic counters place the rows in an order that changes from run to run.

Needs Triton, which comes with PyTorch for CUDA: import this only where `fused.py` does.
"""

from __future__ import annotations

import triton
import triton.language as tl

FLOOR = tl.constexpr(1e-16)


@triton.jit
def _block(
    x,
    weights,
    pieces,
    plane,
    offset,
    total,
    STRIDE: tl.constexpr,
    WIDTH: tl.constexpr,
    HOW: tl.constexpr,
):
    """`total` plus the product with one square block of a matrix.

    `HOW` is a precision of Triton, or `pieces`: each number is split into three in bfloat16 (the weights in advance),
    and of the nine products all but the three smallest are added. `pieces32` multiplies the same numbers in single
    precision, for Triton's interpreter, which has no products in bfloat16.
    """
    c = tl.arange(0, WIDTH)
    place = offset + c[:, None] * STRIDE + c[None, :]
    if HOW == "pieces" or HOW == "pieces32":
        w0 = tl.load(pieces + place)
        w1 = tl.load(pieces + plane + place)
        w2 = tl.load(pieces + 2 * plane + place)
        x0 = x.to(tl.bfloat16)
        rest = x - x0.to(tl.float32)
        x1 = rest.to(tl.bfloat16)
        x2 = (rest - x1.to(tl.float32)).to(tl.bfloat16)
        if HOW == "pieces32":
            x0, x1, x2 = x0.to(tl.float32), x1.to(tl.float32), x2.to(tl.float32)
            w0, w1, w2 = w0.to(tl.float32), w1.to(tl.float32), w2.to(tl.float32)
        small = tl.dot(x2, w0, out_dtype=tl.float32)
        small = tl.dot(x1, w1, small, out_dtype=tl.float32)
        small = tl.dot(x0, w2, small, out_dtype=tl.float32)
        small = tl.dot(x1, w0, small, out_dtype=tl.float32)
        small = tl.dot(x0, w1, small, out_dtype=tl.float32)
        total = tl.dot(x0, w0, total, out_dtype=tl.float32) + small
    else:
        w = tl.load(weights + place)
        total = tl.dot(x, w, total, input_precision=HOW, out_dtype=tl.float32)
    return total


@triton.jit
def _relu(x):
    """A value that is not a number stays one: the policy reports it."""
    return tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def _argument(
    embedding,
    atom_node,
    atom,
    mask,
    j,
    ARITY: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """The embeddings of the objects at one argument position."""
    c = tl.arange(0, WIDTH)
    node = tl.load(atom_node + atom * ARITY + j, mask=mask, other=0)
    return tl.load(embedding + node[:, None] * WIDTH + c[None, :], mask=mask[:, None], other=0.0)


@triton.jit
def _store(
    messages,
    atom_row,
    atom,
    mask,
    message,
    j,
    ARITY: tl.constexpr,
    WIDTH: tl.constexpr,
):
    c = tl.arange(0, WIDTH)
    row = tl.load(atom_row + atom * ARITY + j, mask=mask, other=0)
    tl.store(messages + row[:, None] * WIDTH + c[None, :], message, mask=mask[:, None])


@triton.jit
def _tile_of(counters, members, count, MEMBERS: tl.constexpr, TILE: tl.constexpr):
    """The relation, the tile in it, and its number of atoms, which only the device knows."""
    m = tl.arange(0, MEMBERS)
    relation = tl.load(members + m, mask=m < count, other=0)
    atoms = tl.load(counters + relation, mask=m < count, other=0)
    tiles = (atoms + TILE - 1) // TILE
    ends = tl.cumsum(tiles, axis=0)
    tile = tl.program_id(0)
    mine = tl.sum((ends <= tile).to(tl.int32), axis=0)
    before = tl.sum(tl.where(m < mine, tiles, 0), axis=0)
    return mine, tile - before, tl.sum(tl.where(m == mine, atoms, 0), axis=0)


@triton.jit
def _send_pairs(
    embedding,
    messages,
    atom_node,
    atom_row,
    atom,
    mask,
    weights,
    pieces,
    plane,
    first,
    SLOTS: tl.constexpr,
    WIDTH: tl.constexpr,
    TILE: tl.constexpr,
    HOW: tl.constexpr,
):
    """The messages of atoms with two arguments; both halves of the hidden layer are computed once for both outputs."""
    SIDE: tl.constexpr = 2 * WIDTH
    second = first + SIDE * SIDE
    first_bias = weights + second + SIDE * SIDE
    second_bias = first_bias + SIDE
    c = tl.arange(0, WIDTH)
    zero = tl.zeros((TILE, WIDTH), tl.float32)
    x0 = _argument(embedding, atom_node, atom, mask, 0, SLOTS, WIDTH)
    x1 = _argument(embedding, atom_node, atom, mask, 1, SLOTS, WIDTH)
    out0 = zero + tl.load(second_bias + c)[None, :]
    out1 = zero + tl.load(second_bias + WIDTH + c)[None, :]
    for i in range(2):
        h = zero + tl.load(first_bias + i * WIDTH + c)[None, :]
        h = _block(x0, weights, pieces, plane, first + i * WIDTH, h, SIDE, WIDTH, HOW)
        h = _block(
            x1, weights, pieces, plane, first + WIDTH * SIDE + i * WIDTH, h, SIDE, WIDTH, HOW
        )
        h = _relu(h)
        out0 = _block(h, weights, pieces, plane, second + i * WIDTH * SIDE, out0, SIDE, WIDTH, HOW)
        out1 = _block(
            h, weights, pieces, plane, second + i * WIDTH * SIDE + WIDTH, out1, SIDE, WIDTH, HOW
        )
    _store(messages, atom_row, atom, mask, out0, 0, SLOTS, WIDTH)
    _store(messages, atom_row, atom, mask, out1, 1, SLOTS, WIDTH)
    return tl.maximum(tl.max(out0, axis=1), tl.max(out1, axis=1))


@triton.jit
def _send_any(
    embedding,
    messages,
    atom_node,
    atom_row,
    atom,
    mask,
    weights,
    pieces,
    plane,
    first,
    SLOTS: tl.constexpr,
    ARITY: tl.constexpr,
    WIDTH: tl.constexpr,
    TILE: tl.constexpr,
    HOW: tl.constexpr,
):
    """The messages of atoms with any number of arguments."""
    SIDE: tl.constexpr = ARITY * WIDTH
    second = first + SIDE * SIDE
    first_bias = weights + second + SIDE * SIDE
    second_bias = first_bias + SIDE
    c = tl.arange(0, WIDTH)
    zero = tl.zeros((TILE, WIDTH), tl.float32)
    # The hidden layer is computed again for each output: this is rare, and no tile could hold all of it.
    top = tl.full((TILE,), float("-inf"), tl.float32)
    for k in range(ARITY):
        out = zero + tl.load(second_bias + k * WIDTH + c)[None, :]
        for i in range(ARITY):
            h = zero + tl.load(first_bias + i * WIDTH + c)[None, :]
            for j in range(ARITY):
                x = _argument(embedding, atom_node, atom, mask, j, SLOTS, WIDTH)
                h = _block(
                    x,
                    weights,
                    pieces,
                    plane,
                    first + j * WIDTH * SIDE + i * WIDTH,
                    h,
                    SIDE,
                    WIDTH,
                    HOW,
                )
            h = _relu(h)
            out = _block(
                h,
                weights,
                pieces,
                plane,
                second + i * WIDTH * SIDE + k * WIDTH,
                out,
                SIDE,
                WIDTH,
                HOW,
            )
        _store(messages, atom_row, atom, mask, out, k, SLOTS, WIDTH)
        top = tl.maximum(top, tl.max(out, axis=1))
    return top


@triton.jit
def send(
    embedding,
    messages,
    greatest,
    counters,
    list_begin,
    atom_node,
    atom_row,
    atom_group,
    members,
    weights,
    pieces,
    plane,
    count,
    SLOTS: tl.constexpr,
    ARITY: tl.constexpr,
    MEMBERS: tl.constexpr,
    WIDTH: tl.constexpr,
    TILE: tl.constexpr,
    HOW: tl.constexpr,
):
    """The messages of one tile of atoms of one relation, and the greatest number among those of each decision.

    `members` are the relations of this arity. The weights of a relation are both matrices, (inputs, outputs), and
    both biases. `SLOTS` is the arity that the lists have room for, the greatest of the task.
    """
    mine, tile, limit = _tile_of(counters, members, count, MEMBERS, TILE)
    if mine >= count:
        return
    begin = tl.load(list_begin + tl.load(members + mine))
    first = mine * (2 * ARITY * ARITY * WIDTH * WIDTH + 2 * ARITY * WIDTH)
    index = tile * TILE + tl.arange(0, TILE)
    mask = index < limit
    atom = begin + index
    if ARITY == 2:
        top = _send_pairs(
            embedding,
            messages,
            atom_node,
            atom_row,
            atom,
            mask,
            weights,
            pieces,
            plane,
            first,
            SLOTS,
            WIDTH,
            TILE,
            HOW,
        )
    else:
        top = _send_any(
            embedding,
            messages,
            atom_node,
            atom_row,
            atom,
            mask,
            weights,
            pieces,
            plane,
            first,
            SLOTS,
            ARITY,
            WIDTH,
            TILE,
            HOW,
        )
    group = tl.load(atom_group + atom, mask=mask, other=0)
    tl.atomic_max(greatest + group, top, mask=mask, sem="relaxed")


@triton.jit
def aggregate(
    messages,
    smooth,
    greatest,
    totals,
    node_row,
    node_degree,
    node_group,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
):
    """The smooth maximum of the messages at one node. A tile of nodes would wait for the one with most messages."""
    node = tl.program_id(0)
    if node >= tl.load(totals):
        return
    row = tl.load(node_row + node)
    degree = tl.load(node_degree + node)
    top = tl.load(greatest + tl.load(node_group + node))
    c = tl.arange(0, WIDTH)
    r = tl.arange(0, ROWS)
    total = tl.zeros((ROWS, WIDTH), tl.float32)
    for i in range(0, degree, ROWS):
        there = (i + r < degree)[:, None]
        place = messages + (row + i + r)[:, None] * WIDTH + c[None, :]
        message = tl.load(place, mask=there, other=0.0)
        total += tl.where(there, tl.exp(message - top), 0.0)
    tl.store(smooth + node * WIDTH + c, tl.log(tl.sum(total, axis=0) + FLOOR) + top)


@triton.jit
def update(
    embedding,
    smooth,
    totals,
    weights,
    pieces,
    plane,
    WIDTH: tl.constexpr,
    TILE: tl.constexpr,
    HOW: tl.constexpr,
):
    """The new embeddings of a tile of nodes, from their smooth maxima and their old ones."""
    node = tl.program_id(0) * TILE + tl.arange(0, TILE)
    limit = tl.load(totals)
    if tl.program_id(0) * TILE >= limit:
        return
    mask = node < limit
    c = tl.arange(0, WIDTH)
    top = tl.load(smooth + node[:, None] * WIDTH + c[None, :], mask=mask[:, None], other=0.0)
    place = embedding + node[:, None] * WIDTH + c[None, :]
    old = tl.load(place, mask=mask[:, None], other=0.0)
    SIDE: tl.constexpr = 2 * WIDTH
    second = SIDE * SIDE
    first_bias = weights + second + SIDE * WIDTH
    zero = tl.zeros((TILE, WIDTH), tl.float32)
    new = zero + tl.load(first_bias + SIDE + c)[None, :]
    for i in range(2):
        h = zero + tl.load(first_bias + i * WIDTH + c)[None, :]
        h = _block(top, weights, pieces, plane, i * WIDTH, h, SIDE, WIDTH, HOW)
        h = _block(old, weights, pieces, plane, WIDTH * SIDE + i * WIDTH, h, SIDE, WIDTH, HOW)
        new = _block(
            _relu(h), weights, pieces, plane, second + i * WIDTH * WIDTH, new, WIDTH, WIDTH, HOW
        )
    tl.store(place, new, mask=mask[:, None])


@triton.jit
def readout(
    embedding,
    totals,
    state_node,
    state_size,
    weights,
    pieces,
    plane,
    result,
    ABSOLUTE: tl.constexpr,
    WIDTH: tl.constexpr,
    TILE: tl.constexpr,
    HOW: tl.constexpr,
):
    """One number per state: a network on each object, their sum in the order of objects, a network on the sum."""
    state = tl.program_id(0) * TILE + tl.arange(0, TILE)
    limit = tl.load(totals + 1)
    if tl.program_id(0) * TILE >= limit:
        return
    mask = state < limit
    c = tl.arange(0, WIDTH)
    first = tl.load(state_node + state, mask=mask, other=0)
    size = tl.load(state_size + state, mask=mask, other=0)
    SQUARE: tl.constexpr = WIDTH * WIDTH
    bias = weights + 3 * SQUARE
    zero = tl.zeros((TILE, WIDTH), tl.float32)
    pooled = zero
    for i in range(tl.max(size, axis=0)):
        there = (i < size)[:, None]
        x = tl.load(embedding + (first + i)[:, None] * WIDTH + c[None, :], mask=there, other=0.0)
        h = _block(
            x, weights, pieces, plane, 0, zero + tl.load(bias + c)[None, :], WIDTH, WIDTH, HOW
        )
        inner = zero + tl.load(bias + WIDTH + c)[None, :]
        inner = _block(_relu(h), weights, pieces, plane, SQUARE, inner, WIDTH, WIDTH, HOW)
        pooled += tl.where(there, inner, 0.0)
    h = zero + tl.load(bias + 2 * WIDTH + c)[None, :]
    h = _relu(_block(pooled, weights, pieces, plane, 2 * SQUARE, h, WIDTH, WIDTH, HOW))
    last = tl.load(bias + 3 * WIDTH + c)
    value = tl.sum(h * last[None, :], axis=1) + tl.load(bias + 4 * WIDTH)
    if ABSOLUTE:
        value = tl.abs(value)
    tl.store(result + state, value, mask=mask)


__all__ = ["aggregate", "readout", "send", "update"]
