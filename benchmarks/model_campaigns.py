"""Whole campaigns on models at published sizes: states a second against the decider alone, and what a campaign takes.

python -m benchmarks.model_campaigns [RUNS [NAME ...]]

Each model is tested in a process of its own, as `misstep test` does it with its defaults, with a random policy, which
runs into danger often. `share` is processor time of the decider alone on all states that the campaign has tested, one
decider for all of them, divided by that of a campaign that does not ask for the severity of bugs. A campaign also
decides states off its runs, the outcomes of decisions, to tell which decisions are faults; `share_with_outcomes`
divides the time of the decider alone on all states that the campaign decides. A third is the target. A campaign that
takes more than five minutes is ended, and says so. Seconds are processor time; memory is the most that the process
had at one time.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import remark, report

ICE = {"drop": True, "ice": "5,7"}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "one-way line, park": ("one-way-line", {"cells": 10, "packages": 15, "park": True, **ICE}),
    "one-way line": ("one-way-line", {"cells": 10, "packages": 15, **ICE}),
    "two-way line, park": ("two-way-line", {"cells": 10, "packages": 15, "park": True, **ICE}),
    "two-way line": ("two-way-line", {"cells": 10, "packages": 15, **ICE}),
    "blocks 4_3": ("blocksworld-cost", {"blocks": 4, "limit": 3, "max_cost": 12}),
    "blocks 6_5": ("blocksworld-cost", {"blocks": 6, "limit": 5, "max_cost": 12}),
    "blocks 8_7": ("blocksworld-cost", {"blocks": 8, "limit": 7, "max_cost": 12}),
    "3x3 puzzle": ("n-puzzle", {"width": 3, "height": 3, "max_cost": 12}),
    "beluga 4_2": ("beluga", {}),
    "bouncing ball": ("bouncing-ball", {}),
    "inverted pendulum": ("inverted-pendulum", {}),
    "cart pole": ("cartpole", {}),
    "follow car": ("follow-car", {}),
}
POLICY = "random:0"
SECONDS = 300
RUNS = 1000  # the default of campaigns


def measured(name: str, runs: int) -> dict[str, Any]:
    """In this process, which does nothing else."""
    from misstep.campaigns.testing import test
    from misstep.policies.load import load_policy
    from misstep.safety import Decider
    from misstep.safety.jani import system_of
    from misstep.tasks.jani.load import load_jani
    from misstep.tasks.models import generate_model, write_model

    domain, choices = MODELS[name]
    path = Path(tempfile.mkdtemp(prefix="misstep-bench-")) / "model.jani"
    write_model(generate_model(domain, **choices), path)
    began = time.process_time()
    campaign = test(path, POLICY, runs=runs)
    whole = time.process_time() - began
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    records = campaign.records
    # How severe bugs are is another question than the decider's, with a budget of its own.
    began = time.process_time()
    test(path, POLICY, runs=runs, severity="none")
    seconds = time.process_time() - began
    states = [record.state for record in records]
    task = load_jani(path)
    engine = task.new_engine()
    policy = load_policy(POLICY, task, engine=engine)
    decider = Decider(system_of(task, policy, engine))
    began = time.process_time()
    for state in states:
        decider.decide(state)
    alone = time.process_time() - began
    decider = Decider(system_of(task, policy, engine))
    began = time.process_time()
    asked = sum(decided(decider, state) for state in states)
    with_outcomes = time.process_time() - began
    verdicts = [record.verdict for record in records]
    return {
        "states": len(states),
        "bugs": verdicts.count("BUG"),
        "unknown": verdicts.count("UNKNOWN"),
        "seconds": round(whole, 2),
        "seconds_without_severity": round(seconds, 2),
        "states_per_second": round(len(states) / seconds),
        "alone_per_second": round(len(states) / alone) if alone else None,
        "share": round(alone / seconds, 2),
        "states_with_outcomes": asked,
        "share_with_outcomes": round(with_outcomes / seconds, 2),
        "megabytes": most,
    }


def decided(decider: Any, state: Any) -> int:
    """Decides a state, and the outcomes of the decision there as far as a campaign does; how many were not known."""
    id = decider.system.id(state)
    asked = int(decider.native.known(id, None) == "unknown")
    if decider.decide_id(id).answer != "safe":
        return asked
    outcomes = decider.system.native.policy_outcomes(id)
    answers = [decider.native.known(outcome, None) for outcome in outcomes]
    if "not safe" in answers:
        return asked
    for outcome, answer in zip(outcomes, answers, strict=True):
        if answer == "unknown":
            asked += 1
            if decider.decide_id(outcome).answer == "not safe":
                break
    return asked


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] == ["--one"]:
        print(json.dumps(measured(arguments[1], int(arguments[2]))))
        return
    runs = int(arguments[0]) if arguments else RUNS
    found: dict[str, Any] = {}
    for name in arguments[1:] or MODELS:
        command = [sys.executable, "-m", "benchmarks.model_campaigns", "--one", name, str(runs)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS, check=True
            )
            found[name] = json.loads(done.stdout)
        except subprocess.TimeoutExpired:
            found[name] = {"problem": f"more than {SECONDS} seconds"}
        except subprocess.CalledProcessError as error:
            found[name] = {"problem": error.stderr.strip().splitlines()[-1][:200]}
        remark(f"{name}: {found[name]}")
    report("model_campaigns", found)


if __name__ == "__main__":
    main()
