"""The one place that says of something unexpected whether it is the fault of the files.

Rows are tested when they are read (rows.py, view.py), so a damaged one is usually told there. Some damage makes sense
row by row and goes wrong only later, where rows meet. Taking every error of ours for damage would hide our own bugs;
so an error that nobody has foreseen makes the independent checker look at the database. If that finds it damaged, the
damage is what the user is told, and else the error goes on as what it is.
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
    """Around what is made of stored rows."""
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
    """Raise what is wrong with the database, if something is."""
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
