"""Pictures of states as SVG: `drawing_for(task)` finds the drawing of a task, `Drawing.svg(state)` draws a state.

docs/drawings.md shows how to add a drawing of your own.
"""

from misstep.reports.drawings.canvas import Canvas
from misstep.reports.drawings.drawing import Drawing
from misstep.reports.drawings.registry import drawing_for, forget, register
from misstep.reports.drawings.subject import Scene, Subject

__all__ = ["Canvas", "Drawing", "Scene", "Subject", "drawing_for", "forget", "register"]
