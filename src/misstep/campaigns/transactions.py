"""Transactions of a store: a unit is stored completely or not at all, and units may be committed together.

A commit takes longer than storing the rows of a quick unit. The engine therefore gathers units that end within a tenth
of a second (`unit(gathered=True)`) and commits before it waits for anything that may take longer. A kill loses at most
the units of the last tenth of a second; an error or Ctrl-C loses none, unless it interrupts the storing itself. The
sums of the seal are written once per transaction, with their rows.
"""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from time import monotonic

from misstep.campaigns.database import translated
from misstep.campaigns.seal import Seal
from misstep.campaigns.uninterrupted import uninterrupted
from misstep.errors import UsageError

GATHERED_SECONDS = 0.1  # a finished unit waits no longer for its commit, while more are coming


class Transactions(ABC):
    """The part of a store that begins and ends transactions."""

    readonly: bool
    _translated: translated
    _seal: Seal | None = None  # of a writer
    _is_inside = False  # a unit
    _gathering: float | None = None  # since when units wait for their commit

    @property
    @abstractmethod
    def connection(self) -> sqlite3.Connection: ...

    @property
    @abstractmethod
    def where(self) -> str:
        """For messages."""

    @abstractmethod
    def check_open(self) -> None:
        """An error if the files of the campaign were closed behind our back."""

    @contextmanager
    def unit(self, *, gathered: bool = False) -> Iterator[None]:
        """Everything stored inside is stored together or not at all. Units inside a unit belong to it.

        A gathered unit is not committed when it ends, nor are those after it: `commit` commits all of them.
        """
        if self._is_inside:
            yield
            return
        if self.readonly:
            raise UsageError("the campaign is open for reading only", where=self.where)
        # Requests to end wait while the engine stores; elsewhere a unit may take long, and they roll it back.
        with uninterrupted() if gathered else nullcontext(), self._translated:
            try:
                with uninterrupted():
                    is_first = self._begin()
                yield
                with uninterrupted():
                    self._is_inside = False
                    if is_first and not gathered:
                        self._commit()
            except BaseException:
                if self._is_inside:
                    with uninterrupted():
                        self._roll_back()
                raise

    def _begin(self) -> bool:
        """Begin a unit; whether it has begun a transaction."""
        connection = self.connection  # first: a forked process has no part in the transaction
        is_first = self._gathering is None
        if is_first:
            self.check_open()
            connection.execute("BEGIN IMMEDIATE")
            assert self._seal is not None
            self._seal.begin()
            self._gathering = monotonic()
        self._is_inside = True
        return is_first

    def gathers_for(self) -> float | None:
        """Seconds for which units that were gathered may still wait; None if there are none."""
        if self._gathering is None:
            return None
        return max(0.0, self._gathering + GATHERED_SECONDS - monotonic())

    def commit(self) -> None:
        """Commit all gathered units together, with their sums."""
        if self._gathering is not None:
            with uninterrupted(), self._translated:
                self._commit()

    def _commit(self) -> None:
        connection = self.connection  # first, as above
        assert self._seal is not None
        try:
            self._seal.end()
            connection.execute("COMMIT")
            self._seal.stored()
            self._gathering = None
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        self._gathering = None
        self._is_inside = False
        # SQLite may have rolled back by itself, as it does on a full disk.
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Lets several queries see the same state of the database, while another process may be writing."""
        if self.connection.in_transaction:
            yield
            return
        with self._translated:
            self.connection.execute("BEGIN")
            try:
                yield
            finally:
                self.connection.execute("COMMIT")


__all__ = ["GATHERED_SECONDS", "Transactions"]
