"""Python code in the documentation runs as it is written, from the top of its page to the bottom."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from misstep.tasks.generate import generate
from misstep.tasks.models import generate_model, write_model
from support.chat_server import chat_server
from support.transcripts import ROOT, blocks, pages

CODE = {page: [block for block in blocks(page) if block.language == "python"] for page in pages()}
# What a page that is no tutorial takes for granted.
BEFORE = {
    "docs/safety.md": """
from misstep import load_task
from misstep.safety import jani_transitions
model, policy = jani_transitions(load_task("model.jani")), "first"
""",
    "docs/fuzzing.md": """
import misstep
from misstep.runs.runner import PolicyRunner
task = misstep.load_task("domain.pddl", "problem.pddl")
policy = misstep.load_policy("heuristic:ff", task)
""",
}
# Packages that the code of a page needs and the tests have not; continuous integration runs these with `make neural`,
# and what no job installs is shown by the tests that are named.
NEEDS = {
    "docs/cluster.md": "distributed",
    "docs/how-to/pytorch.md": "torch",
    "docs/scaling.md": "distributed",
    "docs/service.md": "torch",
    "docs/safety-training.md": "stable_baselines3",  # tests/policies/sb3
    "docs/training.md": "torch",
    "docs/tutorials/pytorch-policy.md": "torch",
}
LATER = {"docs/cluster.md", "docs/scaling.md", "docs/service.md"}  # may have code or none
# Blocks that are a part of a file and not a program, by how they begin.
PARTS = ("@pytest.", "rows = torch.randn")


@pytest.mark.parametrize("page", [page for page, code in CODE.items() if code])
def test_code_runs_as_it_is_written(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = NEEDS.get(page)
    if needed and find_spec(needed) is None:
        pytest.skip(f"needs {needed}")
    monkeypatch.chdir(tmp_path)
    write_model(generate_model("one-way-line", cells=5, packages=1), tmp_path / "model.jani")
    generate("gripper", balls=2).write(tmp_path)
    with chat_server() as server:
        names: dict[str, object] = {"__name__": "__main__", "URL": server.url}
        exec(BEFORE.get(page, ""), names)
        for block in CODE[page]:
            if not block.code.startswith(PARTS):
                # Lines as in the page, so that a traceback leads there.
                exec(compile("\n" * (block.line - 1) + block.code, ROOT / page, "exec"), names)


def test_every_exception_is_needed() -> None:
    named = {*BEFORE, *NEEDS} - LATER
    assert not named - {page for page, code in CODE.items() if code}
    everything = [block.code for code in CODE.values() for block in code]
    for part in PARTS:
        assert any(code.startswith(part) for code in everything)
