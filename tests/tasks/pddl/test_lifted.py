from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest

from misstep.errors import InputFormatError, MisstepError
from misstep.tasks.pddl.lifted import (
    Atom,
    Literal,
    parse_fact_name,
    parse_operator_name,
)
from support.pddl import DOMAIN, PROBLEM, changed, read_lifted, read_lifted_text, translate


def literal(text: str) -> Literal:
    words = text.replace("(", " ").replace(")", " ").split()
    positive = words[0] != "not"
    predicate, *terms = words if positive else words[1:]
    return Literal(Atom(predicate, tuple(terms)), positive)


def test_small_task() -> None:
    task = read_lifted_text(DOMAIN, PROBLEM)
    assert (task.domain_name, task.problem_name) == ("rooms", "two")
    assert task.types == {"object": None, "room": "object", "ball": "object"}
    assert [(p.name, p.arity) for p in task.predicates] == [("at", 1), ("in", 2), ("free", 0)]
    assert [o.name for o in task.constants] == ["hall"]
    assert [(o.name, o.type) for o in task.objects] == [
        ("hall", "room"),
        ("r1", "room"),
        ("r2", "room"),
        ("b1", "ball"),
    ]
    assert [str(atom) for atom in task.init] == ["(at r1)", "(in b1 r2)", "(free)"]
    assert [str(atom) for atom in task.static_facts] == ["(in b1 r2)", "(free)"]
    assert task.goal == (literal("(at r2)"),)
    assert task.supertypes("room") == ("room", "object")


def test_schema_keeps_order_and_polarity() -> None:
    (move,) = read_lifted_text(DOMAIN, PROBLEM).schemas
    assert [(p.name, p.type) for p in move.parameters] == [("?a", "room"), ("?b", "room")]
    assert move.precondition == (literal("(at ?a)"), literal("(not (= ?a ?b))"))
    assert move.effect == (literal("(at ?b)"), literal("(not (at ?a))"))
    assert move.normalised
    binding = move.binding(("r1", "r2"))
    assert move.effect[0].atom.ground(binding) == Atom("at", ("r2",))


def with_action(body: str) -> str:
    return changed(DOMAIN, " (:action move", f" (:action odd {body})\n (:action move")


@pytest.mark.parametrize(
    ("body", "precondition", "effect", "unsupported"),
    [
        (":effect (free)", [], ["(free)"], []),
        (":parameters () :precondition () :effect ()", [], [], []),
        (":precondition (and) :effect (and)", [], [], []),
        (":precondition (not (free)) :effect (free)", ["(not (free))"], ["(free)"], []),
        (
            ":precondition (and (free) (and (at hall) (free))) :effect (free)",
            ["(free)", "(at hall)", "(free)"],
            ["(free)"],
            [],
        ),
        (
            ":precondition (not (or (free) (at hall))) :effect (free)",
            ["(not (free))", "(not (at hall))"],
            ["(free)"],
            [],
        ),
        (
            ":precondition (or (free) (not (at hall))) :effect (free)",
            ["(free)", "(not (at hall))"],
            ["(free)"],
            ["or"],
        ),
        (
            ":precondition (imply (free) (at hall)) :effect (free)",
            ["(not (free))", "(at hall)"],
            ["(free)"],
            ["or"],
        ),
        (
            ":precondition (exists (?r - room) (at ?r)) :effect (free)",
            ["(at ?r)"],
            ["(free)"],
            ["exists"],
        ),
        (
            ":effect (forall (?r - room) (when (at ?r) (not (at ?r))))",
            [],
            ["(at ?r)", "(not (at ?r))"],
            ["forall", "when"],
        ),
        (":effect (and (free) (increase (total-cost) 3))", [], ["(free)"], []),
    ],
)
def test_formulas(
    body: str, precondition: list[str], effect: list[str], unsupported: list[str]
) -> None:
    task = read_lifted_text(with_action(body), PROBLEM)
    odd = task.schema("odd")
    assert [str(one) for one in odd.precondition] == precondition
    assert [str(one) for one in odd.effect] == effect
    assert list(odd.unsupported) == unsupported
    assert odd.normalised == (not unsupported)


def test_condition_of_an_effect_is_not_an_effect_on_statics() -> None:
    task = read_lifted_text(with_action(":effect (when (in b1 r2) (at hall))"), PROBLEM)
    assert Atom("in", ("b1", "r2")) in task.static_facts


def test_either_types() -> None:
    task = read_lifted_text(
        changed(DOMAIN, "?r - room) (in", "?r - (either room ball)) (in"), PROBLEM
    )
    parameter = task.predicates[0].parameters[0]
    assert parameter.types == ("room", "ball")
    assert parameter.type == "(either room ball)"


def test_names_that_look_like_keywords_or_numbers() -> None:
    problem = PROBLEM.replace("r1", "domain").replace("b1", "1").replace("r2", "and")
    task = read_lifted_text(DOMAIN, problem)
    assert Atom("in", ("1", "and")) in task.init
    assert Atom("at", ("domain",)) in task.init


def test_costs_negations_and_requirements_in_the_problem() -> None:
    init = "(free) (free) (not (at r2)) (= (total-cost) 0)"
    problem = changed(PROBLEM, "(free)", init)
    problem = changed(problem, " (:objects", " (:requirements :strips :foo) (:objects")
    problem = changed(problem, "r2)))\n", "r2)))\n (:metric minimize (total-cost))\n")
    task = read_lifted_text(DOMAIN, problem)
    assert [str(atom) for atom in task.init] == ["(at r1)", "(in b1 r2)", "(free)"]


def test_derived_predicates_are_not_static() -> None:
    derived = " (:derived (free) (at hall))\n (:action move"
    task = read_lifted_text(changed(DOMAIN, " (:action move", derived), PROBLEM)
    assert Atom("free", ()) not in task.static_facts


def test_upper_case_becomes_lower_case() -> None:
    assert read_lifted_text(DOMAIN.upper(), PROBLEM.upper()) == read_lifted_text(DOMAIN, PROBLEM)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [("(at r1)", "(at (r1))", 5), ("(and (at r2))", "(and foo)", 7), ("(free)", "free", 6)],
)
def test_errors_name_the_line(old: str, new: str, line: int) -> None:
    with pytest.raises(InputFormatError) as caught:
        read_lifted_text(DOMAIN, changed(PROBLEM, old, new))
    assert caught.value.where == f"<problem>:{line}"


@pytest.mark.parametrize("text", [DOMAIN, PROBLEM])
def test_truncated_files_never_crash(text: str) -> None:
    for length in range(len(text.rstrip())):
        # Also with the parentheses closed, so that the parser behind is reached.
        cut = text[:length]
        for piece in (cut, cut + ")" * (cut.count("(") - cut.count(")"))):
            pair = (piece, PROBLEM) if text is DOMAIN else (DOMAIN, piece)
            with contextlib.suppress(MisstepError):
                read_lifted_text(*pair)


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("(move a b)", "move", ("a", "b")),
        ("move a b", "move", ("a", "b")),
        ("(NOOP )", "noop", ()),
        (" stop ", "stop", ()),
    ],
)
def test_operator_names(text: str, name: str, arguments: tuple[str, ...]) -> None:
    assert parse_operator_name(text) == (name, arguments)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Atom on(a, b)", ("on", ("a", "b"), True)),
        ("NegatedAtom p(x)", ("p", ("x",), False)),
        ("Atom handempty()", ("handempty", (), True)),
        ("<none of those>", None),
    ],
)
def test_fact_names(text: str, expected: tuple[str, tuple[str, ...], bool] | None) -> None:
    assert parse_fact_name(text) == expected


@pytest.mark.parametrize("text", ["", "()", "a (b)", "(a"])
def test_bad_operator_names(text: str) -> None:
    with pytest.raises(InputFormatError):
        parse_operator_name(text)


@pytest.mark.parametrize("text", ["", "Atom", "Atom p", "on(a, b)", "Atom p(a"])
def test_bad_fact_names(text: str) -> None:
    with pytest.raises(InputFormatError):
        parse_fact_name(text)


def test_names_in_the_translation_belong_to_the_lifted_task(tmp_path: Path) -> None:
    domain, problem = tmp_path / "d.pddl", tmp_path / "p.pddl"
    domain.write_text(DOMAIN)
    problem.write_text(PROBLEM)
    task = read_lifted(domain, problem)
    lines = translate(domain, problem, use_cache=False).decode().splitlines()
    objects = {o.name for o in task.objects}
    operators = [lines[i + 1] for i, line in enumerate(lines) if line == "begin_operator"]
    assert len(operators) == 6
    for operator in operators:
        name, arguments = parse_operator_name(operator)
        assert set(task.schema(name).binding(arguments).values()) <= objects
    facts = [parse_fact_name(line) for line in lines if line.startswith(("Atom", "Negated"))]
    assert {fact.predicate for fact in facts if fact} == {"at"}


def test_large_problem_is_read_quickly() -> None:
    names = [f"r{number}" for number in range(3000)]
    problem = changed(PROBLEM, "r1 r2 - room", " ".join(names) + " - room")
    facts = "".join(f"(in b1 {name})\n" for name in names)
    start = time.perf_counter()
    task = read_lifted_text(DOMAIN, changed(problem, "(in b1 r2)", facts))
    assert len(task.init) == 3002
    assert time.perf_counter() - start < 2


def shared_samples(shared: Path) -> list[tuple[Path, Path]]:
    """The first and the last problem of each domain."""
    pairs = []
    for domain in sorted(shared.glob("[bp]*/**/domain.pddl")):
        problems = sorted(path for path in domain.parent.rglob("*.pddl") if path != domain)
        pairs += [(domain, problems[0]), (domain, problems[-1])]
    return pairs


def test_shared_benchmarks(shared: Path) -> None:
    for domain, problem in shared_samples(shared):
        task = read_lifted(domain, problem)
        assert task.schemas
        assert task.goal
        assert all(schema.normalised for schema in task.schemas), domain
        predicates = {predicate.name: predicate.arity for predicate in task.predicates}
        assert all(predicates[atom.predicate] == len(atom.terms) for atom in task.init), problem
