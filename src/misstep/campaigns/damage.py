"""Decide whether an unexpected error is caused by damaged files.

Rows are checked when they are read (rows.py, view.py), so most damage is reported there. Some damage only shows later,
where rows that are valid by themselves do not fit together. To treat every such error as damage would hide our own
bugs. So after an unexpected error, the independent checker examines the database. If it finds damage, the user is told
about the damage; otherwise the error is raised unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from misstep.campaigns.database import AGAIN
from misstep.campaigns.store import RowsDoNotFitError, Store, open_store
from misstep.errors import InputFormatError, MisstepError


@contextmanager
def noticing_damage(store: Store) -> Iterator[None]:
    """Use this around code that works on stored rows."""
    try:
        yield
    except (
        RowsDoNotFitError
    ) as error:  # what is computed fits what is stored, unless that was changed
        raise InputFormatError(
            f"the records are damaged: {error.what}", where=store.path, hint=AGAIN
        ) from error
    except MisstepError as error:
        if type(error) is not MisstepError:  # an error with a name was foreseen
            raise
        _blame(store, error)
        raise
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        _blame(store, error)
        raise


def _blame(store: Store, error: Exception) -> None:
    """Raise an error that describes the damage of the database, if there is any."""
    problem = _problem(store)
    if problem is not None:
        raise InputFormatError(
            f"the records are damaged: {problem[:300]}", where=store.path, hint=AGAIN
        ) from error


def _problem(store: Store) -> str | None:
    from misstep.checking.campaign import check_database

    try:
        if store.is_open:
            report = check_database(store.connection)
        elif store.folder is not None:
            with open_store(Path(store.folder), readonly=True) as again:
                report = check_database(again.connection)
        else:
            return None
    except MisstepError as error:
        return error.what
    except Exception as error:  # not even the checker can make sense of it
        return f"{type(error).__name__}: {error}"
    for record, problem in report.problems:
        return f"{record}: {problem}"
    return None


__all__ = ["noticing_damage"]
