"""Escape untrusted names in our files, so that they cannot act as markup, as terminal commands, or as mentions.

Names of objects, tasks and policies may come from strangers. Each format gets them in a form that it takes literally:
XML without the characters that XML forbids, Markdown in code spans, where nothing is interpreted.
"""

from __future__ import annotations

import re

from misstep.escaping import written_out

_LONGEST = 2000


def visible(text: str) -> str:
    """The text as one line of plain characters, cut if it is very long."""
    return written_out(text if len(text) <= _LONGEST else text[:_LONGEST] + "...")


def code(text: str) -> str:
    """A code span of Markdown, whatever the text holds."""
    shown = visible(text)
    fence = "`" * (_longest_run(shown) + 1)
    pad = " " if shown[:1] in ("`", " ") or shown[-1:] in ("`", " ") or not shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def block(*lines: str) -> str:
    """A fenced block of Markdown."""
    shown = [visible(line) for line in lines]
    fence = "`" * max(3, *(_longest_run(line) + 1 for line in shown))
    return "\n".join([f"{fence}text", *shown, fence])


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def slug(text: str) -> str:
    """Small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:80]


__all__ = ["block", "code", "slug", "visible"]
