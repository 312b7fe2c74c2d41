"""The reader accepts exactly the format, and names the wrong line."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from misstep.checking.sas import Axiom, Effect, Operator, SasTask, Variable, parse_sas, read_sas
from misstep.errors import InputFileError, InputFormatError


def error_of(text: str) -> InputFormatError:
    with pytest.raises(InputFormatError) as caught:
        parse_sas(text, "t.sas")
    assert caught.value.expected
    return caught.value


def test_every_section_is_read(everything: str) -> None:
    assert parse_sas(everything) == SasTask(
        metric=True,
        variables=(
            Variable("var0", -1, ("Atom lit(l1)", "NegatedAtom lit(l1)")),
            Variable("var1", -1, ("Atom at(s1)", "Atom at(s2)", "<none of those>")),
            Variable("var2", 0, ("Atom happy()", "NegatedAtom happy()")),
        ),
        mutex_groups=(((1, 0), (1, 1)),),
        initial_state=(1, 0, 1),
        goal=((0, 0), (1, 2)),
        operators=(
            Operator(
                "press s1",
                ((1, 0),),
                (Effect(((0, 1),), 0, -1, 0), Effect(((0, 0),), 0, -1, 1)),
                7,
            ),
            Operator("leave", (), (Effect((), 1, 0, 2), Effect((), 0, -1, 0)), 0),
        ),
        axioms=(Axiom(((0, 0),), 2, 1, 0),),
    )


def test_without_a_metric_every_operator_costs_one(everything: str) -> None:
    lines = everything.split("\n")
    lines[4] = "0"
    task = parse_sas("\n".join(lines))
    assert not task.metric
    assert [operator.cost for operator in task.operators] == [1, 1]


@pytest.mark.parametrize("end", ["", "\n", "\n\n", " \n"])
def test_the_end_may_be_blank(everything: str, end: str) -> None:
    assert parse_sas(everything.rstrip("\n") + end) == parse_sas(everything)


def test_windows_line_ends(everything: str) -> None:
    assert parse_sas(everything.replace("\n", "\r\n")) == parse_sas(everything)


# Line number, its replacement, and a part of the message.
WRONG_LINES = [
    (1, "begin_metric", "found 'begin_metric'; expected begin_version"),
    (1, " begin_version", "expected begin_version"),
    (2, "4", "version 4 of the SAS format; expected version 3"),
    (3, "", "found ''; expected end_version"),
    (5, "2", "2 is out of range; expected the metric flag (0 to 1)"),
    (5, "true", "found 'true'; expected the metric flag"),
    (6, "end_version", "expected end_metric"),
    (7, "-1", "-1 is out of range; expected the number of variables (at least 0)"),
    (9, "", "found an empty line; expected the name of a variable"),
    (10, "-2", "-2 is out of range; expected an axiom layer (at least -1)"),
    (11, "0", "0 is out of range; expected the number of values (at least 1)"),
    (12, " ", "found an empty line; expected the name of a value"),
    (14, "end", "found 'end'; expected end_variable"),
    (33, "3 0", "there is no variable 3; expected 0 to 2"),
    (33, "-1 0", "there is no variable -1"),
    (33, "1", "found 1 numbers; expected a variable and a value"),
    (33, "1 3", "variable 1 has no value 3; expected 0 to 2"),
    (37, "2", "2 is out of range; expected the initial value of variable 0 (0 to 1)"),
    (37, "0 1", "found 2 numbers"),
    (40, "0", "found '0'; expected end_state"),
    (42, "0", "the goal is empty"),
    (44, "0 1", "variable 0 occurs twice; expected each variable once in the goal"),
    (44, "0 0", "variable 0 occurs twice"),
    (48, "", "found an empty line; expected the name of an operator"),
    (52, "1 0 1 0 -1", "found 5 numbers; expected an effect"),
    (52, "-1 0 0", "found 3 numbers; expected an effect"),
    (52, "2147483647 0 0 0", "found 4 numbers; expected an effect"),
    (52, "1 0 2 0 -1 0", "variable 0 has no value 2"),
    (52, "1 0 1 0 -2 0", "variable 0 has no value -2"),
    (52, "1 0 1 0 2 0", "variable 0 has no value 2"),
    (52, "1 0 1 0 -1 -1", "variable 0 has no value -1"),
    (52, "1 0 1 3 -1 0", "there is no variable 3"),
    (52, "2 0 1 0 0 0 -1 0", "a variable occurs twice"),
    (52, "0 1 1 0", "variable 1 must be both 0 and 1; expected one required value"),
    (52, "0 2 -1 0", "an operator sets the derived variable 2"),
    (54, "-7", "-7 is out of range; expected the cost of the operator (0 to 1073741823)"),
    (54, "7.5", "found '7.5'"),
    (54, "1_0", "found '1_0'"),
    (54, "+1", "found '+1'"),
    (54, "\N{ARABIC-INDIC DIGIT THREE}", "found '\\u0663'"),
    (54, "2147483648", "2147483648 is too large"),
    (54, "9" * 5000, "expected the cost of the operator"),
    (55, "begin_operator", "expected end_operator"),
    (67, "0 0 0", "found 3 numbers; expected a variable and a value"),
    (68, "2 0", "found 2 numbers; expected the head of an axiom"),
    (68, "0 1 0", "an axiom sets variable 0, which is not derived"),
    (69, "end_rule x", "expected end_rule"),
]


@pytest.mark.parametrize(("number", "replacement", "message"), WRONG_LINES)
def test_a_wrong_line_is_named(
    everything: str, number: int, replacement: str, message: str
) -> None:
    lines = everything.split("\n")
    lines[number - 1] = replacement
    error = error_of("\n".join(lines))
    assert error.where == f"t.sas:{number}"
    assert message in str(error)


def test_wrong_counts_are_refused(everything: str) -> None:
    lines = everything.split("\n")
    for number in (7, 11, 30, 32, 42, 46, 49, 51, 58, 59, 64, 66):
        for change in (-1, 1):
            changed = lines.copy()
            changed[number - 1] = str(int(changed[number - 1]) + change)
            error_of("\n".join(changed))


def test_text_after_the_end_is_refused(everything: str) -> None:
    error = error_of(everything + "\nbegin_rule\n")
    assert error.where == "t.sas:71"
    assert "after the last section" in error.what


def test_a_file_that_is_cut_after_any_line_is_refused(everything: str) -> None:
    lines = everything.split("\n")[:-1]
    for kept in range(len(lines)):
        error = error_of("".join(line + "\n" for line in lines[:kept]))
        assert error.where == f"t.sas:{kept + 1}"
        assert error.what == "the file ends too early"


def test_a_file_that_is_cut_at_any_byte_is_refused(everything: str) -> None:
    for kept in range(len(everything) - 1):
        error_of(everything[:kept])


def test_a_huge_count_does_not_hang(everything: str) -> None:
    lines = everything.split("\n")
    for number in (7, 11, 30, 32, 42, 46, 49, 51, 64, 66):
        changed = lines.copy()
        changed[number - 1] = "2147483647"
        error_of("\n".join(changed))


def task_or_format_error(text: str) -> None:
    try:
        parse_sas(text)
    except InputFormatError as error:
        found = error
    else:
        return
    assert found.where is not None
    assert "\n" not in str(found)


@given(st.text())
def test_any_text_gives_a_task_or_an_error(text: str) -> None:
    task_or_format_error(text)


@given(data=st.data())
def test_any_damage_gives_a_task_or_an_error(everything: str, data: st.DataObject) -> None:
    lines = everything.split("\n")
    position = st.integers(0, len(lines) - 1)
    piece = st.one_of(
        st.sampled_from(lines),
        st.lists(st.integers(-3, 9), max_size=6).map(lambda row: " ".join(map(str, row))),
        st.text(max_size=5),
    )
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(position)
        until = data.draw(st.integers(at, min(at + 2, len(lines))))
        lines[at:until] = data.draw(st.lists(piece, max_size=2))
        position = st.integers(0, max(len(lines) - 1, 0))
    task_or_format_error("\n".join(lines))


@given(st.binary())
def test_any_bytes_give_a_task_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.sas"
    path.write_bytes(content)
    with pytest.raises(InputFormatError):
        read_sas(path)


def test_bytes_that_are_not_text_are_placed(tmp_path: Path, everything: str) -> None:
    path = tmp_path / "t.sas"
    path.write_bytes(everything.encode().replace(b"press", b"pr\xffss"))
    with pytest.raises(InputFormatError) as caught:
        read_sas(path)
    assert caught.value.where == f"{path}:48"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.sas", tmp_path, Path("a\0b")):
        with pytest.raises(InputFileError):
            read_sas(path)


def test_a_precondition_may_repeat() -> None:
    effects = (Effect(((1, 0),), 0, 1, 0), Effect(((1, 1),), 0, 1, 2), Effect((), 2, -1, 0))
    operator = Operator("o", ((3, 0),), effects, 1)
    assert operator.preconditions() == ((3, 0), (0, 1))


def test_names_do_not_split_lines(everything: str) -> None:
    # str.splitlines() would take each of these for a line end.
    for strange in itertools.chain("\x0b\x0c\x1c\x85", "\N{LINE SEPARATOR}"):
        parse_sas(everything.replace("press s1", f"press{strange}s1"))
