"""The import graph of the packages, read from the source: `python tests/import_graph.py [--inside campaigns]`.

Prints one line for each package: what it imports, also inside functions. With `--inside` it prints the modules of one
package instead. `test_layering.py` compares the same graph with the order of the design, which stands here, and the
documentation draws it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "misstep"
# The package itself and `python -m misstep` sit on top of everything.
TOP = {"__init__", "__main__"}
# Packages and modules of misstep, left to right; those on one line are of one rank and may know each other.
ORDER = [
    [
        "binomial",
        "errors",
        "escaping",
        "decoding",
        "files",
        "fitting",
        "gym",
        "kept",
        "raised",
        "ranges",
        "stops",
        "verdicts",
        "versions",
    ],
    ["_core"],
    ["tasks"],
    ["planning"],
    ["policies"],
    ["runs"],
    ["fuzzing"],
    ["oracles", "safety"],
    ["faults"],
    ["campaigns"],
    ["comparison"],
    ["reports", "training"],
    ["experiments"],
    ["cli", "pytest_plugin"],
]


def imported_names(path: Path) -> set[str]:
    """Dotted names below misstep that a file imports, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {path}"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.startswith("misstep.")}


def source_files(inside: str = "") -> list[Path]:
    folder = SOURCE / inside
    return sorted(p for p in folder.rglob("*.py") if part_of_path(p, folder) not in TOP)


def part_of_path(path: Path, folder: Path = SOURCE) -> str:
    """The package or module of that folder that a file belongs to."""
    return path.relative_to(folder).parts[0].removesuffix(".py")


def parts(names: set[str], inside: str = "") -> set[str]:
    """The packages or modules, of misstep or of one package, that the dotted names belong to."""
    prefix = ".".join(["misstep", *inside.split("/")]).rstrip(".") + "."
    return {name[len(prefix) :].split(".")[0] for name in names if name.startswith(prefix)}


def edges(inside: str = "") -> dict[str, set[str]]:
    """What each package of misstep, or each module of one package, imports beside itself."""
    graph: dict[str, set[str]] = {}
    for path in source_files(inside):
        part = part_of_path(path, SOURCE / inside)
        graph.setdefault(part, set()).update(parts(imported_names(path), inside) - {part})
    return graph


def lines(inside: str = "") -> Iterator[str]:
    graph = edges(inside)
    width = max(map(len, graph), default=0)
    for part, others in sorted(graph.items()):
        yield f"{part:<{width}}  {' '.join(sorted(others))}".rstrip()


def main(words: list[str]) -> int:
    if words and (len(words) != 2 or words[0] != "--inside" or not (SOURCE / words[1]).is_dir()):
        print(__doc__, file=sys.stderr)
        return 2
    print("\n".join(lines(words[1] if words else "")))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
