"""The environments of Misstep for Gymnasium (extra `gym`), under ids that need no import:

    gymnasium.make("misstep.gym:misstep/Jani-v0", model="model.jani")
    gymnasium.make("misstep.gym:misstep/Planning-v0", task=misstep.load_task("domain.pddl", "problem.pddl"))

Since version 1.0, Gymnasium no longer finds environments of other packages by itself, but it imports the module that is
named before the id. This is that module. Importing it registers the plain ids `misstep/Jani-v0` and
`misstep/Planning-v0`. The code of an environment is imported when one is made.
"""

from __future__ import annotations

from misstep.errors import MissingDependencyError

try:
    import gymnasium
except ImportError as error:
    raise MissingDependencyError(
        "environments need Gymnasium, which is not installed", hint="pip install 'misstep[gym]'"
    ) from error

IDS = {
    "misstep/Jani-v0": "misstep.tasks.jani.gym:JaniEnv",
    "misstep/Planning-v0": "misstep.tasks.gym:PlanningEnv",
}


def register() -> None:
    """Register both ids, unless they are registered already."""
    for id, entry_point in IDS.items():
        if id not in gymnasium.registry:
            gymnasium.register(id, entry_point=entry_point)


register()

__all__ = ["IDS", "register"]
