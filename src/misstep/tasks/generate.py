"""The one generator of everything that is built in: planning tasks of the domains, and models."""

from __future__ import annotations

from typing import Any

from misstep.tasks.domains import DOMAINS
from misstep.tasks.domains import generate as generate_instance
from misstep.tasks.domains.model import Instance
from misstep.tasks.models import MODELS, generate_model
from misstep.tasks.models.model import ModelInstance
from misstep.tasks.parameters import look_up


def generate(name: str, /, *, seed: int = 0, **parameters: Any) -> Instance | ModelInstance:
    """A task of the built-in domain, or the built-in model, of that name: `generate("gripper", balls=6)`.

    What it returns has a `name`, its `files` as text and `write(FOLDER)`; `load_task` takes it as it is. Parameters
    that are not given take their default; `misstep generate NAME --help` lists them. The same name, parameters and
    seed give the same files, byte for byte, on every machine.
    """
    look_up("domain or model", name, (*DOMAINS, *MODELS))
    if name in DOMAINS:
        return generate_instance(name, seed=seed, **parameters)
    return generate_model(name, seed=seed, **parameters)


__all__ = ["generate"]
