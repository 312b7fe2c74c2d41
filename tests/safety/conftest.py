"""The models that policies over labels are tested on."""

from __future__ import annotations

import pytest

from misstep.tasks.jani.load import load_jani
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.models import generate_model, write_model
from support import jani


@pytest.fixture
def task() -> JaniTask:
    return jani.task(jani.TINY_LINE)


@pytest.fixture(scope="session")
def line(tmp_path_factory: pytest.TempPathFactory) -> JaniTask:
    path = tmp_path_factory.mktemp("line") / "line.jani"
    write_model(generate_model("two-way-line", cells=5, packages=2, drop=True), path)
    return load_jani(path)
