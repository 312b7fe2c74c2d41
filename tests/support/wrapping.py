"""Lines of prose in the Markdown pages: which are too long, and how they are wrapped.

    PYTHONPATH=tests python tests/support/wrapping.py

wraps every paragraph that has a line that is too long, and changes no word. Tables, code and headings stay as they are,
and so does a line that is one word, such as a long piece of code in backticks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

WIDTH = 119
ROOT = Path(__file__).resolve().parents[2]
_WORD = re.compile(r"(?:`+[^`]*`+|\S)+")  # code in backticks is not broken
_ITEM = re.compile(r"(\s*)((?:[-*+]|\d+[.)])\s+)")
_FENCE = re.compile(r"\s*(?:(?:[-*+]|\d+[.)])\s+)?(```+|~~~+)")
# What would be an item, a heading or a quotation at the beginning of a line.
_MARK = re.compile(r"(?:[-*+=>|:]|\d+[.)]|#{1,6}|-+)$|\||```|~~~")
_NO_PROSE = ("|", "#", "<", "[^")
_INDENT_OF_CODE = 4


def pages() -> list[Path]:
    """The pages whose prose is wrapped."""
    names = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "benchmarks/README.md")
    cards = sorted((ROOT / "src").rglob("*.md"))
    return [*sorted((ROOT / "docs").rglob("*.md")), *cards, *(ROOT / name for name in names)]


def paragraphs(lines: Sequence[str]) -> Iterator[tuple[list[str], bool]]:
    """The lines in pieces, in their order, and whether a piece is a paragraph or an item of prose."""
    fence, item, code, at = "", 0, False, 0
    while at < len(lines):
        line = lines[at]
        text, indent = line.strip(), len(line) - len(line.lstrip())
        opening = _FENCE.match(line)
        after_blank = at == 0 or not lines[at - 1].strip()
        if text and not fence and indent < item and after_blank and not _ITEM.match(line):
            item = 0  # the list is over
        code = bool(text) and indent >= item + _INDENT_OF_CODE and (code or after_blank)
        if fence or opening:
            ends = bool(fence) and text.startswith(fence) and not text.strip(fence[0])
            fence = "" if ends else fence or (opening.group(1) if opening else "")
            yield [line], False
            at += 1
            continue
        if not text or code or text.startswith(_NO_PROSE) or re.match(r"\[[^\]]+\]:\s", text):
            yield [line], False
            at += 1
            continue
        found = _ITEM.match(line)
        item = len(found.group()) if found else item
        end = at + 1
        while end < len(lines) and _goes_on(lines[end - 1], lines[end]):
            end += 1
        yield list(lines[at:end]), True
        at = end


def _goes_on(line: str, following: str) -> bool:
    text = following.strip()
    if not text or _ITEM.match(following) or _FENCE.match(following):
        return False
    # Two spaces or a backslash at the end of a line are a new line.
    return not text.startswith((*_NO_PROSE, ">")) and not line.endswith(("  ", "\\"))


def too_long(lines: Sequence[str]) -> list[str]:
    """Lines of prose that could be wrapped and are not."""
    return [
        line
        for piece, prose in paragraphs(lines)
        if prose and wrapped(piece) != piece
        for line in piece
        if len(line) > WIDTH
    ]


def wrapped(piece: list[str]) -> list[str]:
    """The paragraph in lines of at most WIDTH characters; as it is, if it is one already."""
    if all(len(line) <= WIDTH for line in piece):
        return piece
    mark = _ITEM.match(piece[0]) or re.match(r"\s*(?:>\s?)?", piece[0])
    start = mark.group() if mark else ""
    inside = start if ">" in start else " " * len(start)
    words = _WORD.findall(" ".join([piece[0][len(start) :], *(line.strip() for line in piece[1:])]))
    lines = [start + words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) <= WIDTH or _MARK.match(word):
            lines[-1] += " " + word
        else:
            lines.append(inside + word)
    return lines


def main() -> None:
    for page in pages():
        lines = page.read_text(encoding="utf-8").split("\n")
        new = [
            line
            for piece, prose in paragraphs(lines)
            for line in (wrapped(piece) if prose else piece)
        ]
        if new != lines:
            page.write_text("\n".join(new), encoding="utf-8")
            print("wrapped", page.relative_to(ROOT))


if __name__ == "__main__":
    main()
