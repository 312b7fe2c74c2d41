"""Transactions of a store: units that are whole or not there, and units that are committed together.

A commit takes longer than the rows of a quick unit. The engine therefore gathers units that end within a tenth of a
second of each other (`unit(gathered=True)`) and commits before it waits for anything that may take longer. A kill loses
finished units of a tenth of a second at most; an error or Ctrl-C none, but where it hits the storing itself. The sums
of the seal are written once a transaction, with the rows that they are about.
"""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from misstep.campaigns.database import translated
from misstep.campaigns.seal import Seal
from misstep.errors import UsageError

GATHERED_SECONDS = 0.1  # that a finished unit waits for its commit at most, while more are coming


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

    @contextmanager
    def unit(self, *, gathered: bool = False) -> Iterator[None]:
        """Everything stored inside is stored together or not at all. Units inside a unit belong to it.

        A gathered one is not committed when it ends, and those after it are not, either: `commit` does that for all.
        """
        if self._is_inside:
            yield
            return
        if self.readonly:
            raise UsageError("the campaign is open for reading only", where=self.where)
        with self._translated:
            if self._gathering is None:
                self.connection.execute("BEGIN IMMEDIATE")
                assert self._seal is not None
                self._seal.begin()
                self._gathering = monotonic()
            else:
                gathered = True
            self._is_inside = True
            try:
                yield
            except BaseException:
                self._roll_back()
                raise
            finally:
                self._is_inside = False
            if not gathered:
                self.commit()

    def gathers_for(self) -> float | None:
        """Seconds for which units that were gathered may still wait; None if there are none."""
        if self._gathering is None:
            return None
        return max(0.0, self._gathering + GATHERED_SECONDS - monotonic())

    def commit(self) -> None:
        """Write what was gathered, all units together, with the sums that belong to them."""
        if self._gathering is None:
            return
        assert self._seal is not None
        with self._translated:
            try:
                self._seal.end()
                self.connection.execute("COMMIT")
                self._seal.stored()
                self._gathering = None
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        self._gathering = None
        # SQLite may have rolled back by itself, as it does on a full disk.
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Several queries that see one moment, while somebody else may be writing."""
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
