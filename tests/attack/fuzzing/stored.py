"""Readers of what Misstep itself has written: campaigns, settings, dominance tables, knowledge and trainings."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import tempfile
import zlib
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from random import Random

import numpy as np

from attack.fuzzing.mutators import Files, damaged
from attack.fuzzing.reader import DisagreementError, Reader, placed
from misstep._core import CounterRandom
from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.campaigns.lent import loan_of
from misstep.campaigns.testing import read_settings
from misstep.campaigns.testing import test as run_campaign
from misstep.checking.dominance import DominanceTables, TableError
from misstep.comparison.compare import compare
from misstep.comparison.shrink.folder import read as small_bug
from misstep.decoding import read_npz
from misstep.errors import MisstepError
from misstep.oracles.bounds import BoundStore
from misstep.oracles.dominance import DominanceFunction
from misstep.oracles.knowledge import Knowledge
from misstep.reports import junit, markdown, sarif
from support.attacks import damage_bytes, damage_rows
from support.campaigns import BATCHES, NOISY, SHARING, small_model
from support.tasks import rows, small_task, walk

# -- campaigns ------------------------------------------------------------------------------------


@cache
def folders() -> dict[str, Path]:
    """A campaign of each world, for all readers of campaigns and of what is made of them."""
    place = Path(tempfile.mkdtemp(prefix="fuzz-seeds-"))
    run_campaign(
        *(small_task("gripper-4"), NOISY),
        out=place / "task",
        pool=10,
        oracle="exact",
        config=SHARING,
    ).close()
    model = small_model("one-way-line")
    run_campaign(model, "random:1", out=place / "model", runs=20, config=BATCHES).close()
    return {"task": place / "task", "model": place / "model"}


def campaign_seeds() -> list[Files]:
    return [
        {name: (folder / name).read_bytes() for name in ("run.db", "config.toml")}
        for folder in folders().values()
    ]


def damage_campaign(seeds: Sequence[Files], random: Random, place: Path) -> Files:
    folder = place / "seed"
    folder.mkdir()
    placed(random.choice(seeds), folder)
    damage = damage_bytes if random.random() < 0.3 else damage_rows
    damage(folder, CounterRandom(random.getrandbits(60)))
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def read_campaign(files: Files, place: Path) -> None:
    with open_campaign(placed(files, place)) as campaign:
        _ = campaign.summary
        for bug in campaign.bugs[:3]:
            str(campaign.explain(bug))
        campaign.replay()


def use_campaign(files: Files, place: Path) -> None:
    """All that is made from a campaign without running its policy. The first error counts; the rest is tried too."""
    problems: list[Exception] = []
    with open_campaign(placed(files, place)) as campaign:
        (place / "out").mkdir()
        for number, make in enumerate(_uses(campaign, place / "out")):
            try:
                make()
            except Exception as error:
                problems.append(error)
                if not isinstance(error, MisstepError):
                    raise
                error.where = f"{number} {error.where}"
    for problem in problems:
        raise problem


def _uses(campaign: Campaign, out: Path) -> list[Callable[[], object]]:
    exported = ("tests", "csv", "json", "latex", "baseline")
    of_bugs = ("problem", "plan") if campaign.settings.world == "planning" else ("model",)
    found: list[Callable[[], object]] = [
        partial(campaign.export, what, out / f"{what}.{END.get(what, what)}") for what in exported
    ]
    for bug in campaign.bugs[:1]:
        found += [
            partial(campaign.export, what, out / f"bug-{what}", bug=bug.id) for what in of_bugs
        ]
        found.append(partial(small_bug, campaign, bug))
    found += [
        lambda: campaign.report(out / "report.html"),
        lambda: [str(own) for own in campaign.families],
        lambda: loan_of(campaign._store),
        lambda: json.dumps(compare(campaign, campaign).as_dict()),
        *(partial(kind.text, campaign) for kind in (junit, sarif, markdown)),
    ]
    return found


END = {"latex": "tex"}


# -- settings -------------------------------------------------------------------------------------


def settings_seeds() -> list[Files]:
    return [{"x.toml": seed["config.toml"]} for seed in campaign_seeds()]


def use_settings(files: Files, place: Path) -> None:
    read_settings(placed(files, place) / "x.toml")


# -- dominance ------------------------------------------------------------------------------------

_BODY = 88  # bytes of the header of a file of tables
_LENGTHS = struct.Struct("<8sIIQ32s32s")


def dominance_seeds() -> list[Files]:
    task = small_task("gripper-4")
    function = DominanceFunction.compute(task)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        function.save(Path(folder) / "tables")
        return [{"tables": (Path(folder) / "tables").read_bytes()}]


def damage_tables(seeds: Sequence[Files], random: Random, _place: Path) -> Files:
    """Mostly inside, with length and digest put right: else every case ends at the digest."""
    content = seeds[0]["tables"]
    if random.random() < 0.2:
        return {"tables": damaged(content, [content], random)}
    body = bytearray(zlib.decompress(content[_BODY:]))
    for _ in range(random.choice((1, 1, 2, 5))):
        if random.random() < 0.7 and len(body) >= 8:  # one of the numbers
            at = 8 * random.randrange(len(body) // 8)
            number = random.choice(
                (0, 1, 2, -1, 255, 2**31, 2**40, 2**62, -(2**63), random.randrange(99))
            )
            body[at : at + 8] = struct.pack("<q", number)
        else:
            body = bytearray(damaged(bytes(body), [bytes(body)], random)) or bytearray(8)
    packed = zlib.compress(bytes(body))
    magic, version, solvable, _length, digest, _digest = _LENGTHS.unpack_from(content)
    own = hashlib.sha256(packed).digest()
    return {"tables": _LENGTHS.pack(magic, version, solvable, len(packed), digest, own) + packed}


def use_tables(files: Files, place: Path) -> None:
    """The two readers of tables need not refuse the same, but what both read has to be the same."""
    task = small_task("gripper-4")
    function = DominanceFunction.load(placed(files, place) / "tables", task)
    states = walk(task, 6, 3)
    try:
        tables = DominanceTables(function.core.write())
    except TableError as error:
        raise DisagreementError(
            f"what the core has written, the checker refuses: {error}"
        ) from error
    for one in states:
        for other in states:
            value = function.value(one, other)
            theirs = tables.value(tuple(one.values), tuple(other.values))
            if value != theirs:
                raise DisagreementError(f"D is {value} and {theirs}")


# -- knowledge ------------------------------------------------------------------------------------


def knowledge_seeds() -> list[Files]:
    task = small_task("gripper-4")
    store = BoundStore(task)
    states = walk(task, 12, 5)
    for state in states:
        store.look_ahead(state, 2, float("inf"))
    return [{"known": store.knowledge(rows(states)).to_bytes()}]


def use_knowledge(files: Files, _: Path) -> None:
    task = small_task("gripper-4")
    known = Knowledge.from_bytes(files["known"], task.variable_count)
    BoundStore(task).add_knowledge(known)


# -- trainings ------------------------------------------------------------------------------------


def npz_seeds() -> list[Files]:
    buffer = io.BytesIO()
    np.savez(buffer, a=np.arange(20.0), b=np.zeros((3, 4), np.float32), c=np.array(True))
    return [{"x.npz": buffer.getvalue()}]


def use_npz(files: Files, _: Path) -> None:
    read_npz(files["x.npz"], 2**24)


READERS = (
    Reader("campaign", campaign_seeds, read_campaign, mutate=damage_campaign, cases=375),
    Reader("campaign-uses", campaign_seeds, use_campaign, mutate=damage_campaign, cases=15),
    Reader("settings", settings_seeds, use_settings, cases=1500),
    Reader("dominance", dominance_seeds, use_tables, mutate=damage_tables, cases=1500),
    Reader("knowledge", knowledge_seeds, use_knowledge, cases=3750),
    Reader("npz", npz_seeds, use_npz, allowed=(ValueError,), cases=2000),
)
