"""The native SAS reader against damage, and against the independent reader of the checker."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from misstep._core import CounterRandom
from misstep.checking import parse_sas
from misstep.errors import InputFormatError, UnsupportedError
from misstep.tasks.task import Task
from support.tasks import CONDITIONAL, small_task

GRIPPER = small_task("gripper-4").sas.decode()


def accepts(text: str) -> bool:
    try:
        Task(text.encode())
    except InputFormatError as error:
        return not (error.where or "").startswith(
            "line "
        )  # an error without a line counts as a difference
    except UnsupportedError:
        return True  # axioms: read, then refused
    return True


def twin_accepts(text: str) -> bool:
    try:
        parse_sas(text, "x")
    except InputFormatError:
        return False
    return True


def test_cut_after_every_line() -> None:
    lines = GRIPPER.split("\n")
    for end in range(len(lines) - 1):
        text = "\n".join(lines[:end])
        with pytest.raises(InputFormatError) as caught:
            Task(text.encode())
        assert caught.value.where is not None
        # Where the text ends, or at the count that announces more than is left.
        assert end - 1 <= int(caught.value.where.removeprefix("line ")) <= end + 1


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("begin_version\n3", "begin_version\n2", 2, "SAS version 2"),
        ("begin_metric\n0", "begin_metric\n7", 5, "out of range"),
        ("begin_variable\nvar0", "begin_varable\nvar0", 8, "found 'begin_varable'"),
        ("end_metric\n", "end_metric\n99999999999\n", 7, "too large"),
        ("end_metric\n", "end_metric\n1000000\n", 7, "do not fit"),
        ("end_metric\n", "end_metric\n-1\n", 7, "out of range"),
    ],
)
def test_damage_is_named_with_its_line(old: str, new: str, line: int, what: str) -> None:
    assert old in GRIPPER
    with pytest.raises(InputFormatError, match=what) as caught:
        Task(GRIPPER.replace(old, new, 1).encode())
    assert caught.value.where == f"line {line}"


def test_not_text() -> None:
    for junk in (b"", b"\xff\xfe\x00", bytes(range(256)) * 10, b"\0" * 1000):
        with pytest.raises(InputFormatError):
            Task(junk)


def test_large_garbage_is_refused_at_once() -> None:
    with pytest.raises(InputFormatError):
        Task(b"x" * (200 * 2**20))


def test_no_goal_and_huge_costs_are_refused() -> None:
    with pytest.raises(InputFormatError, match="no goal"):
        Task(CONDITIONAL.replace("begin_goal\n1\n1 3\n", "begin_goal\n0\n").encode())
    with pytest.raises(InputFormatError, match="out of range"):
        Task(CONDITIONAL.replace("0 0 -1 1\n2\n", f"0 0 -1 1\n{2**30}\n").encode())


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_both_readers_agree_on_damaged_files(data: st.DataObject) -> None:
    lines = data.draw(st.sampled_from([GRIPPER, CONDITIONAL])).split("\n")
    for _ in range(data.draw(st.integers(1, 3))):
        i = data.draw(st.integers(0, len(lines) - 1))
        change = data.draw(st.sampled_from(["drop", "repeat", "number", "swap", "word"]))
        if change == "drop":
            del lines[i]
        elif change == "repeat":
            lines.insert(i, lines[i])
        elif change == "swap":
            j = data.draw(st.integers(0, len(lines) - 1))
            lines[i], lines[j] = lines[j], lines[i]
        elif change == "word":
            lines[i] = data.draw(st.text("0123456789 -abc", max_size=6))
        else:
            words = lines[i].split(" ")
            words[-1] = str(data.draw(st.integers(-2, 40)))
            lines[i] = " ".join(words)
        if not lines:
            return
    text = "\n".join(lines)
    assert accepts(text) == twin_accepts(text), text


# -- the two readers on files that are changed at random ------------------------------------------

PIECES = (
    *" \t\r\n\x0b\x0c\x1c\x85\xa0\u2028-+0179_(",
    *("  ", "\r\n", "\n\n", "00", "-0", "-1", "-2", "1e1", "1_0", "٣", "\x00", "begin_rule\n"),
    *map(str, (2**30 - 1, 2**30, 2**31 - 1, 2**31, 2**32, 2**63, 10**30)),
    *("0" * 5000 + "1", "9" * 5000),
)


def mutated(text: str, random: CounterRandom) -> str:
    """Some pieces put in, taken out or doubled, mostly near numbers and blanks."""
    for _ in range(1 + random.below(3)):
        place = random.below(len(text) + 1)
        end = min(len(text), place + 1 + random.below(3))
        piece = PIECES[random.below(len(PIECES))]
        match random.below(5):
            case 0:
                text = text[:place] + piece + text[place:]
            case 1:
                text = text[:place] + piece + text[end:]
            case 2:
                text = text[:place] + text[end:]
            case 3:
                text = text[:end] + text[place:]
            case _:
                lines = text.split("\n")
                numbers = [i for i, line in enumerate(lines) if line[:1].isdigit()]
                line = numbers[random.below(len(numbers))] if numbers else 0
                words = lines[line].split(" ")
                words[random.below(len(words))] = piece
                lines[line] = " ".join(words)
                text = "\n".join(lines)
    return text


def difference(text: str) -> str | None:
    """In what the two readers differ."""
    if accepts(text) != twin_accepts(text):
        return "one of them refuses it"
    if not twin_accepts(text):
        return None
    twin = parse_sas(text, "x")
    try:
        task = Task(text.encode())
    except UnsupportedError:
        return None  # axioms: read, then refused
    if [op.name for op in twin.operators] != list(task.operator_names):
        return "the names of operators"
    if [op.cost for op in twin.operators] != [task.cost(op) for op in range(task.operator_count)]:
        return "costs"
    if list(twin.initial_state) != list(task.initial_state.values):
        return "the initial state"
    if [list(variable.values) for variable in twin.variables] != [list(n) for n in task.fact_names]:
        return "the names of values"
    return None


@pytest.mark.parametrize("text", [GRIPPER, CONDITIONAL], ids=["gripper", "conditional"])
def test_mutants_are_read_alike(text: str) -> None:
    for seed in range(400):
        changed = mutated(text, CounterRandom(seed))
        assert difference(changed) is None, (seed, difference(changed))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n0 0", "\n0  0"),
        ("end_operator", "end_operator\t"),
        ("end_operator", "end_operator \r"),
        ("\n1\nend_operator", f"\n{2**30}\nend_operator"),
        ("\n1\nend_operator", f"\n{2**30 - 1}\nend_operator"),
        ("\n1\nend_operator", "\n0000000000001\nend_operator"),
        ("\n1\nend_operator", "\n 1\nend_operator"),
        ("pick", "pi\x0bck"),
        ("pick", "pi\xa0ck"),
        ("pick", "pi\t \tck"),
    ],
)
def test_known_doubts_are_read_alike(old: str, new: str) -> None:
    changed = GRIPPER.replace(old, new, 1)
    assert changed != GRIPPER
    assert difference(changed) is None
