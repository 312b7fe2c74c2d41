"""Statistics of batch sizes: how many calls to the policy asked about how many states."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from misstep.decoding import parse_json

Sizes = Mapping[int, int]  # size -> calls


def encoded(sizes: Sizes) -> str:
    """The text that is stored with a unit."""
    if not sizes:
        return "{}"
    return json.dumps({str(size): calls for size, calls in sorted(sizes.items()) if calls})


def decoded_sizes(text: str) -> Counter[int]:
    """The inverse of `encoded`; raises ValueError if the text is invalid."""
    content = parse_json(text)
    if not isinstance(content, dict):
        raise ValueError("expected sizes of batches")
    sizes = Counter({int(size): calls for size, calls in content.items()})
    if not all(size > 0 and type(calls) is int and calls > 0 for size, calls in sizes.items()):
        raise ValueError("expected sizes of batches")
    return sizes


def summed(parts: Iterable[Sizes]) -> Counter[int]:
    total: Counter[int] = Counter()
    for part in parts:
        total.update(part)
    return total


def distribution(sizes: Sizes) -> dict[str, Any]:
    """For programs: calls, states a call on average, the median, and the calls of each power of two."""
    calls = sum(sizes.values())
    if not calls:
        return {}
    ranges: Counter[int] = Counter()
    for size, count in sizes.items():
        ranges[1 << (size.bit_length() - 1)] += count
    return {
        "calls": calls,
        "mean": round(sum(size * count for size, count in sizes.items()) / calls, 2),
        "median": _median(sizes, calls),
        "from_size": {str(least): ranges[least] for least in sorted(ranges)},
    }


def text_of(shown: Mapping[str, Any]) -> str:
    """For people."""
    mean = f"{shown['mean']:.3g}"
    states = "state" if mean == "1" else "states"
    return f"{mean} {states} a call on average, half of the calls at least {shown['median']}"


def _median(sizes: Sizes, calls: int) -> int:
    """The largest size that at least half of the calls have, or more."""
    above = 0
    for size in sorted(sizes, reverse=True):
        above += sizes[size]
        if 2 * above >= calls:
            return size
    raise AssertionError


__all__ = ["Sizes", "decoded_sizes", "distribution", "encoded", "summed", "text_of"]
