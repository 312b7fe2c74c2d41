"""The pages of the site, their order, and their links.

Pages lie in `docs/`, a few in the root of the repository, and the reference is made from the code. The navigation is
not written down a second time: an index page (`index.md`, a `README.md`, or a page with a folder of its name) leads to
the pages that it links, in this order, and a page belongs to the first index that links it.
"""

from __future__ import annotations

import os
import re
from collections import deque
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
HOME = "index.md"
REST = "how-to/index.md"  # where a page goes that no index links to
# Pages outside of `docs/` that the site has, too.
OUTSIDE = {
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
}
_LINK = re.compile(r"(?<!\\)(\]\()([^()\s]+)(\))")
_FENCE = re.compile(r"(?ms)^( *)(```+)[^\n]*\n.*?^\1\2 *$|^(?: {4,}|\t)\S[^\n]*$|`[^`\n]+`")


class Link(NamedTuple):
    target: str
    start: int
    end: int


def written() -> dict[str, Path]:
    """The file of each page that is written by hand, by its path on the site."""
    own = {page.relative_to(DOCS).as_posix(): page for page in sorted(DOCS.rglob("*.md"))}
    return own | {name: ROOT / file for file, name in OUTSIDE.items()}


@cache
def generated() -> dict[str, str]:
    """The text of each page that is made from the code, by its path on the site."""
    from docsite import api, commands, graph

    return {**commands.pages(), **api.pages(), **graph.pages()}


@cache
def texts() -> dict[str, str]:
    """The text of every page by its path on the site, as it is written."""
    return {
        name: file.read_text(encoding="utf-8") for name, file in written().items()
    } | generated()


def links(text: str) -> list[Link]:
    """The links of a page, those in code left out."""
    code = [found.span() for found in _FENCE.finditer(text)]
    found = []
    for link in _LINK.finditer(text):
        if not any(start <= link.start() < end for start, end in code):
            found.append(Link(link.group(2), link.start(2), link.end(2)))
    return found


def is_outer(target: str) -> bool:
    return re.match(r"[a-z]+:", target) is not None


def place(name: str) -> Path:
    """Where the file of a page lies in the repository; a page made from the code lies where its path says."""
    return written().get(name, DOCS / name)


def target_of(name: str, target: str) -> tuple[str | Path, str]:
    """What a link on a page leads to: another page by its path on the site, or a file; and the anchor in it."""
    address, _, anchor = target.partition("#")
    if not address:
        return name, anchor
    file = Path(os.path.normpath(place(name).parent / address))
    if file.is_relative_to(DOCS) and file.relative_to(DOCS).as_posix() in texts():
        return file.relative_to(DOCS).as_posix(), anchor
    if file == ROOT / "README.md":
        return HOME, anchor
    if file.is_relative_to(ROOT) and file.relative_to(ROOT).as_posix() in OUTSIDE:
        return OUTSIDE[file.relative_to(ROOT).as_posix()], anchor
    return file, anchor


def anchors(text: str) -> set[str]:
    """The names of the headings of a page, as GitHub and the site make them."""
    plain = re.sub(r"(?ms)^```.*?^```", "", text)
    found: set[str] = set()
    for heading in re.findall(r"(?m)^#{1,6} +(.*?) *$", plain):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.lower().strip()).replace(" ", "-")
        number, own = 0, slug
        while own in found:
            number += 1
            own = f"{slug}-{number}"
        found.add(own)
    return found


def is_index(name: str) -> bool:
    path = Path(name)
    own_folder = f"{path.with_suffix('').as_posix()}/"
    return path.name in ("index.md", "README.md", "contributors.md") or any(
        other.startswith(own_folder) for other in texts()
    )


@cache
def navigation() -> dict[str, list[str]]:
    """The pages below each index; what no index links to comes after the how-to guides, so that it is not lost."""
    tree = {index: list(below) for index, below in linked().items()}
    tree.setdefault(REST, []).extend(unplaced())
    return tree


@cache
def linked() -> dict[str, list[str]]:
    """The pages below each index, in the order of its links; the home page leads to the other indexes."""
    placed, tree = {HOME}, {}
    waiting = deque([HOME])
    while waiting:
        index = waiting.popleft()
        below = []
        for link in links(texts()[index]):
            page, _ = ("", "") if is_outer(link.target) else target_of(index, link.target)
            fits = index != HOME or (isinstance(page, str) and is_index(page))
            if isinstance(page, str) and page in texts() and page not in placed and fits:
                placed.add(page)
                below.append(page)
        tree[index] = below
        waiting.extend(page for page in below if is_index(page))
    return tree


def unplaced() -> list[str]:
    """Pages that no index leads to."""
    placed = {HOME}.union(*linked().values())
    return sorted(set(texts()) - placed)


def broken_links(name: str) -> list[str]:
    """Links of a page that lead nowhere, inside of the repository."""
    wrong = []
    for link in links(texts()[name]):
        if is_outer(link.target):
            continue
        target, anchor = target_of(name, link.target)
        if isinstance(target, Path):
            if not target.exists() or not target.is_relative_to(ROOT):
                wrong.append(link.target)
        elif anchor and anchor not in anchors(texts()[target]):
            wrong.append(link.target)
    return wrong
