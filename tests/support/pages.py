"""The parts of the documentation that are made from the code: `python tests/support/pages.py` writes them anew.

A part stands between `<!-- made: NAME -->` and `<!-- end -->` in its page. The tests compare each part with what the
code says, so that a page can be neither incomplete nor stale.
"""

from __future__ import annotations

import json
import re
import sqlite3
import textwrap
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from misstep.campaigns import records, schema
from misstep.campaigns.testing import test as run_test
from misstep.experiments.claims import AGREES, DISAGREES, OPEN
from misstep.tasks.generate import generate
from misstep.tasks.load import load_task
from support.forged import FORGERIES

DOCS = Path(__file__).resolve().parents[2] / "docs"
WIDTH = 118
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_EXPERIMENT = re.compile(r"<!-- experiment (\S+) -->\n(.*?)<!-- end of experiment", re.DOTALL)
_PART = re.compile(r"<!-- made: (\S+) -->\n(.*?)<!-- end -->", re.DOTALL)

# The parts of a record, in the order of the page.
KINDS: dict[str, type] = {
    "The record": records.Record,
    "`found`": records.Found,
    "`run`": records.Run,
    "`permitted` of `run`": records.Permitted,
    "`witness`": records.Witness,
    "Members of `verdicts`": records.Opinion,
    "Members of `faults`": records.Fault,
    "`decision` and `better` of a fault, `first` and `second` of a contradiction": records.Decision,
    "Members of `contradictions`": records.Contradiction,
    "`walk` of `found`": records.Operators,
    "`effort`": records.Effort,
    "`times`": records.Times,
}
TABLES = {
    "meta": "the schema, the settings as TOML (`config`), what the policy is (`nature`), whether it is asked again "
    "(`asks`), the digest of the records (`seal`, see `replay.md`), what was measured of families (`families`), "
    "whether the campaign is finished.",
    "tasks": "the tasks or models. `source` is a JSON object, compressed with zlib, with the content of their files.",
    "policy": "which policy was tested.",
    "states": "the tested states: a row for each record. `walk` leads there from the state `reference`; `run` and "
    "`step` say where the policy's run from there begins.",
    "runs": "the runs of the policy. `named` is the operator that it named where that did not apply, `permitted` what "
    "is known of all runs that a set-valued policy permits.",
    "verdicts": "what each oracle says of each state; `low` and `high` are the gap or the radius, `lower` and `upper` "
    "the bounds on the cost of the cheapest plan.",
    "strategies": "of models: what avoids unsafe states, a row for many verdicts, which name its number. `content` is "
    "compressed with zlib; `misstep/checking/shared.py` describes it.",
    "faults": "the faults of each run.",
    "contradictions": "states in which the policy gave two answers, and how often it was asked.",
    "permitted": "the operators that a set-valued policy permits in a state, where a proof needs them.",
    "risks": "of models with `--risk`: bounds on the policy's risk to get into an unsafe state (`low`, `high`) and on "
    "the least possible one.",
    "decisions": "of models with `--risk`: the policy's label in each state that it can get to, null where it stops.",
    "dominance": "the dominance function of a task, or why there is none.",
    "knowledge": "what the rounds of judging hand on to later ones.",
    "fuzzed": "of models: how each batch of runs ended.",
    "units": "which units of work are done.",
    "events": "remarks, and limits that were reached.",
}


def items(pairs: Iterator[tuple[str, str]]) -> Iterator[str]:
    for name, text in pairs:
        yield textwrap.fill(
            f"- `{name}`: {text}",
            WIDTH,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def fields() -> str:
    sections = []
    for title, kind in KINDS.items():
        sections.append(f"### {title}\n\n" + "\n".join(items(records.fields(kind))) + "\n")
    return "\n".join(sections)


def example(record: records.Record) -> str:
    """A record as `misstep records --json` prints it, wrapped, and without times, which differ each time."""
    tree = without_times(record.as_dict())
    lines = ["{"]
    for name, value in tree.items():
        text = f"{json.dumps(name)}: {json.dumps(value)}" + ("," if name != [*tree][-1] else "")
        text = _TEXT.sub(
            lambda found: found.group().replace(" ", "\0"), text
        )  # is not to be broken
        lines += textwrap.wrap(
            text,
            WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
            break_on_hyphens=False,
            break_long_words=False,
        )
    return "```json\n" + "\n".join([*lines, "}"]).replace("\0", " ") + "\n```\n"


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        own = {"times", "at", "seconds"}
        return {
            key: (dict.fromkeys(inner, 0.0) if isinstance(inner, dict) else 0.0)
            if key in own
            else without_times(inner)
            for key, inner in value.items()
        }
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def planning_example() -> str:
    task = load_task(generate("gripper", balls=2))
    task.name = "gripper"
    return example(run_test(task, "noisy:0.3:1+optimal", pool=10).bugs[0])


def model_example() -> str:
    model = load_task(generate("one-way-line", cells=3, packages=1, vmax=2))
    model.name = "line"
    bugs = run_test(model, "first", runs=20).bugs
    return example(min(bugs, key=lambda bug: len(json.dumps(bug.as_dict()))))


def tables() -> str:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        schema.create_tables(connection)
        names = [
            row[0]
            for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        assert set(names) == set(TABLES)
        columns = {
            name: ", ".join(row[1] for row in connection.execute(f"PRAGMA table_info({name})"))
            for name in names
        }
    pairs = ((name, f"({columns[name]}) {text}") for name, text in TABLES.items())
    return f"This is schema {schema.VERSION}.\n\n" + "\n".join(items(iter(pairs))) + "\n"


def forged() -> str:
    """Forged folders, and what a replay says of each."""
    lines = ["| world | forged | `replay` | `replay --full` |", "|---|---|---|---|"]
    for own in FORGERIES:
        plain, full = (
            f"*{text.strip(' :')}*" if text else "nothing" for text in (own.plain, own.full)
        )
        if own.counted is not None:
            plain = f"nothing; {own.counted} are counted as not checked"
        lines.append(f"| {own.world} | {own.what} | {plain} | {full} |")
    return "\n".join(lines) + "\n"


def verdicts() -> str:
    """The pages of results with how many claims of each experiment in them agree."""
    lines = [
        "| page | experiment | scale | claims | agrees | disagrees | not decidable at this scale |",
        "|---|---|---|---|---|---|---|",
    ]
    for page in sorted((DOCS / "results").glob("*.md")):
        text = page.read_text()
        title = text.split("\n", 1)[0].removeprefix("# ").partition(" (`")[0]
        link = f"[{title}](results/{page.name})"
        parts = _EXPERIMENT.findall(text)
        lines += [_counts(link, name, " ".join(part.split())) for name, part in parts]
        if not parts:
            lines.append(f"| {link} | - | - | - | - | - | - |")
    return "\n".join(lines) + "\n"


def _counts(link: str, name: str, part: str) -> str:
    scale = re.search(r"Scale (\w+), (\d+ seeds?)", part)
    told = re.search(r"Of (\d+) claims of (?:the paper, told in our words|ours): ([^.]*)\.", part)
    assert scale is not None, f"the part of {name} has no scale"
    claims, counts = told.groups() if told else ("0", "")
    numbers = {verdict: number for number, verdict in re.findall(r"(\d+) ([a-z ]+)", counts)}
    own = [numbers.get(one, "0") for one in (AGREES, DISAGREES, OPEN)]
    return f"| {link} | `{name}` | {scale[1]}, {scale[2]} | {claims} | {' | '.join(own)} |"


MAKERS: dict[str, Callable[[], str]] = {
    "forged": forged,
    "fields": fields,
    "planning-example": planning_example,
    "model-example": model_example,
    "tables": tables,
    "verdicts": verdicts,
}


def made(text: str) -> str:
    """The page with its parts as the code has them."""

    def part(found: re.Match[str]) -> str:
        name = found.group(1)
        return f"<!-- made: {name} -->\n{MAKERS[name]()}<!-- end -->"

    return _PART.sub(part, text)


def pages() -> list[Path]:
    return [path for path in sorted(DOCS.glob("*.md")) if _PART.search(path.read_text())]


if __name__ == "__main__":
    for page in pages():
        page.write_text(made(page.read_text()))
