"""The reference of the Python API, one page a public name, made from signatures and docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

import misstep

FOLDER = "reference/api"
WIDTH = 80  # of a line of code that needs no scrolling


def signature(thing: Any) -> str:
    """How it is called, with types in the words of the source."""
    try:
        text = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return "(...)"
    text = re.sub(r"\b(?:misstep|collections|pathlib|typing)(?:\.\w+)*\.(\w+)", r"\1", text)
    text = re.sub(r"<([\w. ]+)object at 0x[0-9a-f]+>", r"...", text)
    # Annotations are strings where the module defers them.
    return re.sub(r"'([^']*)'(?=[,)=\s]|$)", _unquoted, text)


def folded(head: str) -> str:
    """A signature that is too long for a line has one parameter on each, as a formatter would write it."""
    if len(head) <= WIDTH:
        return head
    begin = head.index("(") + 1
    pieces, depth, quoted, last = [], 0, False, begin
    for at in range(begin, len(head)):
        sign = head[at]
        quoted ^= sign == "'"
        if quoted:
            continue
        if sign in ")]}" and depth == 0:
            pieces.append(head[last:at])
            inside = "".join(f"    {piece.strip()},\n" for piece in pieces if piece.strip())
            return f"{head[:begin]}\n{inside}{head[at:]}"
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            pieces.append(head[last:at])
            last = at + 1
    return head


def _unquoted(found: re.Match[str]) -> str:
    """A quoted annotation without its quotes; a default that is a string keeps them."""
    before = found.string[: found.start()].rstrip()
    return found.group(1) if before.endswith((":", "->")) else found.group()


def docstring(thing: Any) -> str:
    """The docstring as Markdown: examples of the interpreter become code."""
    text = inspect.getdoc(thing) or ""
    parts = []
    for paragraph in re.split(r"\n\s*\n", text):
        is_code = paragraph.startswith((">>>", "    "))
        parts.append(f"```text\n{inspect.cleandoc(paragraph)}\n```" if is_code else paragraph)
    return "\n\n".join(parts)


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that are its own, or inherited from a class of Misstep."""
    seen = set()
    for base in kind.__mro__:
        if not base.__module__.startswith("misstep"):
            continue
        for name, member in vars(base).items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            plain = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
            if inspect.isfunction(plain) or isinstance(member, property):
                yield name, member


def page(name: str, thing: Any) -> str:
    lines = [f"# misstep.{name}", ""]
    lines += ["```python", _header(name, thing), "```", "", docstring(thing), ""]
    if inspect.isclass(thing):
        fields = dataclasses.fields(thing) if dataclasses.is_dataclass(thing) else ()
        if fields:
            lines += ["## Fields", ""]
        for own in fields:
            about = own.metadata.get("help") or own.metadata.get("description") or ""
            kind = (
                own.type if isinstance(own.type, str) else getattr(own.type, "__name__", own.type)
            )
            lines.append(f"- `{own.name}` (`{kind}`)" + (f": {about}" if about else ""))
        lines.append("")
        for member, value in sorted(members(thing)):
            lines += _member(name, member, value)
    return "\n".join(lines)


def _header(name: str, thing: Any) -> str:
    prefix = "class " if inspect.isclass(thing) else "def "
    return folded(f"{prefix}{name}{signature(thing)}: ...")


def _member(owner: str, name: str, value: Any) -> list[str]:
    if isinstance(value, property):
        return [f"## {owner}.{name}", "", "A property.", "", docstring(value), ""]
    if isinstance(value, (classmethod, staticmethod)):
        head = f"@{type(value).__name__}\n" + folded(f"def {name}{signature(value.__func__)}: ...")
        value = value.__func__
    else:
        head = folded(f"def {name}{signature(value)}: ...")
    return [f"## {owner}.{name}", "", "```python", head, "```", "", docstring(value), ""]


def pages() -> dict[str, str]:
    """The text of each page, by its path on the site."""
    found = {}
    lines = [
        "# Python API",
        "",
        "These are all public names of the package `misstep`. Whatever a command can do, they can do.",
        "",
    ]
    for name in misstep.__all__:
        thing = getattr(misstep, name)
        # Names may differ by case alone, which some file systems do not tell apart.
        file = f"class-{name}" if inspect.isclass(thing) else f"function-{name}"
        found[f"{FOLDER}/{file}.md"] = page(name, thing)
        summary = (inspect.getdoc(thing) or "").split("\n\n")[0]
        lines.append(f"- [{name}]({file}.md): {' '.join(summary.split())}")
    found[f"{FOLDER}/index.md"] = "\n".join([*lines, ""])
    return found
