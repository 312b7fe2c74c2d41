"""What a stranger may do to the folder of a campaign before sending it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def change(folder: Path, *statements: str, parameters: tuple[object, ...] = ()) -> None:
    """Change the database of a campaign by SQL."""
    with closing(sqlite3.connect(folder / "run.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement, parameters)


def store_policy(folder: Path, spec: str) -> None:
    """Let a campaign say that it has tested another policy."""
    with closing(sqlite3.connect(folder / "run.db")) as connection, connection:
        (config,) = connection.execute("SELECT value FROM meta WHERE key = 'config'").fetchone()
        (old,) = connection.execute("SELECT spec FROM policy").fetchone()
        changed = config.replace(f'"{old}"', f'"{spec}"')
        assert changed != config
        connection.execute("UPDATE meta SET value = ? WHERE key = 'config'", (changed,))
        connection.execute("UPDATE policy SET spec = ?", (spec,))
    (folder / "config.toml").write_text(changed)


__all__ = ["change", "store_policy"]
