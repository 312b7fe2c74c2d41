"""Generate tasks of the built-in domains, and the built-in models."""

from __future__ import annotations

from typing import Any

from misstep.tasks.domains import DOMAINS
from misstep.tasks.domains import generate as generate_instance
from misstep.tasks.domains.model import Instance
from misstep.tasks.models import MODELS, generate_model
from misstep.tasks.models.model import ModelInstance
from misstep.tasks.parameters import look_up


def generate(name: str, /, *, seed: int = 0, **parameters: Any) -> Instance | ModelInstance:
    """Generate a task of a built-in domain, or a built-in model: `generate("gripper", balls=6)`.

    The result has a `name`, its `files` as text and `write(FOLDER)`; `load_task` accepts it directly. `misstep generate
    NAME --help` lists the parameters and their defaults. The same name, parameters and seed give the same files, byte
    for byte, on every machine.
    """
    look_up("domain or model", name, (*DOMAINS, *MODELS))
    if name in DOMAINS:
        return generate_instance(name, seed=seed, **parameters)
    return generate_model(name, seed=seed, **parameters)


__all__ = ["generate"]
