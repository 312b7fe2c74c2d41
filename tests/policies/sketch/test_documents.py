"""Files that are not a sketch, or not for the task, are refused in one line that says what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from misstep.errors import InputFileError, InputFormatError, MisstepError, UnsupportedError
from misstep.policies.load import load_policy
from misstep.policies.sketch.document import parse_sketch
from misstep.policies.sketch.policy import MAX_BYTES
from misstep.tasks.pddl.load import load_planning_task
from support.sketches import SKETCHES
from support.tasks import small_task

RULE = "(:rule (:conditions (:c_n_gt n)) (:effects (:e_n_dec n)))"
WHOLE = f'(:policy\n(:booleans)\n(:numericals (n "n_count(c_top)"))\n{RULE})'


def with_feature(text: str) -> str:
    return WHOLE.replace("n_count(c_top)", text)


def refused(text: str | bytes, folder: Path, task: str = "gripper-4") -> MisstepError:
    file = folder / "sketch.txt"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(MisstepError) as caught:
        load_policy(f"sketch:--width=0 {file}", small_task(task))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(file))
    assert len(str(caught.value)) < 600
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "the file is empty"),
        ("PK\x03\x04", 1, "the file begins with"),
        ("import os", 1, "the file begins with 'import'"),
        (WHOLE[:-30], 4, "the file ends inside a list"),
        (WHOLE[:40], 3, "a quoted feature does not end"),
        (WHOLE + "\n)", 5, "')' follows the end of the sketch"),
        (WHOLE + WHOLE, 4, "'(' follows the end of the sketch"),
        ("(" * 100_000, 1, "parentheses are nested too deep"),
        ("(:policy " + "a " * 250_000 + ")", None, "the sketch is too long"),
        ("()", 1, "this list has no first word"),
        ("(:sketch)", 1, "':sketch' stands where :policy should"),
        ("(:policy)", 1, "the sketch has no rule"),
        ("(:policy (:booleans) word)", 1, "'word' stands alone"),
        (WHOLE.replace("(:booleans)", "(:concepts)"), 2, "':concepts' is not part of a sketch"),
        (WHOLE.replace("(n ", "(n n "), 3, "this is not a feature"),
        (WHOLE.replace("(:booleans)", '(:numericals (n "n_count(c_bot)"))'), 3, "there are two features 'n'"),
        (WHOLE.replace("e_n_dec n", "e_n_dec m"), 4, "there is no feature 'm'"),
        (WHOLE.replace(":e_n_dec", ":e_n_dec_bot"), 4, "':e_n_dec_bot' does not fit here"),
        (WHOLE.replace(":e_n_dec", ":c_n_gt"), 4, "':c_n_gt' does not fit here"),
        (WHOLE.replace(":e_n_dec", ":e_b_pos"), 4, ":e_b_pos does not fit the feature n"),
        (WHOLE.replace("(:e_n_dec n)", "(:e_n_dec n n)"), 4, "':e_n_dec' does not fit here"),
        (WHOLE.replace("(:conditions (:c_n_gt n)) ", ""), 4, "this is not a rule"),
        (WHOLE.replace(":conditions", ":effects"), 4, "':effects' stands where :conditions should"),
    ],
)  # fmt: skip
def test_malformed_files(text: str, line: int | None, what: str, tmp_path: Path) -> None:
    error = refused(text, tmp_path)
    assert isinstance(error, InputFormatError)
    assert error.what.startswith(what)
    assert error.where == f"{tmp_path / 'sketch.txt'}" + (f":{line}" if line else "")
    assert error.expected


@pytest.mark.parametrize(
    ("feature", "kind", "what"),
    [
        ("n_count(c_or(c_top,c_bot))", UnsupportedError, "there is no element 'c_or'"),
        ("n_counts(c_top)", UnsupportedError, "there is no element 'n_counts'"),
        ("os.system(1)", UnsupportedError, "there is no element 'os.system'"),
        ("", InputFormatError, "the feature ends too early"),
        ("n_count", InputFormatError, "the feature ends too early"),
        ("n_count(c_top", InputFormatError, "the feature ends too early"),
        ("n_count(c_top))", InputFormatError, "')' stands in a wrong place"),
        ("n_count(c_top,c_top)", InputFormatError, "',' stands in a wrong place"),
        ("n_count(c_and(c_top))", InputFormatError, "')' stands in a wrong place"),
        ("n_count()", InputFormatError, "')' stands in a wrong place"),
        ("c_top", InputFormatError, "c_top stands in a wrong place"),
        ("b_nullary(free)", InputFormatError, "b_nullary stands in a wrong place"),
        ("n_count(n_count(c_top))", InputFormatError, "n_count stands in a wrong place"),
        ("n_count(c_some(c_top,c_top))", InputFormatError, "c_top stands in a wrong place"),
        ("n_count(c_primitive(at,x))", InputFormatError, "'x' stands in a wrong place"),
        ("n_count(c_primitive(at,-1))", InputFormatError, "'-1' stands in a wrong place"),
        ("n_count(c_primitive(at,99999999999))", InputFormatError, "'99999999999' stands in a wrong place"),
        ("n_count(" + "c_not(" * 60 + "c_top" + ")" * 61, UnsupportedError, "the feature is too large"),
        ("n_count(" + "c_not(" * 20_000 + "c_top" + ")" * 20_001, UnsupportedError, "the feature is too large"),
        ("n_count(c_primitive(att,0))", UnsupportedError, "the task problem has no predicate or type 'att'"),
        ("n_count(c_primitive(att_g,0))", UnsupportedError, "the task problem has no predicate or type 'att_g'"),
        ("n_count(c_primitive(room_g,0))", UnsupportedError, "the task problem has no predicate or type 'room_g'"),
        ("n_count(c_one_of(ball99))", UnsupportedError, "the task problem has no object 'ball99'"),
        ("n_count(c_primitive(free,1))", UnsupportedError, "c_primitive(free,1) does not fit free"),
        ("n_count(r_primitive(at,0,2))", UnsupportedError, "r_primitive(at,0,2) does not fit at"),
    ],
)  # fmt: skip
def test_bad_features(feature: str, kind: type[MisstepError], what: str, tmp_path: Path) -> None:
    error = refused(with_feature(feature), tmp_path)
    assert type(error) is kind
    assert error.what.replace(small_task("gripper-4").name, "problem").startswith(what)
    assert error.where == f"{tmp_path / 'sketch.txt'}:3: feature n"
    assert error.expected


def test_a_wide_feature(tmp_path: Path) -> None:
    text = "c_top"
    for _ in range(14):
        text = f"c_and({text},{text})"
    error = refused(with_feature(f"n_count({text})"), tmp_path)
    assert error.what == "the feature is too large"


def test_sketches_of_other_domains(tmp_path: Path) -> None:
    error = refused(SKETCHES["ferry"], tmp_path)
    assert isinstance(error, UnsupportedError)
    assert "'empty-ferry'" in error.what
    assert "the domain gripper" in str(error)
    text = with_feature("n_count(c_top)").replace("(:booleans)", '(:booleans (b "b_nullary(at)"))')
    assert "which has positions 0 to 1" in str(refused(text, tmp_path))
    text = with_feature("n_count(c_primitive(empty-ferry,0))")
    assert "which has no positions" in str(refused(text, tmp_path, "ferry-3"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert "not UTF-8" in str(refused(b"(:policy\n\xff)", tmp_path))
    assert isinstance(refused(b" " * (MAX_BYTES + 1), tmp_path), InputFileError)
    with pytest.raises(InputFileError, match="no such file"):
        load_policy(f"sketch:--width=0 {tmp_path / 'none'}", small_task("gripper-4"))


def test_names_in_capitals_are_those_of_pddl() -> None:
    text = with_feature("n_count(c_primitive(AT,0))")
    assert "c_primitive(at,0)" in str(parse_sketch(text, "x").features[0].element)


def test_atoms_that_the_states_do_not_have(tmp_path: Path) -> None:
    """Without the variables that do not matter for the goal, nobody knows whether a cell is visited."""
    from misstep.tasks.domains import generate
    from misstep.tasks.domains.write import write_instance

    files = write_instance(generate("visitall", seed=1, width=3, height=3, percent=40), tmp_path)
    text = with_feature("n_count(c_primitive(visited,0))")
    (tmp_path / "sketch.txt").write_text(text)
    spec = f"sketch:--width=0 {tmp_path / 'sketch.txt'}"
    assert load_policy(spec, load_planning_task(*files)).set_valued
    with pytest.raises(UnsupportedError, match=r"do not say whether \(visited .*\) holds"):
        load_policy(spec, load_planning_task(*files, keep_unimportant=False))


def test_goals_that_are_no_conjunction_of_atoms(tmp_path: Path) -> None:
    (tmp_path / "d.pddl").write_text(
        "(define (domain d) (:requirements :strips :negative-preconditions) (:predicates (p ?x) (q ?x) (q_g ?x))"
        " (:action a :parameters (?x) :precondition (p ?x) :effect (and (not (p ?x)) (q ?x) (q_g ?x))))"
    )
    (tmp_path / "p.pddl").write_text(
        "(define (problem one) (:domain d) (:objects o) (:init (p o)) (:goal (and (q o) (not (p o)))))"
    )
    task = load_planning_task(tmp_path / "d.pddl", tmp_path / "p.pddl")
    file = tmp_path / "sketch.txt"
    file.write_text(with_feature("n_count(c_primitive(p,0))"))
    assert load_policy(f"sketch:--width=0 {file}", task).set_valued
    file.write_text(with_feature("n_count(c_primitive(p_g,0))"))
    with pytest.raises(
        UnsupportedError, match="p_g is not defined, since the goal of one contains"
    ):
        load_policy(f"sketch:--width=0 {file}", task)
    file.write_text(with_feature("n_count(c_primitive(q_g,0))"))
    with pytest.raises(UnsupportedError, match="q_g is a predicate and the goal copy of q"):
        load_policy(f"sketch:--width=0 {file}", task)
