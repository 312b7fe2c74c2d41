"""`exec:COMMAND`: a program that answers states with labels, in JSON lines over its standard input and output.

One line each way, as in docs/policy-protocol.md, with states and labels by name:

    us       {"protocol": 1, "model": "tiny_line", "digest": "...", "property": "safety", "labels": ["acc", "dec"],
              "variables": [{"name": "pos", "type": "int", "low": 0, "high": 2}, ...]}
    program  {"protocol": 1, "name": "mine"}, optional "digest" and "batch_size"
    us       {"id": 1, "states": [{"pos": 0, "vel": 1}, ...], "applicable": [["acc", "dec"], ...]}
    program  {"id": 1, "labels": ["acc", ...]}, null where it names none

A program that dies or does not answer is started once more for the same question; then it is an error, since a run
that goes on without its policy would be no run of it.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

from misstep import _core
from misstep.errors import InputFormatError, PolicyCrashError, PolicyTimeoutError, ToolError
from misstep.policies.labels.policy import LabelPolicy, Setting, digest_of
from misstep.policies.options import positive, split_options
from misstep.policies.process.channel import Channel, ProgramError
from misstep.policies.process.policy import command_digest, split_command
from misstep.policies.process.protocol import (
    VERSION,
    Greeting,
    MalformedError,
    line_of,
    object_of,
    parse_greeting,
)

BATCH = 256


class ProcessLabels:
    """A running program, started again when it ends."""

    def __init__(
        self,
        setting: Setting,
        command: str,
        *,
        timeout: float = 60.0,
        start_timeout: float = 60.0,
        memory_limit_mb: int | None = None,
    ) -> None:
        self._task = setting.task
        self._engine = setting.engine
        self._command = split_command(command)
        self._where = "policy program " + shlex.join(self._command)
        self._timeout = timeout
        self._start_timeout = start_timeout
        self._memory_limit_mb = memory_limit_mb
        self._ids = {name: i for i, name in enumerate(self._task.labels)}
        self._number = 0
        self._channel: Channel | None = None
        try:
            greeting = self._start()
        except ProgramError as fault:
            kind = InputFormatError if isinstance(fault, MalformedError) else ToolError
            raise kind(
                f"no greeting: {fault}",
                where=self._where,
                expected='a line such as {"protocol": 1, "name": "mine"}',
                hint="docs/policy-protocol.md",
            ) from None
        self.digest = digest_of("exec", greeting.digest or command_digest(self._command))
        self._batch = greeting.batch_size or BATCH
        self.deterministic = greeting.deterministic

    def act(self, id: int) -> int | None:
        return self._ask([id])[0]

    def act_batch(self, ids: list[int]) -> list[int | None]:
        answers: list[int | None] = []
        for start in range(0, len(ids), self._batch):
            answers += self._ask(ids[start : start + self._batch])
        return answers

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _ask(self, ids: list[int]) -> list[int | None]:
        try:
            return self._exchange(ids)
        except ProgramError:
            self._end()
        try:
            return self._exchange(ids)
        except ProgramError as fault:
            self._end()
            kind = PolicyTimeoutError if fault.timed_out else PolicyCrashError
            raise kind(str(fault), where=self._where) from None

    def _exchange(self, ids: list[int]) -> list[int | None]:
        if self._channel is None:
            self._start()
        assert self._channel is not None
        self._number += 1
        names = self._task.variable_names
        question = {
            "id": self._number,
            "states": [dict(zip(names, self._engine.values(id), strict=True)) for id in ids],
            "applicable": [
                [self._task.labels[i] for i in self._engine.applicable(id)] for id in ids
            ],
        }
        return self._read(self._channel.exchange(line_of(question), self._timeout), len(ids))

    def _read(self, line: bytes, count: int) -> list[int | None]:
        content = object_of(line, "an answer")
        if type(content.get("id")) is not int or content["id"] != self._number:
            raise MalformedError(
                f"the answer has id {json.dumps(content.get('id'))[:40]} where {self._number} was asked"
            )
        given = content.get("labels")
        if not isinstance(given, list) or len(given) != count:
            what = f"{len(given)} labels" if isinstance(given, list) else "no list of labels"
            raise MalformedError(f"the answer has {what} for {count} states")
        return [self._label(label) for label in given]

    def _label(self, label: Any) -> int | None:
        if label is None:
            return None
        if not isinstance(label, str) or label not in self._ids:
            raise MalformedError(
                f"the program chose {json.dumps(label)[:80]}, not a label of the model or null; "
                "labels: " + ", ".join(self._task.labels[:20])
            )
        return self._ids[label]

    def _start(self) -> Greeting:
        task = self._task
        hello = {
            "protocol": VERSION,
            "model": task.name,
            "digest": task.digest,
            "property": task.property_name,
            "variables": [
                {"name": name, "type": kind, "low": low, "high": high}
                for name, kind, low, high in task.variables
            ],
            "labels": task.labels,
        }
        self._channel = Channel(self._command, memory_limit_mb=self._memory_limit_mb)
        try:
            return parse_greeting(self._channel.exchange(line_of(hello), self._start_timeout))
        except BaseException:
            self._end()
            raise

    def _end(self) -> None:
        if self._channel is not None:
            self._channel.end()
            self._channel = None


def load(argument: str, setting: Setting) -> LabelPolicy:
    """Loads `exec:[OPTION...] COMMAND`, with the options of the constructor as in `--timeout=5`."""
    names = ("timeout", "start-timeout", "memory-limit")
    options, command = split_options(argument, "exec", dict.fromkeys(names, positive))
    memory = options.get("memory_limit")
    program = ProcessLabels(
        setting,
        command,
        timeout=options.get("timeout", 60.0),
        start_timeout=options.get("start_timeout", 60.0),
        memory_limit_mb=None if memory is None else int(memory),
    )
    policy = _core.PythonLabelPolicy(program.act, None, program.act_batch)
    return setting.bind(
        policy, program.digest, end=program.close, deterministic=program.deterministic
    )


__all__ = ["ProcessLabels", "load"]
