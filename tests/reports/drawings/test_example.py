"""The drawing of docs/drawings.md, on a task of its domain."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import misstep
from misstep.reports.drawings import drawing_for, forget
from support.pages import DOCS

DOMAIN = """(define (domain hanoi) (:requirements :strips)
(:predicates (clear ?x) (on ?x ?y) (smaller ?x ?y))
(:action move :parameters (?disc ?from ?to)
 :precondition (and (smaller ?to ?disc) (on ?disc ?from) (clear ?disc) (clear ?to))
 :effect (and (clear ?from) (on ?disc ?to) (not (on ?disc ?from)) (not (clear ?to)))))
"""
PROBLEM = """(define (problem two) (:domain hanoi) (:objects peg1 peg2 peg3 d1 d2)
(:init (smaller peg1 d1) (smaller peg1 d2) (smaller peg2 d1) (smaller peg2 d2) (smaller peg3 d1) (smaller peg3 d2)
 (smaller d2 d1) (clear peg2) (clear peg3) (clear d1) (on d2 peg1) (on d1 d2))
(:goal (and (on d2 peg3) (on d1 d2))))
"""


def test_the_example_draws_its_domain(tmp_path: Path) -> None:
    (tmp_path / "domain.pddl").write_text(DOMAIN)
    (tmp_path / "problem.pddl").write_text(PROBLEM)
    task = misstep.load_task(tmp_path / "domain.pddl", tmp_path / "problem.pddl")
    before = drawing_for(task)
    assert before is not None
    assert before.name == "objects"
    _, code = re.findall(r"(?ms)^```python\n(.*?)^```$", (DOCS / "drawings.md").read_text())
    assert len([line for line in code.splitlines() if line.strip()]) <= 24
    try:
        exec(code, {})
        drawing = drawing_for(task)
        assert drawing is not None
        assert drawing.name == "hanoi"
        svg = drawing.svg(task.facts(task.initial_state))
        root = ElementTree.fromstring(svg)
        said = [element.text for element in root.iter() if element.tag.endswith("text")]
        assert said == ["peg1", "d2", "d1", "peg2", "peg3"]
    finally:
        forget("hanoi")
