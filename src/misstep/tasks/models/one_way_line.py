"""One-way line: a truck collects packages along a line and must not drive over its end.

Packages are picked up before the last cell and dropped there. The truck cannot turn: once it has
left a package behind, that one stays. A truck that stands at the end and cannot park has no
choice but to accelerate, so leaving packages behind means a crash that nothing avoids any more.
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
