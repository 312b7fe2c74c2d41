"""One-way line: a truck collects packages along a line and must not drive over its end.

Packages are picked up before the last cell and dropped there. The truck cannot turn: once it has
left a package behind, it cannot fetch it any more. A truck that stands at the end and cannot park
must accelerate, so once a package is left behind, a crash cannot be avoided.
"""

from __future__ import annotations

from functools import partial

from misstep.tasks.models import lines
from misstep.tasks.models.model import BuiltinModel

MODEL = BuiltinModel(
    name="one-way-line",
    summary="collect packages along a line and stop before its end",
    parameters=lines.PARAMETERS,
    build=partial(lines.build, two_way=False),
)
