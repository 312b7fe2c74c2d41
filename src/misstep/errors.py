"""The errors that users can meet, and the exit code of each.

Every error says what is wrong, where, what was expected and what to do, in one line. The fields
stay separate so that `--json` can print them one by one. Each class has one exit code; a test
compares them with the table in docs/exit-codes.md.
"""

from __future__ import annotations

from typing import Any


class MisstepError(Exception):
    """Something went wrong that is not a bug in Misstep."""

    exit_code = 39

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.expected = expected
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        if self.expected:
            text += f"; expected {self.expected}"
        if self.hint:
            text += f"; {self.hint}"
        return " ".join(text.split())

    def __reduce__(self) -> tuple[Any, ...]:
        # Keyword-only arguments do not survive the default pickling of exceptions, and
        # errors travel between worker processes.
        return (_rebuild, (type(self), self.what, self.where, self.expected, self.hint))

    def as_dict(self) -> dict[str, Any]:
        return {
            "error": type(self).__name__,
            "what": self.what,
            "where": self.where,
            "expected": self.expected,
            "hint": self.hint,
            "exit_code": self.exit_code,
        }


def _rebuild(
    cls: type[MisstepError],
    what: str,
    where: str | None,
    expected: str | None,
    hint: str | None,
) -> MisstepError:
    return cls(what, where=where, expected=expected, hint=hint)


class UsageError(MisstepError):
    """The command line or the arguments of a function make no sense."""

    exit_code = 2


class UndecidedError(MisstepError):
    """The method gave up without an answer, and a stronger method may still find one."""

    exit_code = 10


class ToolError(MisstepError):
    """A program that Misstep calls failed."""

    exit_code = 33


class PolicyCrashError(ToolError):
    """The policy crashed or gave an invalid answer; `test`: in some runs, and no other bug was found."""

    exit_code = 11


class PolicyTimeoutError(ToolError):
    """The policy did not answer in time; `test`: in some runs, and no bug was found."""

    exit_code = 12


class PolicyAwayError(MisstepError):
    """The program or server of the policy cannot be reached any more. That says nothing about the policy."""

    exit_code = 36


class FlakyPolicyError(MisstepError):
    """The policy is not a function of the state; `test`: and no bug was found."""

    exit_code = 13


class TimeLimitError(MisstepError):
    """A time limit ended the work."""

    exit_code = 20


class MemoryLimitError(MisstepError):
    """A memory limit ended the work."""

    exit_code = 21


class BudgetLimitError(MisstepError):
    """A budget of expansions, evaluations or states ended the work."""

    exit_code = 22


class Interrupted(MisstepError):
    """The user stopped the work (Ctrl-C)."""

    exit_code = 23


class InputFileError(MisstepError):
    """A file or folder is missing, unreadable, not writable or too large."""

    exit_code = 30


class InputFormatError(MisstepError):
    """A file can be read but its content is malformed."""

    exit_code = 31


class UnsupportedError(MisstepError):
    """The input uses a feature that Misstep, or the chosen algorithm, cannot handle."""

    exit_code = 32


class MissingDependencyError(MisstepError):
    """An optional package is needed and not installed."""

    exit_code = 34


class ReplayError(MisstepError):
    """A record of a campaign does not hold when it is checked again."""

    exit_code = 35
