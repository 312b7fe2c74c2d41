"""Readers of what is typed: specs of policies, oracles, teachers and clusters, conditions, states, ids and constants.

The same texts stand in the folders and settings of strangers. Here the user may be blamed (2).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random

from attack.fuzzing.mutators import Files, damaged
from attack.fuzzing.networks import task
from attack.fuzzing.reader import CODES, Reader
from attack.fuzzing.stored import folders
from attack.fuzzing.trained import model
from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.cluster.address import read_address
from misstep.campaigns.handles import find_record, place_of
from misstep.campaigns.records import Record
from misstep.campaigns.settings import parse_radius, parse_severity_budget
from misstep.cli.models import _parameters
from misstep.comparison.gates import parse_fail_on
from misstep.errors import UsageError
from misstep.oracles.grammar import read_oracle
from misstep.policies.load import load_policy
from misstep.policies.networks.activation import of_class, parse_activation
from misstep.policies.networks.declaration import parse_norms
from misstep.policies.trust import is_plain, runs_file
from misstep.tasks.jani.load import load_jani
from misstep.training.teachers import make_teacher
from support.jani import TINY_LINE, write

SPECS = (
    *("first", "random:7", "heuristic:ff", "noisy:0.1:7+noisy:0.25:3+heuristic:add", "optimal"),
    *("plan:x.plan", "asnet:x.safetensors", "shipped:ferry", "rules:x.rules", "zoo:ferry-rules"),
    *("sketch:--width=1 --choose=all x.txt", "wl:--choose=hill:3 x.model", "sb3:--mask x.zip"),
    *("network:--activation=leaky-relu:0.2 x.nnet", "x+y.jani2nnet", "shield:x+shield:y+random:1"),
    "python:x.py:Own?depth=3&name=x",
)
# Nothing is started and nobody is asked.
FOREIGN = (
    "exec:--timeout=5 --memory-limit=100 python x.py",
    "program:--timeout=5 x.py:f",
    "llm:--key-env=KEY --budget-tokens=100 --price=0.1,0.2 m@http://localhost:1/v1",
    "grpc:--timeout=5 localhost:50051",
)
ORACLES = ("lmcut, bmo(100)+aras/ehc", "p23", "(undo|exact), bmo(expansions=1_000)", "none")
CONDITIONS = (
    "pos >= 3 and not (vel > 1 or crash)",
    "min(pos, 2) + 3 * pos - 1 % 2 = ite(vel = 0, 1.5, 2e3) && true",
    '"pos" ≠ abs(-1) ∨ floor(1.5) ≤ pow(2, 3)',  # noqa: RUF001
)


def damage_text(seeds: Sequence[Files], random: Random, _: Path) -> Files:
    """Often by a part that is repeated, as users can nest what they type."""
    ((kind, content),) = random.choice(seeds).items()
    others = [own[kind] for own in seeds if kind in own]
    for _i in range(random.choice((1, 1, 2, 3))):
        if random.random() < 0.2 and content:
            begin = random.randrange(len(content))
            end = min(len(content), begin + random.randint(1, 12))
            times = random.choice((2, 30, 300, 3000))
            content = content[:begin] + content[begin:end] * times + content[end:]
        else:
            content = damaged(content, others, random)
    return {kind: content[:50_000]}


def text_of(files: Files) -> tuple[str, str]:
    ((kind, content),) = files.items()
    return kind, content.decode("utf-8", "surrogateescape")


# -- policies -------------------------------------------------------------------------------------


def spec_seeds() -> list[Files]:
    return [
        *({"load": spec.encode()} for spec in SPECS),
        *({"judge": spec.encode()} for spec in FOREIGN),
    ]


def use_spec(files: Files, _: Path) -> None:
    kind, spec = text_of(files)
    plain = [is_plain(spec, of_model=own) for own in (False, True)]
    runs_file(spec)
    if kind == "load":  # what is not plain may run anything
        if plain[0]:
            load_policy(spec, task()).close()
        if plain[1]:
            load_policy(spec, model()).close()


# -- other grammars -------------------------------------------------------------------------------


@cache
def model_file() -> Path:
    """With constants that are left open."""
    constants = [{"name": "L", "type": "int"}, {"name": "p", "type": "real"}]
    return write(
        {**TINY_LINE, "constants": constants}, folder=Path(tempfile.mkdtemp(prefix="fuzz-seeds-"))
    )


@cache
def records() -> tuple[Record, ...]:
    with open_campaign(folders()["task"]) as campaign:
        return tuple(campaign.records)


def _condition(text: str) -> None:
    load_jani(model_file(), parameters={"L": 3, "p": 0.1}, unsafe=text)


def _constant(text: str) -> None:
    own = load_jani(model_file(), parameters=_parameters(text.split()))
    for state in own.initial_states(max_steps=1000)[:1]:
        own.outcomes(state, 0)


def _state(text: str) -> None:
    for own in (task(), model()):
        try:
            own.parse_state(text)
        except UsageError:
            raise
        except Exception as error:
            last = error
    raise last


def _id(text: str) -> None:
    tasks = sorted({own.task for own in records()})
    place_of(text, tasks)
    find_record(records(), tasks, text, "x")


def _word(parse: Callable[[str], object]) -> Callable[[str], None]:
    """These say what was expected by a ValueError."""

    def read(text: str) -> None:
        try:
            parse(text)
        except ValueError as error:
            if "digits" in str(error):
                raise

    return read


GRAMMARS: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    "oracle": (read_oracle, ORACLES),
    "condition": (_condition, CONDITIONS),
    "constant": (_constant, ("L=3 p=0.1", "p=1e-3 L=2")),
    "address": (read_address, ("local:4", "tcp://[::1]:8786", "tls://host.name:1", "slurm:x.toml")),
    "radius": (parse_radius, ("3", "inf")),
    "budget": (parse_severity_budget, ("1000", "auto")),
    "gate": (lambda text: parse_fail_on([text]), ("new,worse", "any")),
    "teacher": (lambda text: make_teacher(text, task()), ("auto", "command:planner {sas} {plan}")),
    "id": (_id, ("gripper-4:3", "7", ":1")),
    "activation": (_word(parse_activation), ("leaky-relu:0.2", "gelu-tanh")),
    "class": (of_class, ("functools.partial(<class 'torch.nn.ELU'>, alpha=0.5)",)),
    "norms": (_word(parse_norms), ("after:1e-3", "before")),
}


def grammar_seeds() -> list[Files]:
    found = [{kind: text.encode()} for kind, (_, texts) in GRAMMARS.items() for text in texts]
    atoms = ", ".join(task().facts(task().initial_state))
    values = model().initial_states()[0]
    pairs = zip(model().variable_names, values, strict=True)
    texts = (atoms, "0 3 1", ", ".join(f"{name}={value}" for name, value in pairs))
    return [*found, *({"state": text.encode()} for text in texts)]


def use_grammar(files: Files, _: Path) -> None:
    kind, text = text_of(files)
    read = _state if kind == "state" else GRAMMARS[kind][0]
    read(text)


READERS = (
    Reader("specs", spec_seeds, use_spec, codes=CODES | {2, 34}, mutate=damage_text, cases=600),
    Reader("typed", grammar_seeds, use_grammar, codes=CODES | {2}, mutate=damage_text, cases=1500),
)
