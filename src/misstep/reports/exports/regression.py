"""Export the bugs of a campaign as pytest tests, which replay them with the current policy.

The folder gets a small test module, a data file with the bugs, and the files of the tasks. Exporting again updates it.
Files that were not written by an export, or were changed by hand, stay unchanged.

A bug that the campaign still has keeps its mark as an expected failure, and a new bug gets one. A bug that is fixed
loses the mark: from then on, its test makes sure that the bug does not return. A mark that is gone is never put back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.records import Record, headline, no_bug_text
from misstep.campaigns.settings import Settings
from misstep.errors import InputFileError, MisstepError
from misstep.escaping import written_out
from misstep.files import holds, read_bytes
from misstep.policies.identity import IN_MEMORY
from misstep.reports.exports.cases import (
    DATA_NAME,
    MODULE_NAME,
    TASKS_NAME,
    Case,
    Cases,
    TaskFiles,
    read_own_cases,
)
from misstep.reports.exports.files import write_together
from misstep.reports.exports.judge import MOST_STATES, enough_for
from misstep.reports.exports.model import model_file, options_of
from misstep.reports.exports.names import file_name
from misstep.tasks.jani.interface import load_interface
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.load import AnyTask
from misstep.tasks.pddl.translate import translate_sources
from misstep.tasks.task import Task

_MOST_BYTES = 2**30
_LONGEST_RUN = 1000  # steps of a model's run that are written with their states
_LARGEST_STRATEGY = 200  # states; of a larger one, what it says along the run is written
_INTERFACE = "interface.jani2nnet"  # of networks, where the property names one
_HEADER = "# Written by 'misstep export tests'. Digest: "
_MODULE = f'''"""Bugs that 'misstep export tests' has found worth a test: each replays one with the current policy.

    pytest {MODULE_NAME} --misstep-policy SPEC

The bugs are in {DATA_NAME}. One that is not fixed yet is an expected failure, and strict: a fix is noticed.
This needs Misstep, whose plugin for pytest makes one test of each bug.
"""

import pytest


@pytest.mark.misstep_bugs("{DATA_NAME}")
def test_policy_is_as_good_as_the_witness(misstep_bug):
    misstep_bug.check()
'''


@dataclass
class ExportedTests:
    """The result of an export."""

    folder: Path
    added: list[str] = field(default_factory=list)  # keys of cases
    kept: list[str] = field(default_factory=list)  # still bugs
    fixed: list[str] = field(default_factory=list)  # bugs no more: their marks are gone
    guarded: list[str] = field(default_factory=list)  # fixed before, and still
    others: list[str] = field(default_factory=list)  # of which the campaign says nothing
    written: list[Path] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "added": self.added,
            "kept": self.kept,
            "fixed": self.fixed,
            "guarded": self.guarded,
            "others": self.others,
            "written": [str(path) for path in self.written],
            "remarks": self.remarks,
        }

    def __str__(self) -> str:
        counts = {
            "new": self.added,
            "still there": self.kept,
            "fixed, no expected failures any more": self.fixed,
            "fixed before": self.guarded,
            "not in this campaign, left unchanged": self.others,
        }
        said = ", ".join(f"{len(keys)} {what}" for what, keys in counts.items() if keys)
        lines = [f"{self.folder}: {said or 'no bugs'}"]
        lines += [f"wrote {path}" for path in self.written] or ["nothing had to be written"]
        return "\n".join(lines)


def export_tests(
    campaign: Campaign, folder: Path, *, bugs: Sequence[Record | str | int] | None = None
) -> ExportedTests:
    """Write or update the tests in a folder, of the named bugs or by default of all."""
    done = ExportedTests(folder)
    before = _before(folder)
    chosen = campaign.bugs if bugs is None else [campaign.record(bug) for bug in bugs]
    for record in chosen:
        if not record.is_bug:
            done.remarks.append(f"{no_bug_text(record)}, so there is no test for it")
    made = _Made(campaign.settings, {task.name: task for task in campaign.tasks})
    cases = _merged(before, campaign.records, [own for own in chosen if own.is_bug], made, done)
    identity = campaign.policy
    spec = None if identity is None or identity.spec.startswith(IN_MEMORY) else identity.spec
    used = {case.task for case in cases}
    tasks = {**(before.tasks if before else {}), **made.tasks}
    own_files = {**(before.files if before else {}), **made.files}
    tasks = {key: task for key, task in tasks.items() if key in used}
    named = {name for task in tasks.values() for name in task.files}
    files = {name: digest for name, digest in own_files.items() if name in named}
    known = before.files if before else {}
    contents = {name: content for name, content in made.contents.items() if name in named}
    _check_tasks(folder, contents, known)
    module = _module(folder, done)
    if module is not None:
        contents[MODULE_NAME] = module
    contents[DATA_NAME] = Cases(spec, tasks, files, tuple(cases)).text().encode()
    changed = {folder / name: content for name, content in contents.items()}
    changed = {path: content for path, content in changed.items() if not holds(path, content)}
    write_together(changed)
    done.written.extend(changed)
    return done


def _merged(
    before: Cases | None,
    records: Sequence[Record],
    bugs: Sequence[Record],
    made: _Made,
    done: ExportedTests,
) -> list[Case]:
    """The old cases, brought up to date, and the new ones behind them."""
    cases: dict[str, Case] = {case.key: case for case in (before.cases if before else ())}
    fresh = {made.key(record): record for record in bugs}
    known = {made.key(record): record for record in records} if cases else {}
    for key, case in cases.items():
        record = known.get(key)
        if record is not None and record.is_bug:
            done.kept.append(key)
            cases[key] = replace(made.case(record), expected_to_fail=case.expected_to_fail)
        elif record is None or not _is_fixed(record, case):
            done.others.append(key)
        elif case.expected_to_fail:
            done.fixed.append(key)
            cases[key] = replace(case, expected_to_fail=False)
        else:
            done.guarded.append(key)
    for key, record in fresh.items():
        if key not in cases:
            done.added.append(key)
            cases[key] = made.case(record)
    return list(cases.values())


def _is_fixed(record: Record, case: Case) -> bool:
    """Whether the state is proven not to be a bug, or the policy is as good as the witness, as the test requires."""
    if record.verdict == "UNKNOWN":
        cost, enough = record.run.cost, enough_for(case)
        return (
            record.run.outcome == "goal"
            and cost is not None
            and enough is not None
            and cost <= enough
        )
    return record.verdict != "FLAKY"


class _Made:
    """Makes cases of records, and collects the files of their tasks."""

    def __init__(self, settings: Settings, tasks: dict[str, AnyTask]) -> None:
        self._settings = settings
        self._by_name = tasks
        self._keys: dict[str, str] = {}
        self.tasks: dict[str, TaskFiles] = {}
        self.contents: dict[str, bytes] = {}

    @property
    def files(self) -> dict[str, str]:
        return {name: hashlib.sha256(own).hexdigest() for name, own in self.contents.items()}

    def key(self, record: Record) -> str:
        """A key of the task and the state, which is the same in every campaign."""
        text = f"{self._by_name[record.task].digest} {record.facts} {record.state}"
        return f"{file_name(record.task)}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"

    def case(self, record: Record) -> Case:
        task = self._by_name[record.task]
        key = self._task_key(task)
        names = list(record.run.names)
        before: dict[str, Any] = {"outcome": record.run.outcome, "operators": names}
        if isinstance(task, JaniTask):
            if len(names) <= _LONGEST_RUN:
                before["states"] = list(record.run.states or ())
            state: Any = dict(zip(task.variable_names, record.state, strict=True))
            witness = _strategy(record)
            settings = {
                "inapplicable": self._settings.of_model.inapplicable,
                "max_states": MOST_STATES,
            }
        else:
            before["cost"] = record.run.cost
            state = list(record.state if task.pddl is None else record.facts)
            own = self._settings.of_planning
            plan = record.witness.names
            witness = {"cost": record.witness.cost, "bound": record.witness.bound}
            witness |= {} if plan is None else {"operators": list(plan)}
            settings = {
                "max_steps": self._settings.max_steps,
                "objective": own.objective,
                "revisit": own.revisit,
                "permitted_limit": own.permitted_limit,
                "costly_some": own.costly_some,
            }
        return Case(
            self.key(record),
            written_out(record.id),
            key,
            record.kind,
            written_out(headline(record)),
            state,
            before,
            witness,
            settings,
        )

    def _task_key(self, task: AnyTask) -> str:
        if task.name not in self._keys:
            key = f"{file_name(task.name)}-{task.digest[:8]}"
            self._keys[task.name] = key
            made = _model_files(task, key) if isinstance(task, JaniTask) else _task_files(task, key)
            self.tasks[key], contents = made
            self.contents |= contents
        return self._keys[task.name]


def _strategy(record: Record) -> dict[str, Any]:
    strategy = record.witness.strategy
    if strategy is None:
        return {"strategy": None, "size": record.witness.size}
    on_run = set(record.run.states or ())
    small = len(strategy) <= _LARGEST_STRATEGY
    shown = [[s, label] for s, _, label in strategy if small or s in on_run]
    return {"strategy": shown, "size": record.witness.size}


def _model_files(task: JaniTask, key: str) -> tuple[TaskFiles, dict[str, bytes]]:
    folder = f"{TASKS_NAME}/{key}"
    contents = {f"{folder}/model.jani": model_file(task, interface=_INTERFACE)}
    interface = task.interface_file
    if interface is not None and interface.is_file():
        load_interface(interface)  # a stranger's model may name any other file of the user here
        copied = read_bytes(interface, _MOST_BYTES, "an interface of networks")
        contents[f"{folder}/{_INTERFACE}"] = copied
    return TaskFiles(
        written_out(task.name), task.world, tuple(contents), options_of(task)
    ), contents


def _task_files(task: Task, key: str) -> tuple[TaskFiles, dict[str, bytes]]:
    folder = f"{TASKS_NAME}/{key}"
    shown = written_out(task.name)
    if task.pddl is None:
        name = f"{folder}/task.sas"
        return TaskFiles(shown, task.world, (name,)), {name: task.sas}
    domain, problem = task.pddl
    contents = {f"{folder}/domain.pddl": domain.content, f"{folder}/problem.pddl": problem.content}
    for keep in (True, False):
        try:
            again = translate_sources((domain, problem), keep_unimportant=keep)
        except MisstepError:
            break
        if again == task.sas:
            options = {} if keep else {"keep_unimportant": False}
            return TaskFiles(shown, task.world, tuple(contents), options), contents
    # The translator now makes a different task from the files, so the SAS file of the campaign is exported too.
    contents[f"{folder}/task.sas"] = task.sas
    return TaskFiles(shown, task.world, tuple(contents)), contents


# -- files that may be there ------------------------------------------------------------------------


def _before(folder: Path) -> Cases | None:
    """The result of an earlier export; raises an error if it was changed by hand."""
    path = folder / DATA_NAME
    if not path.exists():
        return None
    cases = read_own_cases(path)
    if cases is None:
        raise InputFileError(
            "the file was changed by hand, and is not overwritten",
            where=str(path),
            expected="a file as it was exported; expected_to_fail alone may be changed",
            hint="export into another folder, or move the file away",
        )
    return cases


def _module(folder: Path, done: ExportedTests) -> bytes | None:
    """The test module; None if it was changed by hand. Raises an error if that file is not from an export."""
    path = folder / MODULE_NAME
    content = (_HEADER + hashlib.sha256(_MODULE.encode()).hexdigest() + "\n" + _MODULE).encode()
    if path.exists():
        there = read_bytes(path, _MOST_BYTES, "a test module").decode(errors="replace")
        first, _, rest = there.partition("\n")
        if not first.startswith(_HEADER):
            raise InputFileError(
                "a file with the name of the test module exists, but no export wrote it",
                where=str(path),
                expected="no such file",
                hint="export into another folder",
            )
        if first != _HEADER + hashlib.sha256(rest.encode()).hexdigest():
            done.remarks.append(f"{path} was changed by hand and is left unchanged")
            return None
    return content


def _check_tasks(folder: Path, contents: dict[str, bytes], known: dict[str, str]) -> None:
    for name, content in contents.items():
        path = folder / name
        if path.exists():
            there = read_bytes(path, _MOST_BYTES, "a file of a task")
            ours = hashlib.sha256(there).hexdigest() == known.get(name)
            if there != content and not ours:
                raise InputFileError(
                    "a file of a task exists and differs from what was exported",
                    where=str(path),
                    expected="no such file, or the same content",
                    hint="export into another folder, or move the file away",
                )


__all__ = ["ExportedTests", "export_tests"]
