"""Two-way line: a truck carries packages to the last cell and must not drive over either end.

It picks up and drops packages anywhere, and drives both ways. A fallen package stays at the
cell the truck came from.
"""

from __future__ import annotations

from functools import partial

from misstep.tasks.models import lines
from misstep.tasks.models.model import BuiltinModel

MODEL = BuiltinModel(
    name="two-way-line",
    summary="carry packages along a line, both ways, without driving over an end",
    parameters=lines.PARAMETERS,
    build=partial(lines.build, two_way=True),
)
