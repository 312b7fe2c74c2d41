"""A Python policy for a model with a time limit: the code runs in a separate process, which is killed if it is late."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

from misstep import _core
from misstep.errors import MisstepError, ToolError
from misstep.policies.labels.policy import LabelPolicy, Setting
from misstep.policies.labels.process import ProcessLabels
from misstep.policies.process import host
from misstep.policies.process.channel import ProgramError
from misstep.policies.process.protocol import Greeting, object_of, parse_greeting
from misstep.policies.process.python import START_TIMEOUT, loading_error


class PythonLabels(ProcessLabels):
    """The limit is for one call of the user's code: `act_batch` with many states, or `act` with one."""

    _why_late = ""

    def __init__(self, setting: Setting, argument: str, timeout: float) -> None:
        self._argument = argument
        self._about: dict[str, Any] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="misstep-policy-"))
        self._remove_folder = weakref.finalize(self, shutil.rmtree, self._folder, True)
        self._hello = host.first_line(setting.task, argument, self._folder)
        self.environment: dict[str, str | None] = {}
        super().__init__(
            setting,
            host.command(),
            timeout=timeout,
            start_timeout=max(START_TIMEOUT, timeout),
            where=f"policy python:{argument}",
        )
        self.digest = str(self._about["digest"])

    def bound(self, setting: Setting) -> LabelPolicy:
        about = self._about
        core = _core.PythonLabelPolicy(
            self.act,
            self.values if about["valued"] else None,
            None if about["batch_size"] == 1 else self.act_batch,
        )
        loaded = setting.bind(core, self.digest, end=self.close)
        for flag in ("deterministic", "set_valued", "stochastic", "plans"):
            setattr(loaded, flag, about[flag])
        loaded.weights = self.weights if about["set_valued"] else None
        loaded.files = tuple(about["files"])
        loaded.environment = self.environment
        return loaded

    def values(self, id: int, labels: list[int]) -> list[float]:
        more = {"ask": "values", "labels": labels}
        return self._answer([id], more, lambda content: [float(x) for x in content["values"]])

    def weights(self, id: int) -> dict[int, float]:
        """The permitted labels, each with its probability."""
        return self._answer([id], {"ask": "permitted"}, lambda content: dict(content["weights"]))

    def close(self) -> None:
        super().close()
        self._remove_folder()

    def _exchange(self, ids: list[int], more: dict[str, Any]) -> dict[str, Any]:
        content = super()._exchange(ids, more)
        self.environment.update(content.get("environment", {}))
        return content

    def _first_line(self) -> bytes:
        return self._hello

    def _greeting(self, line: bytes) -> Greeting:
        content = object_of(line, "the greeting")
        if "error" in content:
            raise loading_error(content["error"])
        self._about = content
        self.environment.update(content["environment"])
        return parse_greeting(line)

    def _no_greeting(self, fault: ProgramError) -> MisstepError:
        return ToolError(
            f"the code cannot be loaded in a process of its own: {fault}", where=self._where
        )


__all__ = ["PythonLabels"]
