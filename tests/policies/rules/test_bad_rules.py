"""Texts that are not rules, and rules for another domain, are refused in one line with the line of the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from misstep.errors import (
    InputFileError,
    InputFormatError,
    MisstepError,
    UnsupportedError,
    UsageError,
)
from misstep.policies import zoo
from misstep.policies.load import load_policy
from misstep.policies.rules import Exists, Holds, Rule, RulePolicy, RuleSet, parse_rules
from misstep.tasks.load import load_task
from misstep.tasks.pddl.lifted import Atom, TypedName
from misstep.tasks.task import Task
from support.tasks import small_task

ZOO = Path(zoo.__file__).parent
GOOD = """(define (policy p)
  (:domain gripper)
  (:rule go
    :parameters (?x ?y - room)
    :condition (and (at-robot ?x) (not (= ?x ?y)))
    :action (move ?x ?y)))
"""
# What is replaced, by what, and the message.
MALFORMED = [
    (GOOD, "", r"1: the file has no content"),
    (
        "(define (policy p)",
        "(define (domain p)",
        r"1: this is not a rule policy but \(define \(\.\.\.\)",
    ),
    ("(policy p)", "(policy)", r"1: \(policy\) is not a name; expected \(policy NAME\)"),
    ("(policy p)", "(policy p q)", r"1: .* is not a name"),
    ("  (:domain gripper)\n", "", r"1: the policy names no domain; expected \(:domain NAME\)"),
    ("(:domain gripper)", "(:domain gripper) (:domain gripper)", r"2: the domain is not one name"),
    ("(:domain gripper)", "(:domain)", r"2: the domain is not one name"),
    ("(:rule go", "(:rules go", r"3: \(:rules go .* is not part of a rule policy"),
    ("(:rule go", "(:rule", r"3: a rule without a name"),
    (
        ":parameters",
        ":variables",
        r"4: :variables in the rule go; expected :parameters, :condition",
    ),
    (":condition", ":parameters", r"5: :parameters again in the rule go"),
    (":action (move ?x ?y)", "", r"3: the rule go has no action"),
    (":action (move ?x ?y)", ":action", r"6: no parentheses after :action"),
    ("(move ?x ?y)", "move", r"6: no parentheses after :action"),
    ("(move ?x ?y)", "(move ?x (y))", r"6: \(y\) is not a term"),
    ("(move ?x ?y)", "()", r"6: \(\) is not understood"),
    ("(?x ?y - room)", "(?x ?x - room)", r"4: \?x is listed twice"),
    ("(?x ?y - room)", "(?x y - room)", r"4: y among the parameters"),
    ("(?x ?y - room)", "(?x ?y -)", r"4: - among the parameters"),
    ("(?x ?y - room)", "(?x ?y - (or room))", r"4: \(or room\) is not a type"),
    ("(?x ?y - room)", "(?x - room)", r"5: \?y is not a parameter"),
    ("(at-robot ?x)", "(at-robot ?z)", r"5: \?z is not a parameter; expected a variable that"),
    ("(at-robot ?x)", "at-robot", r"5: at-robot stands alone"),
    ("(at-robot ?x)", "(or (at-robot ?x))", r"5: \(or \(\.\.\.\)\) is not understood"),
    ("(not (= ?x ?y))", "(not (not (= ?x ?y)))", r"5: \(not \(\.\.\.\)\) is not understood"),
    ("(not (= ?x ?y))", "(not (and))", r"5: \(and\) is not understood"),
    ("(not (= ?x ?y))", "(= ?x)", r"5: \(= \?x\) is not understood"),
    ("(not (= ?x ?y))", "(goal (goal (at-robot ?x)))", r"5: \(goal \(\.\.\.\)\) is not understood"),
    (
        "(not (= ?x ?y))",
        "(exists (?x) (at-robot ?x))",
        r"5: \?x is already a parameter outside the exists",
    ),
    ("(move ?x ?y)))", "(move ?x ?y)", r"3: the block opened here is never closed"),
    ("(move ?x ?y)))", "(move ?x ?y))))", r"6: there is a '\)' too many"),
    (
        "(move ?x ?y)))",
        "(move ?x ?y)) (:rule go :action (a)))",
        r"6: a second rule go; expected ano",
    ),
    ("(:rule go", "(:rule g\u00f6", r"3: the character"),
]
# The same for rules that the domain or the problem does not fit.
STRANGE = [
    (
        "(:domain gripper)",
        "(:domain ferry)",
        r"own.rules: the rules are for the domain ferry, the ta",
    ),
    (
        "at-robot",
        "at-rover",
        r"5: the domain gripper has no predicate at-rover; expected one of at, at",
    ),
    ("(at-robot ?x)", "(at-robot ?x ?y)", r"5: \(at-robot \?x \?y\) has 2 arguments; expected 1"),
    ("(at-robot ?x)", "(at-robot room-z)", r"5: gripper.* has no object room-z; expected one of"),
    ("(at-robot ?x)", "(= ?x room-z)", r"5: gripper.* has no object room-z"),
    (
        "(at-robot ?x)",
        "(exists (?z - table) (at ?z ?x))",
        r"5: the domain gripper has no type table",
    ),
    (
        "(at-robot ?x)",
        "(exists (?z) (above ?z ?x))",
        r"5: the domain gripper has no predicate above",
    ),
    (
        "- room",
        "- rooms",
        r"3: the domain gripper has no type rooms; expected one of ball, gripper",
    ),
    (
        "(move ?x ?y)",
        "(fly ?x ?y)",
        r"3: the domain gripper has no action fly; expected one of drop",
    ),
    ("(move ?x ?y)", "(move ?x)", r"3: \(move \?x\) has 1 arguments; expected 2"),
]


def changed(folder: Path, old: str, new: str) -> Path:
    assert old in GOOD
    file = folder / "own.rules"
    file.write_text(GOOD.replace(old, new, 1))
    return file


@pytest.mark.parametrize(("old", "new", "message"), MALFORMED)
def test_malformed(old: str, new: str, message: str, tmp_path: Path) -> None:
    file = changed(tmp_path, old, new)
    with pytest.raises(InputFormatError, match=r"own\.rules:" + message) as caught:
        load_policy(f"rules:{file}", small_task("gripper-4"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("old", "new", "message"), STRANGE)
def test_another_domain(old: str, new: str, message: str, tmp_path: Path) -> None:
    file = changed(tmp_path, old, new)
    with pytest.raises(UnsupportedError, match=message):
        load_policy(f"rules:{file}", small_task("gripper-4"))


def test_every_beginning_of_a_file_is_told_in_one_line() -> None:
    text = (ZOO / "gripper.rules").read_text().rstrip()
    for length in range(0, len(text), 7):
        with pytest.raises(MisstepError) as caught:
            parse_rules(text[:length])
        assert "\n" not in str(caught.value)


def test_deep_and_large(tmp_path: Path) -> None:
    file = tmp_path / "own.rules"
    file.write_text(GOOD.replace("(at-robot ?x)", "(and " * 5000 + ")" * 5000))
    with pytest.raises(UnsupportedError, match="nested more than 200 deep"):
        load_policy(f"rules:{file}", small_task("gripper-4"))
    file.write_bytes(b";" * (4 * 2**20 + 1))
    with pytest.raises(InputFileError, match="larger than 4 MiB"):
        load_policy(f"rules:{file}", small_task("gripper-4"))


def test_bad_specs(tmp_path: Path) -> None:
    task = small_task("gripper-4")
    with pytest.raises(UsageError, match="without a file"):
        load_policy("rules:--choose=all", task)
    with pytest.raises(UsageError, match="--choose is last; expected first or all"):
        load_policy("rules:--choose=last x", task)
    with pytest.raises(InputFileError, match="no such file"):
        load_policy(f"rules:{tmp_path}/none", task)
    with pytest.raises(UnsupportedError, match="load the task from its PDDL files"):
        load_policy(f"rules:{ZOO / 'gripper.rules'}", Task(task.sas))


def test_files_of_other_kinds(tmp_path: Path) -> None:
    """The form is that of PDDL, but what the user wanted to name is a file of rules."""
    task = small_task("gripper-4")
    for path in (tmp_path, Path("/dev/null")):
        with pytest.raises(InputFileError, match="expected a file of rules"):
            load_policy(f"rules:{path}", task)
    file = tmp_path / "own.rules"
    file.write_bytes(b"a\0")
    with pytest.raises(InputFormatError, match="expected a file of rules"):
        load_policy(f"rules:{file}", task)
    file.write_text("no rules")
    with pytest.raises(InputFormatError, match=r"is this a file of rules\?"):
        load_policy(f"rules:{file}", task)


def test_a_negative_goal_is_refused_only_where_rules_read_the_goal(tmp_path: Path) -> None:
    (tmp_path / "d.pddl").write_text(
        "(define (domain d) (:requirements :strips :negative-preconditions) (:predicates (a))"
        "(:action drop :parameters () :precondition (a) :effect (not (a))))"
    )
    (tmp_path / "p.pddl").write_text(
        "(define (problem p) (:domain d) (:init (a)) (:goal (not (a))))"
    )
    task = load_task(tmp_path / "d.pddl", tmp_path / "p.pddl")
    file = tmp_path / "own.rules"
    text = "(define (policy p) (:domain d) (:rule r :condition (a) :action (drop)))"
    file.write_text(text)
    load_policy(f"rules:{file}", task)
    file.write_text(text.replace(":condition (a)", ":condition (not (exists (?x) (goal (a))))"))
    with pytest.raises(UnsupportedError, match=r"the goal of p contains \(not \(a\)\)"):
        load_policy(f"rules:{file}", task)


def test_rules_that_a_program_made_are_checked_as_well() -> None:
    room = TypedName("?x", ("room",))
    inner = Exists((room,), (Holds(Atom("at-robot", ("?x",))),))
    rule = Rule("go", (room, TypedName("?y", ("room",))), (inner,), Atom("move", ("?x", "?y")))
    with pytest.raises(
        InputFormatError, match=r"rules p:5: \?x is already a parameter outside the exists"
    ):
        RulePolicy(small_task("gripper-4"), RuleSet("p", "gripper", (rule,)))
