"""The records, the replay and the explanations of safety campaigns."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from misstep.campaigns.safety_store import DecidedState, SafetyStore
from misstep.campaigns.store import CampaignStore
from misstep.cli.output import print_json, print_table
from misstep.errors import UsageError
from misstep.files import write_bytes
from misstep.safety.faults import Fault
from misstep.safety.shield import Blacklist
from misstep.tasks.jani.task import JaniTask

VERDICTS = ("BUG", "NOT A BUG", "UNKNOWN")


def print_safety_records(store: CampaignStore, verdict: str | None, as_json: bool) -> None:
    if verdict is not None and verdict not in VERDICTS:
        raise UsageError(f"no verdict {verdict!r}", expected=", ".join(VERDICTS))
    tables = SafetyStore(store)
    task = tables.model()
    chosen = (entry for entry in tables.decided() if verdict in (None, entry.verdict))
    if as_json:
        for entry in chosen:
            print_json(entry.as_dict(task, tables))
        return
    print_table(
        ["verdict", "state", "decision", "fault", "index", "run", "step", "radius"],
        [
            (
                entry.verdict,
                task.text(entry.state),
                entry.label,
                {True: _fault(tables), False: "-", None: "?"}[entry.fault],
                str(entry.index),
                str(entry.path),
                str(entry.step),
                _radius(entry, tables),
            )
            for entry in chosen
        ],
        left=4,
    )


def explain_safety(
    store: CampaignStore, bug: str | None, top: int, shield: Path | None, as_json: bool
) -> None:
    """One bug: its run, the last safe state, the fault and the safe alternative. Without one: all faults."""
    tables = SafetyStore(store)
    task = tables.model()
    decided = list(tables.decided())
    if shield is not None:
        faults = [
            Fault(entry.state, entry.label, float(tables.radius), entry.outcome or entry.state)
            for entry in decided
            if entry.fault
        ]
        write_bytes(shield, Blacklist.of(faults).to_json().encode())
    if bug is None:
        _explain_all(task, tables, decided, top, as_json)
        return
    entry = next((e for e in decided if str(e.index) == bug), None)
    if entry is None or entry.verdict != "BUG":
        raise UsageError(
            f"no bug {bug!r}",
            where=str(store.folder),
            expected="the index of a bug",
            hint="misstep records DIR --verdict BUG lists the bugs",
        )
    _explain_one(task, tables, decided, entry, as_json)


def _explain_all(
    task: JaniTask, tables: SafetyStore, decided: list[DecidedState], top: int, as_json: bool
) -> None:
    runs = tables.paths()
    faults = [entry for entry in decided if entry.fault]
    passed = {entry.state: sum(entry.state in run.states for run in runs) for entry in faults}
    faults.sort(key=lambda entry: (-passed[entry.state], entry.index))
    if as_json:
        print_json(
            {"faults": [{**e.as_dict(task, tables), "runs": passed[e.state]} for e in faults]}
        )
        return
    if not faults:
        print("no faults proven")
    for entry in faults[:top]:
        print(
            f"{passed[entry.state]} run(s), such as {entry.path}: {entry.label} in "
            f"{task.text(entry.state)}{_instead(entry)}"
        )


def _instead(entry: DecidedState) -> str:
    better = dict(entry.strategy or ()).get(entry.state)
    return "" if better is None else f" instead of {better}"


def _explain_one(
    task: JaniTask,
    tables: SafetyStore,
    decided: list[DecidedState],
    bug: DecidedState,
    as_json: bool,
) -> None:
    run = next(run for run in tables.paths() if run.number == bug.path)
    of_state = {entry.state: entry for entry in decided}
    steps: list[dict[str, Any]] = []
    for k, state in enumerate(run.states):
        entry = of_state.get(state)
        steps.append(
            {
                "step": k,
                "state": list(state),
                "decision": run.labels[k] if k < len(run.labels) else None,
                "verdict": "UNSAFE" if k == len(run.labels) else entry and entry.verdict,
                "fault": entry is not None and entry.fault,
            }
        )
    safe = [k for k, step in enumerate(steps) if step["verdict"] == "BUG"]
    faults = [of_state[run.states[k]] for k in safe if steps[k]["fault"]]
    if as_json:
        print_json(
            {
                "bug": bug.as_dict(task, tables),
                "run": steps,
                "last_safe_step": safe[-1] if safe else None,
                "faults": [entry.as_dict(task, tables) for entry in faults],
            }
        )
        return
    safe_word, lost_word = _words(tables)
    print(
        f"bug {bug.index} of {task.name}, run {bug.path}: {safe_word}, but the policy gets unsafe"
    )
    radius = _radius(bug, tables)
    print(f"deviations from the policy that avoid it: {radius}")
    print()
    for k, state in enumerate(run.states):
        step = steps[k]
        mark = (
            f"  <- {_fault(tables)}"
            if step["fault"]
            else "  (unsafe)"
            if k == len(run.labels)
            else ""
        )
        words = {"BUG": safe_word, "NOT A BUG": lost_word, "UNKNOWN": "?"}
        word = words.get(step["verdict"], "").ljust(max(len(safe_word), len(lost_word)))
        print(f"{k:>4}  {word}  {task.text(state)}  {step['decision'] or ''}{mark}".rstrip())
    print()
    if safe:
        print(f"The last {safe_word} state is that of step {safe[-1]}.")
    for entry in faults:
        lost = "" if entry.outcome is None else f", which may lead to {task.text(entry.outcome)}"
        print(
            f"{_fault(tables).capitalize()}: {entry.label} in {task.text(entry.state)}{lost}{_instead(entry)}."
        )
    if bug.strategy is not None:
        print(f"A safe strategy from here names {len(bug.strategy)} state(s).")


def _words(tables: SafetyStore) -> tuple[str, str]:
    """For what the verdicts decide. Within a finite radius a state that is not r-safe need not be lost."""
    if tables.radius == "inf":
        return "safe", "lost"
    return f"{tables.radius}-safe", f"not {tables.radius}-safe"


def _fault(tables: SafetyStore) -> str:
    return "fault" if tables.radius == "inf" else f"{tables.radius}-fault"


def _radius(entry: DecidedState, tables: SafetyStore) -> str:
    radius = entry.smallest_radius
    if radius is None:
        return "-"
    return f"more than {tables.largest}" if radius == math.inf else str(int(radius))


__all__ = ["explain_safety", "print_safety_records"]
