"""A model in a folder names files of the user: as parts of it, or as the interface of its networks."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import misstep
from misstep.errors import InputFormatError
from misstep.tasks.jani.load import rebuild
from support.jani import TINY_LINE, write

SECRET = "what nobody else may read"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "home" / "secret.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"secret": SECRET}))
    return file


def campaign_of(document: dict[str, Any], tmp_path: Path) -> Path:
    task = misstep.load_task(write(document, folder=tmp_path))
    misstep.test(task, "first", runs=3, out=tmp_path / "c").close()
    return tmp_path / "c"


def is_in(folder: Path) -> bool:
    return any(SECRET in file.read_text() for file in folder.rglob("*") if file.is_file())


def test_exports_hold_no_files_that_a_remark_includes(tmp_path: Path, secret: Path) -> None:
    document = copy.deepcopy(TINY_LINE)
    document["metadata"] = {"note": {"file": str(secret)}}
    with misstep.open_campaign(campaign_of(document, tmp_path)) as campaign:
        campaign.export("tests", tmp_path / "tests")
        campaign.export("model", tmp_path / "exported.jani", bug=campaign.bugs[0].id)
    assert (tmp_path / "exported.jani").is_file()
    assert not is_in(tmp_path / "tests")
    assert SECRET not in (tmp_path / "exported.jani").read_text()


def test_exports_hold_no_file_that_is_not_an_interface(tmp_path: Path, secret: Path) -> None:
    document = copy.deepcopy(TINY_LINE)
    document["properties"][0]["expression"]["file"] = str(secret)
    with (
        misstep.open_campaign(campaign_of(document, tmp_path)) as campaign,
        pytest.raises(InputFormatError, match=r"secret\.json") as caught,
    ):
        campaign.export("tests", tmp_path / "tests")
    assert SECRET not in str(caught.value)
    assert not is_in(tmp_path / "tests")


def test_a_stored_model_includes_only_what_was_stored_with_it(tmp_path: Path) -> None:
    document = copy.deepcopy(TINY_LINE)
    (tmp_path / "part.json").write_text(json.dumps(document["variables"]))
    document["variables"] = {"file": "part.json"}
    task = misstep.load_task(write(document, folder=tmp_path))
    assert isinstance(task, misstep.Model)
    assert rebuild(task.source).digest == task.digest
    files = {name: own for name, own in task.source["files"].items() if "part" not in name}
    with pytest.raises(InputFormatError, match="variables"):
        rebuild({**task.source, "files": files})


def test_a_stored_property_is_not_looked_for_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "others.json").write_text(json.dumps(TINY_LINE["properties"]))
    model, others = write(TINY_LINE, folder=tmp_path), str(tmp_path / "others.json")
    task = misstep.load_task(model, property=others)
    assert isinstance(task, misstep.Model)
    assert rebuild(task.source).digest == task.digest
    files = {name: own for name, own in task.source["files"].items() if name != others}
    with pytest.raises(misstep.MisstepError, match="no property and no file"):
        rebuild({**task.source, "files": files})
