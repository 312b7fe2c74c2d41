"""Settings: the tree, writing and reading it as TOML, and what is refused."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.options import OF_MODELS, OF_PLANNING, WORLD_OPTIONS, make_settings
from misstep.campaigns.settings import ModelSettings, PlanningSettings, Settings
from misstep.campaigns.testing import read_settings
from misstep.campaigns.testing import test as run_campaign
from misstep.campaigns.toml import from_toml, to_toml
from misstep.errors import InputFormatError, MisstepError, UsageError
from misstep.fuzzing.settings import Settings as FuzzingSettings
from support.campaigns import small_model
from support.tasks import small_task

TEXT = st.text(st.characters(codec="utf-8"))
SCALAR = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), TEXT
)
VALUE = st.recursive(
    SCALAR, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=10
)


# -- TOML -----------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(st.dictionaries(TEXT, VALUE))
def test_settings_survive_toml(tree: dict[str, Any]) -> None:
    assert from_toml(to_toml(tree)) == tree


def test_readable() -> None:
    tree = {"seed": 1, "fuzz": {"bias": "loop", "deep": {"x": 1.5}}, "tasks": ["a", "b"]}
    assert to_toml(tree) == (
        'seed = 1\ntasks = ["a", "b"]\n\n[fuzz]\nbias = "loop"\n\n[fuzz.deep]\nx = 1.5\n'
    )


def test_values_that_toml_does_not_have_are_refused() -> None:
    with pytest.raises(UsageError, match="setting seed"):
        to_toml({"seed": object()})
    with pytest.raises(UsageError, match="setting seed"):
        to_toml({"seed": None})  # whoever writes settings finds a word for it
    with pytest.raises(InputFormatError, match="not TOML"):
        from_toml("seed = ")


@pytest.mark.parametrize("text", ["seed = " + "9" * 5000, "seed = " + "[" * 5000, "a = 2001-99-99"])
def test_what_the_reader_of_toml_stumbles_over(text: str) -> None:
    with pytest.raises(InputFormatError, match="not TOML"):
        from_toml(text)


# -- the tree -------------------------------------------------------------------------------------

OTHER_PLANNING: dict[str, Any] = {
    "objective": "goal",
    "chunk": 3,
    "round": 2,
    "isolate": True,
    "require_solved": True,
    "revisit": "avoid",
    "permitted_limit": 77,
    "costly_some": True,
    "risk": True,
    "fuzz": "loop",
    "pool": 7,
    "walk_length": 6,
    "fuzz_time": 2.5,
    "walks": 4,
    "min_weight": 1e-05,
    "unbiased_share": 0.25,
    "estimate": "h*",
    "state_budget": 11,
    "expansion_budget": 13,
    "novelty": 1,
    "dead_ends": "none",
    "patience": 99,
}
OTHER_MODEL: dict[str, Any] = {
    "fuzz": "sample-1",
    "runs": 12,
    "radius": 2,
    "evaluations": 1000,
    "open_evaluations": 9000,
    "lookahead_cap": 10,
    "inapplicable": "stop_safe",
    "batch": 3,
    "on_revisit": "stop",
    "layers": "all",
    "distance": "unsafe",
    "severity": "all",
    "severity_budget": 500,
    "risk": True,
}
OTHER = {"oracle": "undo", "seed": 2**64 - 1, "max_steps": 17, "fault_budget": 5}


def through_a_file(settings: Settings, folder: Path) -> Settings:
    path = folder / "settings.toml"
    path.write_text(to_toml(settings.as_dict()))
    return read_settings(path)


def test_every_setting_survives_the_file(tmp_path: Path) -> None:
    assert set(OTHER_PLANNING) == set(OF_PLANNING)
    assert set(OTHER_MODEL) == set(OF_MODELS)
    for world, others in (
        ("planning", {**OTHER_PLANNING, **OTHER}),
        ("model", {**OTHER_MODEL, **OTHER, "oracle": "tarjan"}),
    ):
        plain = make_settings(world, "first", {})
        assert through_a_file(plain, tmp_path) == plain
        for name, value in others.items():
            changed = make_settings(world, "first", {name: value})
            assert changed != plain, name
            assert through_a_file(changed, tmp_path) == changed
        everything = make_settings(world, 'a "policy" \\ ü', others)
        assert through_a_file(everything, tmp_path) == everything
    assert set(WORLD_OPTIONS["planning"]) - set(OF_PLANNING) == {"preset"}


def optional(kind: type) -> list[str]:
    return [own.name for own in dataclasses.fields(kind) if "None" in str(own.type)]


def test_none_is_written_as_a_word(tmp_path: Path) -> None:
    nothing: dict[str, Any] = dict.fromkeys(optional(FuzzingSettings))
    fuzzing = FuzzingSettings(**nothing)
    settings = Settings("first", fault_budget=None, planning=PlanningSettings(fuzzing=fuzzing))
    model = Settings("first", "model", fault_budget=None, model=ModelSettings(inapplicable=None))
    for own in (settings, model):
        assert through_a_file(own, tmp_path) == own
        assert 'fault_budget = "none"' in to_toml(own.as_dict())
    assert 'time_limit = "none"' in to_toml(settings.as_dict())
    # The word is one only where nothing is a choice.
    with pytest.raises(InputFormatError, match="seed"):
        read_settings({"policy": "first", "seed": "none"})


def test_a_file_with_a_few_settings(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        "# mine\nseed = 5\n\n[planning]\nchunk = 2\n\n[planning.fuzzing]\nmax_states = 4\n"
    )
    expected = make_settings("planning", "first", {"seed": 5, "chunk": 2, "pool": 4})
    assert dataclasses.replace(read_settings(path), policy="first") == expected
    task = small_task("gripper-4")
    with run_campaign(task, "first", config=path) as found:
        assert found.settings == expected
        assert len(found) == 4
    with run_campaign(task, "first", config=path, pool=3, seed=1) as found:  # options come last
        assert found.settings == make_settings(
            "planning", "first", {"seed": 1, "chunk": 2, "pool": 3}
        )
    with pytest.raises(UsageError, match="policy to test is missing"):
        run_campaign(task, None, config=path)
    path.write_text('policy = "first"\nseed = 5\n')
    for tested in (task, small_model("two-way-line")):  # the world is that of the task
        with run_campaign(tested, None, config=path, max_steps=50) as found:
            assert (found.settings.policy, found.settings.seed) == ("first", 5)
    path.write_text("[model]\nruns = 3\n")
    with run_campaign(small_model("two-way-line"), "first", config=path) as found:
        assert found.summary.runs == 3
    with pytest.raises(MisstepError, match=r"\[model\] among the settings of a planning campaign"):
        run_campaign(task, "first", config=path)
    path.write_text('world = "model"\n')
    with pytest.raises(UsageError, match="the settings are of a model campaign"):
        run_campaign(task, "first", config=path)


def test_a_replay_remarks_on_other_settings_in_the_file(tmp_path: Path) -> None:
    run_campaign(small_task("gripper-4"), "first", out=tmp_path / "c", pool=3).close()
    file = tmp_path / "c" / "config.toml"
    text = file.read_text()
    for content, says in (
        (f"# my first campaign\n{text}", None),
        (text.replace("seed = 0", "seed = 7"), "not the settings of the campaign"),
        ("seed = = 7", "config.toml"),
    ):
        file.write_text(content)
        with open_campaign(tmp_path / "c") as own:
            found = own.replay()
        assert found.ok
        assert len(found.report.remarks) == (says is not None)
        assert says is None or says in found.report.remarks[0]


def test_the_settings_of_a_campaign_make_it_again(tmp_path: Path) -> None:
    task = small_task("gripper-4")
    with (
        run_campaign(
            task, "random:3", out=tmp_path / "a", pool=5, chunk=2, oracle="undo", seed=4
        ) as first,
        run_campaign(task, None, config=tmp_path / "a" / "config.toml") as again,
    ):
        assert again.settings == first.settings
        assert [r.state for r in again.records] == [r.state for r in first.records]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("colour = 1", "no setting 'colour'; expected one of policy, world"),
        ("[planning]\nchunks = 1", "no setting 'chunks'"),
        ("[planning.fuzzing]\nbais = 1", "no setting 'bais'"),
        ("planning = 3", r"planning is 3; expected a table \[planning\]"),
        ("seed = -1", "the seed is -1; expected from 0"),
        ("seed = 1.5", "the seed is 1.5; expected a whole number"),
        ("seed = true", "the seed is True"),
        ("oracle = 3", "the oracle is 3"),
        ('oracle = "nonsense"', "nonsense"),
        ("policy = 3", "the policy is 3"),
        ('world = "both"', "no world 'both'"),
        ("max_steps = 0", "max_steps is 0; expected a positive number"),
        ('max_steps = "many"', "max_steps is 'many'"),
        ("fault_budget = 0", "fault_budget is 0"),
        ("[planning]\nchunk = 2.0", "chunk is 2.0"),
        ("[planning]\nisolate = 1", "isolate is 1; expected true or false"),
        ('[planning]\nobjective = "fame"', "no objective 'fame'"),
        ("[planning.fuzzing]\nmax_states = 0", "max_states"),
        ('[planning.fuzzing]\nmax_states = "x"', "max_states"),
        ('[planning.fuzzing]\nbias = "odd"', "odd"),
        ('[planning.fuzzing]\ntime_limit = "soon"', "time_limit"),
        ("[model]\nruns = 0", "runs is 0"),
        ("[model]\nradius = 2", "the radius is 2; expected 0, 1, 2"),
        ('[model]\nradius = "many"', "the radius is 'many'"),
        ('[model]\nfuzz = "detour"', "no fuzzing 'detour'"),
        ('[model]\ninapplicable = "guess"', "inapplicable is 'guess'"),
        ('oracle = "aras"\n[model]\nruns = 1', "no safety oracle 'aras'"),
        ("max_steps = 4294967296\n[model]\nruns = 1", "max_steps|steps"),
        ("seed = ", "not TOML"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(InputFormatError, match=says) as caught:
        read_settings(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MisstepError, match=r"[nN]o such file"):
        read_settings(tmp_path / "nowhere.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputFormatError, match="not UTF-8"):
        read_settings(tmp_path / "binary.toml")


@pytest.mark.parametrize(
    ("world", "options", "says"),
    [
        ("planning", {"colour": 1}, "no option 'colour'; expected one of"),
        ("planning", {"runs": 1}, "runs is not an option for a planning task"),
        ("model", {"pool": 1}, "pool is not an option for a model"),
        ("model", {"preset": "p22"}, "preset is not an option for a model"),
        ("planning", {"pool": 0}, "pool is 0"),
        ("planning", {"walk_length": 0}, "walk_length is 0"),
        ("planning", {"oracle": ""}, "the oracle is empty"),
        ("model", {"radius": -1}, "the radius is '-1'"),
        ("model", {"radius": 0.5}, "the radius is '0.5'"),
        ("model", {"runs": 0}, "runs is 0"),
        ("model", {"fuzz": "detour"}, "no fuzzing"),
        ("model", {"oracle": "aras"}, "no safety oracle"),
        ("model", {"max_steps": 2**32}, "max_steps|steps"),
        ("model", {"seed": 2**64}, "the seed is"),
        ("model", {"seed": -1}, "the seed is"),
    ],
)
def test_wrong_options_are_refused(world: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        make_settings(world, "first", options)


def test_radius_as_a_number() -> None:
    assert make_settings("model", "first", {"radius": math.inf}).of_model.within == math.inf
    assert make_settings("model", "first", {"radius": 2}).of_model.within == 2
    assert make_settings("model", "first", {"radius": "4"}).of_model.largest == 4
    assert make_settings("model", "first", {"radius": 1}).of_model.largest == 2
