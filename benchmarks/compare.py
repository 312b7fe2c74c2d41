"""Two results of a benchmark side by side, with the ratio of every number.

python -m benchmarks.compare OLD.json NEW.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def numbers(tree: Any, path: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from numbers(value, f"{path} / {key}" if path else str(key))
    elif isinstance(tree, (int, float)) and not isinstance(tree, bool):
        yield path, float(tree)


def compare(old: Any, new: Any) -> list[str]:
    """A line for each number that both have, and for each that only one has."""
    before, after = dict(numbers(old)), dict(numbers(new))
    lines = []
    for path in [*before, *(p for p in after if p not in before)]:
        if path not in after:
            lines.append(f"{path}: {before[path]:g} -> gone")
        elif path not in before:
            lines.append(f"{path}: new {after[path]:g}")
        else:
            ratio = f"{after[path] / before[path]:.2f}x" if before[path] else "-"
            lines.append(f"{path}: {before[path]:g} -> {after[path]:g}  {ratio}")
    return lines


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print("\n".join(compare(*(json.loads(Path(name).read_text()) for name in sys.argv[1:]))))


if __name__ == "__main__":
    main()
