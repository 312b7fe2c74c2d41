"""`exec:COMMAND`: a program that answers states with labels, in JSON lines over its standard input and output.

One line each way, as in docs/policy-protocol.md, with states and labels by name:

    us       {"protocol": 1, "model": "tiny_line", "digest": "...", "property": "safety", "labels": ["acc", "dec"],
              "variables": [{"name": "pos", "type": "int", "low": 0, "high": 2}, ...]}
    program  {"protocol": 1, "name": "mine"}, optional "digest" and "batch_size"
    us       {"id": 1, "states": [{"pos": 0, "vel": 1}, ...], "applicable": [["acc", "dec"], ...]}
    program  {"id": 1, "labels": ["acc", ...]}, null where it names none, or {"id": 1, "error": "why"}

A program that dies is started once more for the same question. If it dies again, that is an error, since a run cannot
continue without its policy. A program that does not answer in time is not asked again for that state, and `Patience`
decides when to give it up.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from misstep import _core
from misstep.errors import MisstepError, PolicyCrashError, PolicyTimeoutError
from misstep.policies.labels.policy import LabelPolicy, Setting, digest_of
from misstep.policies.options import positive, split_options
from misstep.policies.process.channel import FORGOT_TO_FLUSH, Channel, ProgramError
from misstep.policies.process.patience import Patience
from misstep.policies.process.policy import away, command_digest, no_greeting, split_command
from misstep.policies.process.protocol import (
    VERSION,
    Greeting,
    MalformedError,
    line_of,
    object_of,
    parse_greeting,
)

BATCH = 256
Answer = TypeVar("Answer")


class ProcessLabels:
    """A running program, started again when it ends."""

    _why_late = FORGOT_TO_FLUSH
    _folder: Path | None = None  # a temporary folder that the program needs

    def __init__(
        self,
        setting: Setting,
        command: str | Sequence[str],
        *,
        timeout: float = 60.0,
        start_timeout: float = 60.0,
        memory_limit_mb: int | None = None,
        where: str = "",
    ) -> None:
        self._task = setting.task
        self._engine = setting.engine
        self._command = split_command(command)
        self._where = where or "policy program " + shlex.join(self._command)
        self._timeout = timeout
        self._start_timeout = start_timeout
        self._memory_limit_mb = memory_limit_mb
        self._ids = {name: i for i, name in enumerate(self._task.labels)}
        self._number = 0
        self._patience = Patience()
        self._channel: Channel | None = None
        try:
            greeting = self._start()
        except ProgramError as fault:
            raise self._no_greeting(fault) from None
        self.digest = digest_of("exec", greeting.digest or command_digest(self._command))
        self._batch = greeting.batch_size or BATCH
        self.deterministic = greeting.deterministic

    def _no_greeting(self, fault: ProgramError) -> MisstepError:
        return no_greeting(fault, self._where)

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
        applicable = [[self._task.labels[i] for i in self._engine.applicable(id)] for id in ids]
        return self._answer(
            ids, {"applicable": applicable}, lambda content: self._labels(content, len(ids))
        )

    def _answer(
        self, ids: list[int], more: dict[str, Any], read: Callable[[dict[str, Any]], Answer]
    ) -> Answer:
        try:
            return read(self._exchange(ids, more))
        except ProgramError as fault:
            self._end()
            if fault.timed_out:
                raise self._told(fault) from None
        try:
            return read(self._exchange(ids, more))
        except ProgramError as fault:
            self._end()
            raise self._told(fault) from None

    def _told(self, fault: ProgramError) -> PolicyCrashError | PolicyTimeoutError:
        kind = PolicyTimeoutError if fault.timed_out else PolicyCrashError
        return kind(str(fault), where=self._where)

    def _exchange(self, ids: list[int], more: dict[str, Any]) -> dict[str, Any]:
        if self._patience.lost:
            raise ProgramError(self._patience.why(self._timeout), timed_out=True)
        if self._channel is None:
            self._restart()
        assert self._channel is not None
        self._number += 1
        names = self._task.variable_names
        states = [dict(zip(names, self._engine.values(id), strict=True)) for id in ids]
        question = line_of({"id": self._number, "states": states, **more})
        try:
            line = self._channel.exchange(question, self._timeout)
        except ProgramError as fault:
            if fault.timed_out:
                self._patience.timed_out(len(ids))
            raise
        self._patience.answered()
        content = object_of(line, "an answer")
        if type(content.get("id")) is not int or content["id"] != self._number:
            raise MalformedError(
                f"the answer has id {json.dumps(content.get('id'))[:40]} where {self._number} was asked"
            )
        if isinstance(content.get("error"), str):
            raise PolicyCrashError(content["error"][:400], where=self._where)
        return content

    def _labels(self, content: dict[str, Any], count: int) -> list[int | None]:
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

    def _first_line(self) -> bytes:
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
        return line_of(hello)

    def _greeting(self, line: bytes) -> Greeting:
        return parse_greeting(line)

    def _start(self) -> Greeting:
        self._channel = Channel(
            self._command,
            memory_limit_mb=self._memory_limit_mb,
            why_late=self._why_late,
            folder=self._folder,
        )
        try:
            return self._greeting(self._channel.exchange(self._first_line(), self._start_timeout))
        except BaseException:
            self._end()
            raise

    def _restart(self) -> None:
        try:
            self._start()
        except (ProgramError, MisstepError) as fault:
            what = f"the program could not be started again: {fault}"
            raise away(what, self._where.removeprefix("policy ")) from None

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
