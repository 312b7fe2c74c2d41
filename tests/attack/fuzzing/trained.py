"""Readers of trainings that are resumed: of ASNets, of networks by Q-learning, and loops of tests and trainings."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from random import Random

import numpy as np

from attack.fuzzing.mutators import Files, damaged
from attack.fuzzing.networks import HAS_TORCH, task
from attack.fuzzing.reader import CODES, Reader
from misstep.policies.asnet.model_file import read_model
from misstep.policies.shipped import shipped
from misstep.tasks.jani.task import JaniTask
from misstep.training.folder import TrainingFolder
from misstep.training.qlearning.loop import LoopSettings, Round, _begin, read_rounds, table
from misstep.training.samples import Sample, Samples
from misstep.training.settings import TrainingSettings
from misstep.training.tree import Node
from support.jani import TINY_LINE, write
from support.qlearning import small_settings
from support.tasks import walk

_IN = "__"  # between a folder and a file


def packed(folder: Path) -> Files:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "run.lock"]
    return {str(path.relative_to(folder)).replace("/", _IN): path.read_bytes() for path in files}


def unpacked(files: Files, place: Path) -> Path:
    for name, content in files.items():
        path = place / name.replace(_IN, "/")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    return place


# -- ASNets ---------------------------------------------------------------------------------------


def training_seeds() -> list[Files]:
    """Two models without an optimiser, which needs no PyTorch."""
    place = Path(tempfile.mkdtemp(prefix="fuzz-"))
    own = task()
    weights, _ = read_model(shipped("asnets", "ferry").file)
    described = [{"name": own.name, "digest": own.digest}]
    settings = {
        "settings": TrainingSettings().as_dict(),
        "train": described,
        "validate": [],
        "faults": [],
    }
    try:
        with TrainingFolder.create(place / "x", settings) as folder:
            samples = Samples([own], single=True)
            for id in range(2):
                mark = samples.mark()
                for state in walk(own, 4, id):
                    samples.add(0, Sample(state, tuple(own.applicable(state)[:2])))
                samples[0].give_up(own.initial_state)
                digest = folder.write_model(id, weights)
                folder.write_moments(id, 3, np.zeros(5, np.float32), np.ones(5, np.float32))
                folder.write_data(id, samples, mark)
                folder.add(
                    Node(id, id - 1 if id else None, id, 7, 0.5 if id else None, 0.5, 3, digest)
                )
            folder.finish(1, {})
        return [packed(place / "x")]
    finally:
        shutil.rmtree(place)


def damage_training(seeds: Sequence[Files], random: Random, _: Path) -> Files:
    """Not in the models, which have a digest and a reader of their own."""
    files = dict(random.choice(seeds))
    names = [name for name in files if "safetensors" not in name and "nnet" not in name]
    name = random.choice(names)
    for _i in range(random.choice((1, 1, 2))):
        files[name] = damaged(files[name], [files[name]], random)
    return files


def use_training(files: Files, place: Path) -> None:
    with TrainingFolder.open_folder(unpacked(files, place)) as folder:
        TrainingSettings.from_dict(folder.settings.get("settings", {}), "x")
        for node in folder.tree:
            folder.read_model(node.id)
            folder.read_moments(node.id)
        folder.read_data(Samples([task()], single=True))
        json.dumps(folder.tree.as_dict())
        folder.tree.draw()


# -- Q-learning -----------------------------------------------------------------------------------


@cache
def model() -> JaniTask:
    from misstep.tasks.jani.load import load_jani

    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        return load_jani(write(TINY_LINE, folder=Path(folder)))


def q_seeds() -> list[Files]:
    """Stopped on the way, and whole."""
    from misstep.training.qlearning.trainer import train

    class StopError(Exception):
        pass

    def stop(line: dict[str, object]) -> None:
        if int(str(line["step"])) > 500:
            raise StopError

    place = Path(tempfile.mkdtemp(prefix="fuzz-"))
    settings = replace(small_settings(), steps=600, checkpoints=6)
    starts = [model().initial_states()[0]] if hasattr(model(), "initial_states") else []
    try:
        with suppress(StopError):
            train(model(), place / "x", settings, starts=starts, report=stop)
        return [packed(place / "x")]
    finally:
        shutil.rmtree(place)


def use_q(files: Files, place: Path) -> None:
    from misstep.training.qlearning.trainer import resume

    resume(model(), unpacked(files, place))


# -- loops ----------------------------------------------------------------------------------------


def loop_seeds() -> list[Files]:
    place = Path(tempfile.mkdtemp(prefix="fuzz-"))
    rounds = [
        Round(arm, k, "x.jani2nnet", 5 * k, 0.5, 0.1, (0.0, 0.2), 10, 20, 3, 2, 1, 0)
        for arm in ("bugs", "plain")
        for k in range(2)
    ]
    try:
        _begin(model(), None, place / "x", LoopSettings(), resume=False)
        settings = (place / "x" / "loop.json").read_bytes()
    finally:
        shutil.rmtree(place)
    lines = "".join(json.dumps(asdict(own)) + "\n" for own in rounds)
    return [{"loop.json": settings, "rounds.jsonl": lines.encode()}]


def use_loop(files: Files, place: Path) -> None:
    folder = unpacked(files, place)
    _begin(model(), None, folder, LoopSettings(), resume=True)
    table(read_rounds(folder))


READERS = (
    Reader("training", training_seeds, use_training, mutate=damage_training, cases=100),
    Reader("loop", loop_seeds, use_loop, codes=CODES | {2}, cases=250),
    *(
        (Reader("qlearning", q_seeds, use_q, codes=CODES | {2}, mutate=damage_training, cases=60),)
        if HAS_TORCH
        else ()
    ),
)
