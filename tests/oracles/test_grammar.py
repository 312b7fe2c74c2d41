"""Specs of oracles: what they mean, and how wrong ones are refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from misstep.errors import UsageError
from misstep.oracles import DEFAULT_ORACLE, Oracle
from misstep.oracles.grammar import needs_dominance, read_oracle
from misstep.oracles.oracle import Question, Report, Route, Sequence, Source, Union
from misstep.oracles.presets import PRESETS
from misstep.oracles.registry import BUILTIN, known_oracles, oracle_kind, parameters, register


def shape(oracle: Oracle) -> str:
    if isinstance(oracle, Route):
        return f"[{shape(oracle.reached)} / {shape(oracle.otherwise)}]"
    if isinstance(oracle, (Sequence, Union)):
        sign = " , " if isinstance(oracle, Sequence) else " | "
        return f"[{sign.join(shape(part) for part in oracle.parts)}]"
    assert isinstance(oracle, Source)
    return oracle.name


SHAPES = {
    "lmcut": "lmcut",
    " lmcut ( ) ": "lmcut",
    "lmcut, ehc": "[lmcut , ehc]",
    "lmcut | ehc": "[lmcut | ehc]",
    "aras/ehc": "[aras / ehc]",
    "lmcut,aras/ehc|gbfs(9),exact": "[lmcut , [[aras / ehc] | gbfs] , exact]",
    "(lmcut, aras) / (ehc | gbfs)": "[[lmcut , aras] / [ehc | gbfs]]",
    "((lmcut))": "lmcut",
    DEFAULT_ORACLE: "[census , lmcut , [bmo , [aras / ehc]] , astar]",
    "p22": "[[undo | lookahead | aras] / [undo | lookahead]]",
    "p23": "[bmo , [aras / ehc]]",
    "p24": "[bmo , [aras / ehc]]",
    "lmcut, p23": "[lmcut , [bmo , [aras / ehc]]]",
    "p22/p24 | exact": "[[[[undo | lookahead | aras] / [undo | lookahead]] / [bmo , [aras / ehc]]] | exact]",
}


@pytest.mark.parametrize("spec", SHAPES)
def test_specs_give_the_right_oracles(spec: str) -> None:
    assert shape(read_oracle(spec)) == SHAPES[spec]


def test_arguments_of_specs_are_passed_to_the_oracles() -> None:
    def values(spec: str) -> dict[str, object]:
        return vars(read_oracle(spec))

    assert values("lookahead")["depth"] == 2
    assert values("lookahead(3)")["depth"] == 3
    assert (
        values("lookahead(depth=4, first=true, leaves=1_000)").items()
        >= {
            "depth": 4,
            "first": True,
            "leaves": 1000,
        }.items()
    )
    assert values("astar(expansions=10000)")["expansions"] == 10000
    assert (
        values("astar(heuristic=blind, seconds=0.5)").items()
        >= {
            "heuristic": None,
            "seconds": 0.5,
        }.items()
    )
    assert values("gbfs(77)")["expansions"] == 77
    assert values("elimination(5)")["seconds"] == 5.0
    assert values("aras(none, best=true)").items() >= {"generated": None, "best": True}.items()
    assert values("ehc(evaluations=none)")["evaluations"] is None


def test_presets_have_the_limits_of_the_papers() -> None:
    def parts(name: str) -> dict[str, dict[str, object]]:
        return {source.name: vars(source) for source in read_oracle(name).sources()}

    hour, gib = 3600, 1024
    p22, p23, p24 = (parts(name) for name in ("p22", "p23", "p24"))
    assert p22["lookahead"].items() >= {"depth": 2, "leaves": None, "seconds": 10 * hour}.items()
    assert p22["aras"].items() >= {"generated": None, "memory": 16 * gib}.items()
    assert p23["bmo"].items() >= {"expansions": 100, "heuristic": "ff", "path": True}.items()
    for own, pool, memory in ((p23, 4 * hour, 16 * gib), (p24, 2 * hour, 2 * gib)):
        assert own["bmo"]["seconds"] == pool
        for search in ("aras", "ehc"):
            assert own[search].items() >= {"seconds": hour / 2, "memory": memory}.items()
        assert own["aras"]["generated"] is own["ehc"]["evaluations"] is None
    text = (Path(__file__).parents[2] / "docs" / "oracles.md").read_text()
    shown = dict(re.findall(r"(?ms)^### `(\w+)`\n\n```text\n(.*?)^```$", text))
    assert shown.keys() == PRESETS.keys()
    for name, spec in PRESETS.items():
        assert "".join(shown[name].split()) == "".join(spec.split())


def test_which_specs_need_a_dominance_function() -> None:
    for spec in ("smo", "lmcut, (aras | bmo)/ehc", "p23", "p22, p24"):
        assert needs_dominance(spec)
    for spec in ("lmcut", "p22", "aras/ehc"):
        assert not needs_dominance(spec)


WRONG = {
    "": "column 1: the spec ends here; expected an oracle: aras, astar",
    "lmcut,": "column 7: the spec ends here",
    "lmcut,,ehc": "column 7: found ','",
    "arass/ehc": "column 1: no oracle 'arass'; expected aras, .* did you mean aras\\?",
    "lmcut, zzzzz": "column 8: no oracle 'zzzzz'; expected aras",
    "lmcut ehc": "column 7: found 'ehc'; expected a comma, \\|, / or the end",
    "lmcut)": "column 6: found '\\)'",
    "(lmcut": "column 7: the spec ends here; expected a closing parenthesis",
    "gbfs(1": "column 7: the spec ends here; expected a closing parenthesis",
    "gbfs(": "column 6: the spec ends here; expected a value",
    "gbfs(,)": "column 6: found ','; expected a value",
    "gbfs(1, 2)": "column 9: gbfs does not take 2 without a name; expected expansions=1000, heuristic=ff",
    "lmcut(3)": "column 7: lmcut does not take 3 without a name; expected no arguments",
    "gbfs(expansion=3)": "column 6: gbfs has no parameter 'expansion'; .* did you mean expansions\\?",
    "gbfs(3, expansions=4)": "column 9: expansions is given twice",
    "gbfs(expansions=)": "column 17: expansions has no value",
    "gbfs(-3)": "column 6: expansions is -3; expected a whole number, 0 or more",
    "gbfs(3.5)": "column 6: expansions is 3.5; expected a whole number",
    "gbfs(99999999999999999999)": "expected a whole number, .* of at most 18 digits",
    "gbfs(3_)": "expected a whole number",
    "lookahead(first=yes)": "column 17: first is yes; expected true or false",
    "elimination(seconds=-1)": "column 21: seconds is -1; expected a number, 0 or more",
    "ehc(heuristic=hff)": "column 1: there is no heuristic 'hff'; expected ff, add, max, lmcut",
    "astar(heuristic=ff)": "column 1: astar cannot use the heuristic 'ff'; expected auto, lmcut",
    "aras(growth=0)": "column 1: aras: growth is 0; expected at least 1",
    "aras/ehc/gbfs": "column 9: found '/'",
    "lmcut & ehc": "column 7: found '&'",
    "p23(100)": "column 5: the preset p23 takes no arguments; it is bmo",
    "p21": "column 1: no oracle 'p21'; expected aras, .*p24",
    "gbfs(nothing)": "expected a whole number, .* or none",
    "lookahead(none)": "column 11: depth is none; expected a whole number",
    "   ": "the spec ends here; expected an oracle: aras, astar",
    "(" * 60 + "lmcut": "too many parentheses",
}


@pytest.mark.parametrize("spec", WRONG)
def test_wrong_specs_are_refused_in_one_line(spec: str) -> None:
    with pytest.raises(UsageError, match=WRONG[spec]) as caught:
        read_oracle(spec)
    assert "\n" not in str(caught.value)
    assert "--oracle" in str(caught.value)


def test_every_kind_of_oracle_is_registered() -> None:
    for name in BUILTIN:
        kind = oracle_kind(name)
        assert kind is not None
        assert kind.name == name
        assert name in known_oracles()
        assert shape(read_oracle(name)) == name
        assert all(p.type in (int, float, bool, str) for p in parameters(kind))


def test_the_documented_defaults_are_those_of_the_code() -> None:
    text = (Path(__file__).parents[2] / "docs" / "oracles.md").read_text()
    for name in BUILTIN:
        kind = oracle_kind(name)
        assert kind is not None
        defaults = {p.name: str(p.default).lower() for p in parameters(kind)}
        (row,) = re.findall(rf"(?m)^\| `{name}` \|.*\|(.*)\|$", text)
        written = {
            n: v or "none" for n, v in re.findall(r"(\w+)(?:=(\w+))?", row) if n != "seconds"
        }
        assert written == {n: v for n, v in defaults.items() if n != "seconds"}, name


class Idle(Source):
    name = "idle-for-tests"

    def search(self, question: Question) -> Report:
        assert question.state
        return Report()


def test_other_oracles_can_be_registered() -> None:
    register(Idle)
    assert register(Idle) is Idle  # once more does no harm
    assert shape(read_oracle("idle-for-tests, lmcut")) == "[idle-for-tests , lmcut]"
    assert "idle-for-tests" in known_oracles()

    class Impostor(Idle):
        name = "lmcut"

    with pytest.raises(UsageError, match="already"):
        register(Impostor)
