"""Layouts: cells of a grid, and places of a map.

A layout is computed once per task from static facts, and is the same on every machine: it starts from whole numbers,
sums are taken in a fixed order, and the result is rounded.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Point = tuple[float, float]
Cell = tuple[int, int]

_TWO_NUMBERS = re.compile(r"(\d+)\D+(\d+)\D*$")
MOST_ON_MAP = 300
MOST_LETTERS = 30  # of two numbers and what is between them
ROUNDS = 120


def cells_by_name(names: Sequence[str]) -> dict[str, Cell] | None:
    """Column and row of each cell where the names tell them (`x0-y1`, `loc-3-4`), as x and y."""
    found: dict[str, Cell] = {}
    for name in names:
        match = _TWO_NUMBERS.search(name[-MOST_LETTERS - 1 :])
        if match is None or len(match[0]) > MOST_LETTERS:
            return None
        found[name] = (int(match[1]), int(match[2]))
    return found if names and len(set(found.values())) == len(names) else None


def cells_by_steps(
    names: Sequence[str], steps: Iterable[tuple[str, str, Cell]]
) -> dict[str, Cell] | None:
    """The same from steps: (from, to, by how much). None if a cell cannot be reached or lies in two places."""
    ways: dict[str, list[tuple[str, Cell]]] = {name: [] for name in names}
    for start, end, (dx, dy) in steps:
        if start in ways and end in ways:
            ways[start].append((end, (dx, dy)))
            ways[end].append((start, (-dx, -dy)))
    found: dict[str, Cell] = {}
    right = 0
    for root in names:
        if root in found:
            continue
        part = _walked(root, ways)
        if part is None:
            return None
        left = min(x for x, _ in part.values())
        top = min(y for _, y in part.values())
        for name, (x, y) in part.items():  # parts that hang together stand side by side
            found[name] = (x - left + right, y - top)
        right = max(x for x, _ in found.values()) + 2
    return found if len(set(found.values())) == len(found) else None


def _walked(root: str, ways: Mapping[str, list[tuple[str, Cell]]]) -> dict[str, Cell] | None:
    found = {root: (0, 0)}
    queue = deque([root])
    while queue:
        here = queue.popleft()
        x, y = found[here]
        for there, (dx, dy) in ways[here]:
            if there not in found:
                found[there] = (x + dx, y + dy)
                queue.append(there)
            elif found[there] != (x + dx, y + dy):
                return None
    return found


def are_neighbours(cells: Mapping[str, Cell], pairs: Iterable[tuple[str, ...]]) -> bool:
    """Whether the pairs are pairs of cells side by side, so that the cells make a grid."""
    known = [(cells[a], cells[b]) for a, b, *_ in pairs if a in cells and b in cells]
    near = sum(abs(ax - bx) + abs(ay - by) == 1 for (ax, ay), (bx, by) in known)
    return bool(known) and near == len(known)


# -- maps -----------------------------------------------------------------------------------------


def on_map(names: Sequence[str], roads: Iterable[tuple[str, str]]) -> dict[str, Point]:
    """Places whose distances are about the numbers of roads between them: least squares, from a fixed start."""
    count = len(names)
    if count < 3:
        return {name: (float(k), 0.0) for k, name in enumerate(names)}
    if count > MOST_ON_MAP:
        wide = int(np.ceil(np.sqrt(count)))
        return {name: (float(k % wide), float(k // wide)) for k, name in enumerate(names)}
    index = {name: k for k, name in enumerate(names)}
    near: list[list[int]] = [[] for _ in names]
    for a, b in roads:
        if a in index and b in index and a != b:
            near[index[a]].append(index[b])
            near[index[b]].append(index[a])
    wanted = _distances(near)
    here = _start(wanted)
    weights = 1 / np.maximum(wanted, 1) ** 2
    np.fill_diagonal(weights, 0)
    for _ in range(ROUNDS):
        apart = here[:, None, :] - here[None, :, :]
        length = np.sqrt((apart**2).sum(axis=2))
        pull = weights * wanted / np.maximum(length, 1e-3)
        targets = weights[:, :, None] * here[None, :, :] + pull[:, :, None] * apart
        here = np.round(targets.sum(axis=1) / weights.sum(axis=1)[:, None], 9)
    here = _lying(here)
    return {
        name: (round(float(here[k, 0]), 2), round(float(here[k, 1]), 2))
        for k, name in enumerate(names)
    }


def _distances(near: list[list[int]]) -> NDArray[np.float64]:
    count = len(near)
    found = np.full((count, count), -1.0)
    for root in range(count):
        found[root, root] = 0
        queue = deque([root])
        while queue:
            here = queue.popleft()
            for there in near[here]:
                if found[root, there] < 0:
                    found[root, there] = found[root, here] + 1
                    queue.append(there)
    far = max(2.0, min(float(found.max()) + 1, np.ceil(np.sqrt(count)) + 1))
    return np.where(found < 0, far, found)


def _start(wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Seen from two places far apart; a spiral of a tenth keeps apart what lies on one spot."""
    count = len(wanted)
    first = int(np.argmax(wanted[0]))
    second = int(np.argmax(wanted[first]))
    third = int(np.argmax(np.minimum(wanted[first], wanted[second])))
    turn = np.arange(count) * 2.399963
    grow = 0.1 + 0.4 * np.arange(count) / count
    x = (wanted[first] - wanted[second]) / 2 + grow * np.cos(turn)
    y = wanted[third] + grow * np.sin(turn)
    return np.round(np.stack([x, y], axis=1), 9)


def _lying(here: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turned so that it is wider than high: screens are."""
    middle = here - here.mean(axis=0)
    xx, yy, xy = (
        (middle[:, 0] ** 2).sum(),
        (middle[:, 1] ** 2).sum(),
        (middle[:, 0] * middle[:, 1]).sum(),
    )
    angle = np.arctan2(2 * xy, xx - yy) / 2
    cos, sin = np.cos(angle), np.sin(angle)
    turned = np.stack(
        [middle[:, 0] * cos + middle[:, 1] * sin, middle[:, 1] * cos - middle[:, 0] * sin], axis=1
    )
    return np.asarray(turned - turned.min(axis=0))


def apart(
    centres: Mapping[str, Point], width: float, height: float, gap: float
) -> dict[str, Point]:
    """The map stretched, and its boxes of one size pushed, until none overlaps another. Upright or lying: what fits."""
    turned = {name: (y, x) for name, (x, y) in centres.items()}
    both = [_pushed(own, width, height, gap) for own in (centres, turned)]
    return min(both, key=lambda own: _oddness(own, width, height))


def _oddness(centres: Mapping[str, Point], width: float, height: float) -> float:
    """How far the picture is from the shape of a screen."""
    wide = max((x for x, _ in centres.values()), default=0.0) + width
    high = max((y for _, y in centres.values()), default=0.0) + height
    return float(abs(np.log(wide / high / 1.5)))


def _pushed(
    centres: Mapping[str, Point], width: float, height: float, gap: float
) -> dict[str, Point]:
    names = list(centres)
    want = np.array([width + gap, height + gap])
    at = np.array([centres[name] for name in names], dtype=float).reshape(len(names), 2)
    at = at * want * np.array([0.8, 1.1])
    for _ in range(200):
        between = at[:, None, :] - at[None, :, :]
        bad = (want - np.abs(between) > 0.5).all(axis=2)
        np.fill_diagonal(bad, False)
        if not bad.any():
            break
        for i, j in np.argwhere(np.triu(bad)):
            gaps = want - np.abs(at[i] - at[j])
            if (gaps <= 0.5).any():
                continue  # another push has done it
            axis = int(gaps[1] < gaps[0])
            push = (gaps[axis] / 2 + 0.5) * (1 if at[i, axis] >= at[j, axis] else -1)
            at[i, axis] += push
            at[j, axis] -= push
    at = np.round(at - at.min(axis=0), 0) if len(names) else at
    return {name: (float(at[k, 0]), float(at[k, 1])) for k, name in enumerate(names)}


__all__ = ["Cell", "Point", "apart", "are_neighbours", "cells_by_name", "cells_by_steps", "on_map"]
