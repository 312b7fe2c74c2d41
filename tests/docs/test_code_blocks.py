"""Python code in the documentation runs as it is written, from the top of its page to the bottom."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from misstep.tasks.models import generate_model, write_model
from support.chat_server import chat_server
from support.pages import DOCS

BLOCK = re.compile(r"(?m)^```python\n(.*?)^```$", re.DOTALL)
# What a page that is no tutorial takes for granted.
BEFORE = {
    "python.md": "",
    "drawings.md": "",
    "states.md": "",
    "policies/python.md": "",
    "settings.md": "",
    "shrinking.md": "",
    "report.md": "",
    "safety.md": """
from misstep import load_task
from misstep.safety import jani_transitions
model, policy = jani_transitions(load_task("model.jani")), "first"
""",
    "risk.md": "",
    "families.md": "",
    "label-policies.md": "",
    "policies/program.md": "",
    "policies/rules.md": "",
    "policies/llm.md": "",
    "policies/sketch.md": "",
    "policies/wl.md": "",
    "policies/sb3.md": "",
    "policies/sets.md": "",
    "policies/zoo.md": "",
    "exports.md": "",
    "compare.md": "",
    "gates.md": "",
    "prove.md": "",
    "retest.md": "",
    "experiments.md": "",
}


def blocks(page: Path) -> list[tuple[int, str]]:
    """The line where each block begins, and its code."""
    text = page.read_text()
    return [
        (text.count("\n", 0, found.start()) + 1, found.group(1)) for found in BLOCK.finditer(text)
    ]


@pytest.mark.parametrize("name", BEFORE)
def test_code_runs_as_it_is_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_model(generate_model("one-way-line", cells=5, packages=1), tmp_path / "model.jani")
    found = blocks(DOCS / name)
    assert found
    with chat_server() as server:
        names: dict[str, object] = {"__name__": "__main__", "URL": server.url}
        exec(BEFORE[name], names)
        for line, code in found:
            # Lines as in the page, so that a traceback leads there.
            exec(compile("\n" * line + code, DOCS / name, "exec"), names)
