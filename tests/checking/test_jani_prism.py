"""PRISM models by way of stormpy: both readers agree on the translation, and Storm on the number of states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from misstep.errors import (
    InputFormatError,
    MissingDependencyError,
    MisstepError,
    UnsupportedError,
    UsageError,
)
from misstep.tasks.jani.load import load_jani, rebuild
from misstep.tasks.jani.task import Silent
from support.commands import misstep
from support.jani_readers import agrees

WALK = """mdp
const int N;
const double p = 0.1;
formula last = x=N;
global g : [0..1] init 0;
module m
  x : [0..N] init 0;
  b : bool init false;
  [go] x<N -> 1-p : (x'=x+1) + p : (b'=true);
  [] b & x<N -> (b'=false);
  [stay] last -> true;
endmodule
module n = m [x=y, b=c] endmodule
label "crash" = x=2 & b;
label "done" = last;
rewards "r" [go] true : 1; endrewards
"""


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    path = tmp_path / "walk.prism"
    path.write_text(WALK)
    return path


def test_without_stormpy_a_prism_model_is_refused_in_one_line(
    walk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says what to install. The test works whether stormpy is installed or not."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingDependencyError, match=r"walk\.prism") as found:
        load_jani(walk)
    assert found.value.hint is not None
    assert "misstep[prism]" in found.value.hint


# What stands in the place of stormpy, and what is said of it.
BROKEN = {
    "import os; os.kill(os.getpid(), 11)": "its process ended by signal 11",
    "import os; os._exit(3)": "its process ended with exit code 3",
    "while True: pass": "no answer within 2 s",
    "x = bytearray(2**33)": "MemoryError",
    "raise ImportError('libfoo')": "cannot be loaded: libfoo",
    "def parse_prism_program(*_, **__): raise RuntimeError('line 3: nonsense')": "line 3: nonsense",
    "def parse_prism_program(*_, **__): print('x' * 99999, file=open('written', 'w'))": "File too large",
    "import os; os.write(1, b'chatter'); raise RuntimeError('said')": "said",
}


@pytest.mark.parametrize("code", BROKEN)
def test_what_goes_wrong_in_stormpy_ends_nobody_else(
    code: str, walk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few kilobytes of brackets end it by a signal."""
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "stormpy.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path / "packages")
    monkeypatch.setattr("misstep.tasks.jani.prism.SECONDS", 2 if "while" in code else 60)
    monkeypatch.chdir(tmp_path)
    with pytest.raises((InputFormatError, MissingDependencyError)) as found:
        load_jani(walk, unsafe="x = 1")
    assert BROKEN[code] in found.value.what
    assert found.value.where == str(walk)


def test_deep_prism_models_are_refused(tmp_path: Path) -> None:
    stormpy()
    deep = tmp_path / "deep.prism"
    deep.write_text(WALK.replace("b & x<N", "(" * 100_000 + "b" + ")" * 100_000))
    with pytest.raises(InputFormatError, match="stormpy cannot read it: its process ended"):
        load_jani(deep, unsafe="x = 1")


def stormpy() -> Any:
    return pytest.importorskip("stormpy", reason="PRISM models are translated by stormpy")


@pytest.mark.parametrize("silent", ["step", "as_action"])
def test_prism_models_agree_in_both_readers(walk: Path, silent: Silent) -> None:
    stormpy()
    task = load_jani(walk, silent=silent, parameters={"N": 3}, unsafe="crash", goal='"done"')
    assert task.labels == ("go", "stay", "τ")
    assert set(task.variable_names) == {"g", "x", "b", "y", "c"}
    assert agrees(task) > 12
    again = rebuild(task.source)  # without the file, and without stormpy
    walk.unlink()
    assert agrees(again) == agrees(task)


def test_as_many_states_as_storm_counts(walk: Path) -> None:
    storm = stormpy()
    fixed = walk.with_name("fixed.prism")
    fixed.write_text(WALK.replace("const int N;", "const int N = 4;"))
    counted = storm.build_model(storm.parse_prism_program(str(fixed)))
    task = load_jani(walk, silent="as_action", parameters={"N": 4}, unsafe="false")
    assert len(task.space(raw=True)) == counted.nr_states


def test_wrong_prism_models_are_refused(tmp_path: Path, walk: Path) -> None:
    stormpy()
    broken = tmp_path / "broken.prism"
    broken.write_text(WALK.replace("[0..N] init", "[0..N init"))
    with pytest.raises(InputFormatError, match="stormpy cannot read it") as found:
        load_jani(broken, unsafe="x = 1")
    assert found.value.where == str(broken)
    timed = tmp_path / "timed.prism"
    timed.write_text("ctmc\nmodule m\n x : [0..3] init 0;\n [a] x<3 -> 2 : (x'=x+1);\nendmodule\n")
    with pytest.raises(UnsupportedError, match="continuous-time Markov chains"):
        load_jani(timed, unsafe="x = 1")
    blind = tmp_path / "blind.prism"
    blind.write_text(
        "pomdp\nobservables x endobservables\nmodule m\n x : [0..1] init 0;\n [a] true -> (x'=1);\nendmodule\n"
    )
    with pytest.raises(UnsupportedError, match="PRISM models of type 'pomdp' are not supported"):
        load_jani(blind, unsafe="x = 1")
    with pytest.raises((InputFormatError, UsageError), match="N"):
        load_jani(walk, unsafe="x = 1")


def test_a_prism_model_is_tested_from_the_command_line(walk: Path, tmp_path: Path) -> None:
    stormpy()
    chosen = ("--unsafe", "crash", "--goal", "done", "--constant", "N=3", "--silent", "step")
    counted = misstep("census", walk, *chosen)
    assert counted.returncode == 0, counted.stderr
    tested = misstep("test", walk, *chosen, "--policy", "first", "-o", tmp_path / "found")
    assert tested.returncode in (0, 1), tested.stderr
    assert misstep("replay", tmp_path / "found").returncode == 0


@pytest.mark.soundness
def test_both_readers_agree_on_the_examples_of_stormpy() -> None:
    """The examples that stormpy brings along: both readers agree, and there are as many states as Storm has."""
    storm = stormpy()
    folder = Path(storm.__file__).parent / "examples" / "files"
    files = [path for end in ("nm", "pm") for path in sorted(folder.rglob(f"*.{end}"))]
    compared = 0
    for path in files:
        try:
            task = load_jani(path, silent="as_action", unsafe="false")
        except MisstepError:
            continue  # open parameters, and what is refused
        counted = storm.build_model(storm.parse_prism_program(str(path), prism_compatibility=True))
        assert len(task.space(raw=True)) == counted.nr_states, path.name
        assert agrees(task, 100) <= counted.nr_states
        assert agrees(load_jani(path, silent="step", unsafe="false"), 100) > 1
        compared += 1
    assert compared >= 25
