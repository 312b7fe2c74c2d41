"""The nine domains of safety tests at published sizes with the policies that come with Misstep: what `misstep test`
finds with its defaults, how likely the danger is, and what all of it takes.

python -m benchmarks.published [--markdown FILE] [NAME ...]

Every campaign is a command of its own, held to 5 minutes of processor time and 4 GB (`--memory`). Afterwards, in
another process and without such a limit:

- risk: from up to 20 starts of unsafe runs, or a start of any kind where there is none, the probability to get unsafe
  and the least possible one, with at most 100,000 states explored each; of the start with the most risk are shown both
  intervals. The least possible risk of a start that is a bug is 0: its witness is a strategy that is safe for sure.
  Beside it the risk over all starts, from 10,000 drawn runs, or 2,000 of a thousand steps (Clopper and Pearson, 99 %).
- share: processor time of the decider alone on all states that the campaign has tested, one decider for all of them,
  divided by what a campaign without the severity of bugs takes from the begin of judging to its end: decisions,
  faults, the check of all witnesses, and storing. A third is the target.

Seconds are by the clock, with processor seconds beside. Memory is the most that the command and its helpers had at one
time, looked at ten times a second.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import remark, report
from misstep.policies.shipped import shipped_names
from misstep.training.qlearning.published import PUBLISHED, Domain, domain_of

SECONDS, MEGABYTES = 300, 4096
STARTS, EXPLORED, DRAWN = 20, 100_000, 10_000
LONG = 1000  # steps
FOUND_NOTHING, FOUND_BUGS = 0, 1  # exit codes of a campaign that has ended
Row = dict[str, Any]


def policies() -> list[str]:
    """The networks of all domains, then the trees where there are any."""
    known = set(shipped_names("safety"))
    names = [f"{own.name}{ending}" for ending in ("", "-trees") for own in PUBLISHED]
    return [name for name in names if name in known]


def domain(name: str) -> Domain:
    return domain_of(name.removesuffix("-trees"))


# -- the campaign ------------------------------------------------------------------------------------


def resident(process: int) -> int:
    """Bytes of a process and all that it has started."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        below = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(resident(int(child)) for child in below)


def processor_seconds(process: int) -> float:
    """Of a process and all that it has started."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        below = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except (OSError, IndexError):
        return 0.0
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(processor_seconds(int(child)) for child in below)


def campaign(name: str, model: Path, folder: Path) -> Row:
    options = ["--policy", f"shipped:{name}", "--memory", str(MEGABYTES), "-o", str(folder)]
    command = [sys.executable, "-m", "misstep", "test", str(model), *options, "--json"]
    before = os.times()
    began, most = time.monotonic(), 0
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as said,
        subprocess.Popen(command, stdout=out, stderr=said) as process,
    ):
        while process.poll() is None:
            most = max(most, resident(process.pid))
            if processor_seconds(process.pid) > SECONDS:
                process.terminate()
            time.sleep(0.1)
        seconds = time.monotonic() - began
        out.seek(0)
        said.seek(0)
        text, errors = out.read().decode(), said.read().decode()
    after = os.times()
    used = after.children_user + after.children_system
    used -= before.children_user + before.children_system
    taken: Row = {
        "seconds": round(seconds, 1),
        "processor_seconds": round(used, 1),
        "megabytes": most // 2**20,
    }
    if used > SECONDS:
        return {**taken, "problem": f"more than {SECONDS} processor seconds"}
    if process.returncode not in (FOUND_NOTHING, FOUND_BUGS):
        last = (errors.strip().splitlines() or ["?"])[-1]
        return {**taken, "problem": f"exit code {process.returncode}: {last[:200]}"}
    found = json.loads(text)
    blame = found["blame"] or {}
    return {
        **taken,
        "runs": found["runs"],
        "unsafe_runs": found["outcomes"].get("unsafe", 0),
        "states_met": found["policy_calls"],
        "tested": found["tested"],
        "bugs": found["bugs"]["total"],
        "no_bugs": found["optimal"],
        "unknown": found["unknown"],
        "faults": found["faults"],
        "analysed_runs": blame.get("runs", 0),
        "runs_with_fault": blame.get("with_fault", 0),
    }


# -- what is measured in a process of its own ----------------------------------------------------------


def measured(name: str, model: Path, folder: Path) -> Row:
    from misstep.campaigns.campaign import open_campaign
    from misstep.tasks.jani.load import load_jani

    task = load_jani(model)
    records = open_campaign(folder).records if folder.exists() else []
    engine = task.new_engine()
    unsafe = {own.state: own.verdict == "BUG" for own in records if own.found.step == 0}
    return {
        "starts": engine.initial_count,
        "starts_are": engine.initial_method,
        **measured_risk(name, model, unsafe),
        **measured_share(name, model, [own.state for own in records]),
    }


def measured_risk(name: str, model: Path, unsafe: dict[tuple[Any, ...], bool]) -> Row:
    """From starts of unsafe runs, with whether they are bugs."""
    from misstep._core import CounterRandom
    from misstep.policies.load import load_policy
    from misstep.safety.jani import system_of
    from misstep.safety.risk import RiskAnalysis, RiskSettings, sample_risk
    from misstep.tasks.jani.load import load_jani

    settings = RiskSettings(max_states=EXPLORED, runs=0, faults=0)
    steps = domain(name).horizon
    found = []
    chosen: list[Any] = [*unsafe][:STARTS]
    for state in chosen or [None]:
        task = load_jani(model)  # an engine remembers all that it has met
        start = task.sample_initial(CounterRandom(0, 0)) if state is None else state
        policy = load_policy(f"shipped:{name}", task)
        analysis = RiskAnalysis(task, policy, settings, starts=[start])
        for stage in analysis.stages():
            if stage == "exploring all states" and unsafe.get(start):
                break  # the least possible risk is known
        found.append(analysis.risk_of(start))
    worst = max(found, key=lambda own: (own.policy.low, own.size))
    least = [0.0, 0.0] if unsafe.get(worst.state) else worst.least.as_list()
    task = load_jani(model)
    engine = task.new_engine()
    system = system_of(task, load_policy(f"shipped:{name}", task, engine=engine), engine)
    runs = DRAWN if steps < LONG else DRAWN // 5
    drawn = sample_risk(system, (), runs=runs, level=0.99, seed=0, max_steps=steps)
    return {
        "risk_starts": min(len(unsafe), STARTS),
        "worst_risk": worst.policy.as_list(),
        "worst_least": least,
        "drawn_risk": drawn.interval.as_list(),
        "drawn_unsafe": drawn.unsafe,
        "drawn_cut": drawn.cut,
    }


def measured_share(name: str, model: Path, states: list[tuple[Any, ...]]) -> Row:
    from misstep.campaigns.testing import test
    from misstep.policies.load import load_policy
    from misstep.safety import Decider
    from misstep.safety.jani import system_of
    from misstep.tasks.jani.load import load_jani

    if not states:
        return {"campaign_rate": None, "decider_rate": None, "share": None}
    judging: list[float] = []  # processor time since judging began

    def told(phase: str, *_: int | None) -> None:
        if phase.endswith("judging"):
            judging.append(time.process_time())

    test(model, f"shipped:{name}", severity="none", progress=told)
    seconds = time.process_time() - judging[0]
    task = load_jani(model)
    engine = task.new_engine()
    decider = Decider(system_of(task, load_policy(f"shipped:{name}", task, engine=engine), engine))
    began = time.process_time()
    for state in states:
        decider.decide(state)
    alone = time.process_time() - began
    return {
        "campaign_rate": round(len(states) / seconds),
        "decider_rate": round(len(states) / alone) if alone else None,
        "share": round(alone / seconds, 3),
    }


# -- all of them -----------------------------------------------------------------------------------------


def one(name: str) -> Row:
    from misstep.tasks.models import generate_model, write_model

    with tempfile.TemporaryDirectory(prefix="misstep-bench-") as place:
        model, folder = Path(place) / "model.jani", Path(place) / "campaign"
        write_model(generate_model(domain(name).name, **domain(name).options), model)
        row = campaign(name, model, folder)
        command = [sys.executable, "-m", "benchmarks.published", "--one", name, place]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["?"])[-1]
            return {**row, "risk_problem": last[:200]}
        return {**row, **json.loads(done.stdout)}


HEADS = (
    "policy",
    "starts",
    "states met",
    "unsafe runs of 1,000",
    "tested: bugs, no bugs, undecided",
    "faults (runs with one)",
    "risk of the worst start (least possible)",
    "risk over all starts",
    "states/s (alone; share)",
    "seconds (processor)",
    "MB",
)


def in_markdown(found: dict[str, Row]) -> str:
    lines = ["| " + " | ".join(HEADS) + " |", "|" + "---|" * len(HEADS)]
    lines += ["| " + " | ".join(_cells(name, row)) + " |" for name, row in found.items()]
    return "\n".join(lines) + "\n"


def _cells(name: str, row: Row) -> list[str]:
    taken = [f"{row['seconds']} ({row['processor_seconds']})", f"{row['megabytes']:,}"]
    if "problem" in row:
        return [name, row["problem"], *("-" for _ in HEADS[4:]), *taken]
    cells = [
        name,
        _starts(row),
        f"{row['states_met']:,}",
        f"{row['unsafe_runs']:,}",
        f"{row['tested']:,}: {row['bugs']:,}, {row['no_bugs']:,}, {row['unknown']:,}",
        f"{row['faults']:,} ({row['runs_with_fault']:,} of {row['analysed_runs']:,})",
    ]
    if "worst_risk" not in row:
        return [*cells, row.get("risk_problem", "-"), "-", "-", *taken]
    worst = f"{_interval(row['worst_risk'])} ({_interval(row['worst_least'])})"
    rates = "-"
    if row["share"] is not None:
        rates = f"{row['campaign_rate']:,} ({row['decider_rate'] or 0:,}; {row['share']})"
    return [*cells, worst, _interval(row["drawn_risk"]), rates, *taken]


def _starts(row: Row) -> str:
    count = row.get("starts")
    how = row.get("starts_are", "?")
    return f"real numbers, {how}" if count is None else f"{count:,.0f} {how}"


def _interval(own: list[float]) -> str:
    low, high = own
    return f"{low:.4g}" if high - low < 1e-6 else f"{low:.4g} to {high:.4g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--one", nargs=2)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.one:
        name, place = options.one
        print(json.dumps(measured(name, Path(place) / "model.jani", Path(place) / "campaign")))
        return
    found: dict[str, Row] = {}
    for name in options.names or policies():
        found[name] = one(name)
        remark(f"{name}: {found[name]}")
        if options.markdown:
            options.markdown.write_text(in_markdown(found), encoding="utf-8")
    report("published", found)


if __name__ == "__main__":
    main()
