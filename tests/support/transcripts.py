"""The code in the documentation, block by block: what is Python, what is typed into a shell, what is data.

    PYTHONPATH=src:tests:docs python -m support.transcripts

prints how many blocks and commands there are and how many of them the tests run.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

from misstep.campaigns.toml import from_toml
from misstep.errors import MisstepError

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PROGRAMS = ("misstep", "make", "pip", "python", "pytest")
_SHELL = re.compile(rf"(?:{'|'.join(PROGRAMS)}) ")


class Block(NamedTuple):
    page: str  # below the root of the repository
    line: int  # of its first line of code, from 1
    language: str  # python, sh, json, toml, or text for what is of no language
    code: str


class Command(NamedTuple):
    block: Block
    text: str  # as it is written, without its comment
    words: list[str]


def pages() -> list[str]:
    """README.md and all pages below docs/, by their path."""
    return [
        "README.md",
        *(page.relative_to(ROOT).as_posix() for page in sorted(DOCS.rglob("*.md"))),
    ]


def blocks(page: str) -> list[Block]:
    """All code of a page, fenced or indented, also inside of lists."""
    found = []
    for token in MarkdownIt().parse((ROOT / page).read_text(encoding="utf-8")):
        if token.type in ("fence", "code_block") and token.map is not None:
            fenced = token.type == "fence"
            language = language_of(token.info.split()[0] if token.info else "", token.content)
            found.append(Block(page, token.map[0] + 1 + fenced, language, token.content))
    return found


def language_of(said: str, code: str) -> str:
    if said in ("sh", "bash", "console"):
        return "sh"
    if said:
        return said
    if _SHELL.match(code):
        return "sh"
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return "text"
    # A word alone, such as the form of a spec, can be read as Python and is none.
    does = (ast.Import, ast.ImportFrom, ast.Assign, ast.FunctionDef, ast.With, ast.For)
    return "python" if any(isinstance(node, does) for node in tree.body) else "text"


def commands(page: str) -> Iterator[Command]:
    """The lines of a page that are typed into a shell; a backslash at the end goes on."""
    for block in blocks(page):
        if block.language != "sh":
            continue
        for line in block.code.replace("\\\n", " ").splitlines():
            line = line.strip().removeprefix("$ ")
            if _SHELL.match(line):
                words = shlex.split(line, comments=True)
                yield Command(block, shlex.join(words), words)


def data_problem(block: Block) -> str | None:
    """What is wrong with a block of data; a shortened one (`...`) is for readers only."""
    try:
        if block.language == "json" and "..." not in block.code:
            json.loads(block.code)
        elif block.language == "toml":
            from_toml(block.code)
    except (ValueError, MisstepError) as problem:
        return f"{block.page}:{block.line}: {problem}"
    return None


def main() -> None:
    from support.scenes import NOT_RUN, reason_not_run

    counted: dict[str, int] = {}
    typed = run = 0
    for page in pages():
        for block in blocks(page):
            counted[block.language] = counted.get(block.language, 0) + 1
        for command in commands(page):
            typed += 1
            run += reason_not_run(command) is None
    print(
        f"{sum(counted.values())} blocks:",
        ", ".join(f"{n} {k}" for k, n in sorted(counted.items())),
    )
    print(f"{typed} commands are typed, the tests run {run}; {len(NOT_RUN)} reasons not to")


if __name__ == "__main__":
    main()
