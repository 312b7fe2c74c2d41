"""Readers of files that people pass on: certificates, baselines, lists of tasks, exported tests, shields, options."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random

from attack.fuzzing.mutators import Files, damaged
from attack.fuzzing.reader import CODES, DisagreementError, Reader, placed
from attack.fuzzing.stored import folders
from checking.test_certificates import road, safe_road
from checking.test_certificates_of_tasks import spanner
from misstep.campaigns.campaign import open_campaign
from misstep.campaigns.cluster.address import read_address
from misstep.comparison.baseline import Baseline
from misstep.faults.prove import check_certificate
from misstep.policies.load import load_policy
from misstep.reports.exports.cases import DATA_NAME, read_cases, read_own_cases
from misstep.reports.exports.judge import Bench
from misstep.safety.jani_shield import table_of
from misstep.safety.shield import Blacklist, DeciderShield
from misstep.tasks.domains import generate
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.suites import suite_files
from misstep.tasks.task import Task
from support.campaigns import small_model
from support.prove import put_together, taken_apart

# -- certificates ---------------------------------------------------------------------------------


@cache
def proven() -> tuple[tuple[Task | JaniTask, bytes], ...]:
    task, content = spanner()
    return (task, content), (road(), safe_road())


def certificate_seeds() -> list[Files]:
    return [{f"{place}": content} for place, (_, content) in enumerate(proven())]


def damage_certificate(seeds: Sequence[Files], random: Random, _: Path) -> Files:
    """Mostly inside, packed again: else every case ends at a column that cannot be unpacked."""
    ((name, content),) = random.choice(seeds).items()
    if random.random() < 0.2:
        return {name: damaged(content, [content], random)}
    header, columns = taken_apart(content)
    if random.random() < 0.5:
        text = json.dumps(header).encode()
        try:
            changed = json.loads(damaged(text, [text], random))
            if any(
                own["width"] > 16 for own in changed["columns"]
            ):  # such columns take too long to write
                return {name: damaged(content, [content], random)}
            return {name: put_together(changed, columns)}
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            IndexError,
            RecursionError,
            OverflowError,
        ):
            return {name: damaged(content, [content], random)}
    column = random.choice([own for own in columns if own])
    column[random.randrange(len(column))] = random.choice((0, 1, 2, 255, random.randrange(2**16)))
    try:
        return {name: put_together(header, columns)}
    except (OverflowError, ValueError):
        return {name: damaged(content, [content], random)}


def use_certificate(files: Files, _: Path) -> None:
    ((name, content),) = files.items()
    task, _real = proven()[int(name)]
    found = check_certificate(content, task)
    str(found)
    json.dumps(found.as_dict())


# -- baselines ------------------------------------------------------------------------------------


def baseline_seeds() -> list[Files]:
    found: list[Files] = []
    for folder in folders().values():
        with open_campaign(folder) as campaign:
            found.append({"x.json": Baseline.of(campaign).text().encode()})
    return found


def use_baseline(files: Files, place: Path) -> None:
    """Read, written again, and compared with campaigns of both worlds."""
    own = Baseline.read(placed(files, place) / "x.json")
    (place / "again.json").write_text(own.text())
    again = Baseline.read(place / "again.json")
    if again.bugs.keys() != own.bugs.keys() or again.tasks != own.tasks:
        raise DisagreementError("a baseline that is written again is another one")
    own.check_tasks(own.world, own.tasks)


# -- suites ---------------------------------------------------------------------------------------


def suite_seeds() -> list[Files]:
    made = generate("gripper", balls=2).files
    (problem,) = (name for name in made if "domain" not in name)
    (domain,) = (name for name in made if "domain" in name)
    files = {domain: made[domain], **{f"p{k}.pddl": made[problem] for k in range(3)}}
    lists = (
        f"# two tasks\np0.pddl\n{domain} p1.pddl\n",
        "'p0.pddl'\np[12].pddl\n",
        "p*.pddl\n",
        ".\n",
    )
    return [
        {"x.txt": own.encode(), **{name: text.encode() for name, text in files.items()}}
        for own in lists
    ]


def damage_list(seeds: Sequence[Files], random: Random, _: Path) -> Files:
    chosen = dict(random.choice(seeds))
    others = [own["x.txt"] for own in seeds]
    for _i in range(random.choice((1, 2, 4))):
        chosen["x.txt"] = damaged(chosen["x.txt"], others, random)
    return chosen


def use_suite(files: Files, place: Path) -> None:
    # Folders outside may be the whole disk, which takes as long as it takes to look through.
    lines = files["x.txt"].split(b"\n")
    inside = [
        line for line in lines if b".." not in line and not re.search(rb"(^|[\s'\"\\])/", line)
    ]
    suite_files([placed({**files, "x.txt": b"\n".join(inside)}, place) / "x.txt"])


# -- exported tests -------------------------------------------------------------------------------


def tests_seeds() -> list[Files]:
    found: list[Files] = []
    for name, folder in folders().items():
        out = folder.parent / f"tests-{name}"
        with open_campaign(folder) as campaign:
            campaign.export("tests", out)
        found.append(
            {
                _name(path, out): path.read_bytes()
                for path in out.rglob("*")
                if path.suffix != ".py" and path.is_file()
            }
        )
    return found


def _name(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder)).replace("/", "__")


def damage_tests(seeds: Sequence[Files], random: Random, _: Path) -> Files:
    """In the data; the tasks beside it have readers of their own."""
    chosen = dict(random.choice(seeds))
    chosen[DATA_NAME] = damaged(chosen[DATA_NAME], [chosen[DATA_NAME]], random)
    return chosen


def use_tests(files: Files, place: Path) -> None:
    for name, content in files.items():
        path = place / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    data = place / DATA_NAME
    read_own_cases(data)
    cases = read_cases(data)
    bench = Bench(cases, place, "first")
    try:
        for case in cases.cases[:2]:
            with suppress(AssertionError):  # the policy is worse than the witness
                bench.check(case)
    finally:
        bench.close()


# -- shields --------------------------------------------------------------------------------------


def shield_seeds() -> list[Files]:
    model = small_model("one-way-line")
    made = DeciderShield(model.digest, model.name, "random:1", evaluations=1000)
    states = [tuple(state) for state in list(table_of(model, made, 1000).allowed)[:3]]
    listed = Blacklist(dict.fromkeys(states, ("acc",)))
    texts = (made.to_json(), table_of(model, made, 1000).to_json(), listed.to_json())
    return [{"x.json": text.encode()} for text in texts]


def use_shield(files: Files, place: Path) -> None:
    model = small_model("one-way-line")
    policy = load_policy(f"shield:{placed(files, place) / 'x.json'}+random:1", model)
    policy.close()


# -- clusters -------------------------------------------------------------------------------------


def slurm_seeds() -> list[Files]:
    text = 'jobs = 10\ncores = 8\nmemory = "16GB"\nwalltime = "04:00:00"\njob_extra_directives = ["--x=1"]\n'
    return [{"x.toml": text.encode()}]


def use_slurm(files: Files, place: Path) -> None:
    read_address(f"slurm:{placed(files, place) / 'x.toml'}")


READERS = (
    Reader(
        "certificate",
        certificate_seeds,
        use_certificate,
        codes=CODES | {2},
        mutate=damage_certificate,
        cases=200,
    ),
    Reader("baseline", baseline_seeds, use_baseline, cases=250),
    Reader("suite", suite_seeds, use_suite, codes=CODES | {2}, mutate=damage_list, cases=250),
    # A limit of one step leaves a case undecided (10).
    Reader(
        "tests", tests_seeds, use_tests, codes=CODES | {2, 10, 11}, mutate=damage_tests, cases=60
    ),
    Reader("shield", shield_seeds, use_shield, codes=CODES | {2}, cases=150),
    Reader("slurm", slurm_seeds, use_slurm, cases=400),
)
