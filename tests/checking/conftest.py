"""Two small tasks as text: one with every section of the format, one to plan in."""

from __future__ import annotations

import pytest

from misstep.checking.sas import SasTask, parse_sas

# The line numbers matter: tests of malformed files name them.
EVERYTHING = """\
begin_version
3
end_version
begin_metric
1
end_metric
3
begin_variable
var0
-1
2
Atom lit(l1)
NegatedAtom lit(l1)
end_variable
begin_variable
var1
-1
3
Atom at(s1)
Atom at(s2)
<none of those>
end_variable
begin_variable
var2
0
2
Atom happy()
NegatedAtom happy()
end_variable
1
begin_mutex_group
2
1 0
1 1
end_mutex_group
begin_state
1
0
1
end_state
begin_goal
2
0 0
1 2
end_goal
2
begin_operator
press s1
1
1 0
2
1 0 1 0 -1 0
1 0 0 0 -1 1
7
end_operator
begin_operator
leave\x20
0
2
0 1 0 2
0 0 -1 0
0
end_operator
1
begin_rule
1
0 0
2 1 0
end_rule
"""


def gripper_text() -> str:
    """One ball, two rooms, one hand; moving costs 2, the rest 1."""
    operators = [
        ("move rooma roomb", [], ["0 0 0 1"], 2),
        ("move roomb rooma", [], ["0 0 1 0"], 2),
        ("pick ball rooma", ["0 0"], ["0 1 0 2"], 1),
        ("pick ball roomb", ["0 1"], ["0 1 1 2"], 1),
        ("drop ball rooma", ["0 0"], ["0 1 2 0"], 1),
        ("drop ball roomb", ["0 1"], ["0 1 2 1"], 1),
    ]
    lines = ["begin_version", "3", "end_version", "begin_metric", "1", "end_metric", "2"]
    lines += ["begin_variable", "var0", "-1", "2"]
    lines += ["Atom at-robby(rooma)", "Atom at-robby(roomb)", "end_variable"]
    lines += ["begin_variable", "var1", "-1", "3"]
    lines += ["Atom at(ball, rooma)", "Atom at(ball, roomb)", "<none of those>", "end_variable"]
    lines += ["0", "begin_state", "0", "0", "end_state", "begin_goal", "1", "1 1", "end_goal"]
    lines.append(str(len(operators)))
    for name, prevail, effects, cost in operators:
        lines += ["begin_operator", name, str(len(prevail)), *prevail]
        lines += [str(len(effects)), *effects, str(cost), "end_operator"]
    lines.append("0")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="session")
def everything() -> str:
    return EVERYTHING


@pytest.fixture(scope="session")
def gripper_sas() -> str:
    return gripper_text()


@pytest.fixture(scope="session")
def gripper(gripper_sas: str) -> SasTask:
    return parse_sas(gripper_sas)
