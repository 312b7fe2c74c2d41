"""The reference of the commands, one page each, made from what the command line itself declares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from misstep import errors
from misstep.cli.verbs import VERBS, in_words, load_command, plain
from misstep.errors import MisstepError

FOLDER = "reference/commands"
EXIT_CODES = Path(__file__).resolve().parents[1] / "exit-codes.md"
# Words of a command that name an argument or an option, and would be taken for marks of Markdown.
_MARKS = re.compile(r"([\\*_<>\[\]|`])")
# An option in a sentence, which would be broken after its hyphens.
_OPTION = re.compile(r"(?<![\w`-])--[a-z][a-z-]*[a-z]")
_EXAMPLE = re.compile(r"(?s)^Examples?: *(.*)$")
# What every command can end with, whatever it does; the rest is told on the page of all exit codes.
ALWAYS = (2, 23, 30, 31, 32, 34, 39)


def escaped(text: str) -> str:
    """Text as Markdown shows it, in one line; options in it are code."""
    return _OPTION.sub(r"`\g<0>`", _MARKS.sub(r"\\\1", " ".join(text.split())))


def commands() -> dict[str, Any]:
    """Every command by its words, such as `train asnet`; the groups among them."""
    found: dict[str, Any] = {}
    for name, verb in VERBS.items():
        command = load_command(name, verb)
        found[name] = command
        for inner in getattr(command, "commands", {}):
            context = command.make_context(f"misstep {name}", [], resilient_parsing=True)
            _, loaded, _ = command.resolve_command(context, [inner])
            found[f"{name} {inner}"] = loaded
    return found


def context_of(words: str, command: Any) -> Any:
    return command.context_class(command, info_name=f"misstep {words}")


def groups(words: str, command: Any) -> dict[str, list[tuple[str, str]]]:
    """The options of a command by the heading that they have in its help: how each is written, and its help."""
    found: dict[str, list[tuple[str, str]]] = {}
    context = context_of(words, command)
    for parameter in command.get_params(context):
        line = parameter.get_help_record(context)
        if line is None:
            continue
        is_argument = parameter.param_type_name == "argument"
        heading = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None)
        found.setdefault(heading or "Options", []).append((plain(line[0]), in_words(line[1])))
    return dict(sorted(found.items(), key=lambda own: (own[0] != "Arguments", own[0] == "Options")))


def paragraphs(command: Any) -> tuple[list[str], list[str]]:
    """The help of a command: what it says, and its examples."""
    told, examples = [], []
    for paragraph in (command.help or "").replace("\b\n", "").split("\n\n"):
        example = _EXAMPLE.match(paragraph.strip())
        if example:
            examples += re.findall(r"(?s)misstep .*?(?=\nmisstep |\Z)", example[1])
        elif paragraph.strip():
            told.append(" ".join(paragraph.split()))
    return told, [" ".join(example.split()) for example in examples]


def page(words: str, command: Any) -> str:
    told, examples = paragraphs(command)
    context = context_of(words, command)
    usage = " ".join(command.get_usage(context).removeprefix("Usage:").split())
    lines = [f"# misstep {words}", ""]
    for paragraph in told:
        lines += [escaped(paragraph), ""]
    lines += ["```text", usage, "```", ""]
    if examples:
        lines += [
            "## Example" + ("s" if len(examples) > 1 else ""),
            "",
            "```text",
            *examples,
            "```",
            "",
        ]
    for heading, options in groups(words, command).items():
        lines += [f"## {heading}", ""]
        for written, about in options:
            lines += [f"`{written}`", f": {escaped(about) or '(no help)'}", ""]
    lines += list(_exit_codes(words))
    return "\n".join(lines)


def group_page(words: str, inner: dict[str, Any]) -> str:
    lines = [f"# misstep {words}", "", VERBS[words].help, ""]
    for own, command in inner.items():
        told, _ = paragraphs(command)
        summary = told[0][0].upper() + told[0][1:] if told else ""
        lines.append(f"- [misstep {own}]({own.replace(' ', '/')}.md): {escaped(summary)}")
    return "\n".join([*lines, ""])


def _exit_codes(words: str) -> Iterator[str]:
    yield "## Exit codes"
    yield ""
    up = "../" * (2 + words.count(" "))
    yield f"The code is 0 if the command has done its work. [All exit codes]({up}exit-codes.md) have their own page."
    yield ""
    yield "| code | meaning |"
    yield "|---|---|"
    own = dict(_own_codes(words.split()[0]))
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, MisstepError) and kind.exit_code in ALWAYS:
            own.setdefault(kind.exit_code, escaped((kind.__doc__ or "").splitlines()[0]))
    for code, meaning in sorted(own.items()):
        yield f"| {code} | {meaning} |"
    yield ""


def _own_codes(verb: str) -> Iterator[tuple[int, str]]:
    """What the page of exit codes says of this command alone."""
    for code, meaning in re.findall(r"(?m)^\| (\d+) \| (.*?) \|", EXIT_CODES.read_text()):
        parts = [part.strip() for part in meaning.split(";")]
        named = [part for part in parts if f"`{verb}`" in part]
        if named:
            yield int(code), "; ".join([parts[0], *(part for part in named if part != parts[0])])


def pages() -> dict[str, str]:
    """The text of each page, by its path on the site."""
    known = commands()
    found = {}
    for words, command in known.items():
        inner = {own: its for own, its in known.items() if own.startswith(f"{words} ")}
        name = f"{FOLDER}/{words.replace(' ', '/')}.md"
        found[name] = group_page(words, inner) if inner else page(words, command)
    lines = ["# Commands", "", "Every command also takes `-h`, `--json` and `--debug`.", ""]
    lines += [
        f"- [misstep {name}]({name}.md): {escaped(verb.help)}" for name, verb in VERBS.items()
    ]
    found[f"{FOLDER}/index.md"] = "\n".join([*lines, ""])
    return found
