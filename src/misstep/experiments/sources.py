"""The places of data that is not part of Misstep (competition files, networks), and the device for networks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sources:
    tasks: Path | None = None  # folders of the competitions' tasks
    gnn: Path | None = None  # a folder for each published relational network: model.ckpt and tasks
    policies: Path | None = None  # trained ASNets, by the names of the domains
    device: str = "cpu"  # of relational networks

    def for_row(self) -> dict[str, str | None]:
        """As a row takes them."""

        def text(path: Path | None) -> str | None:
            return None if path is None else str(path.absolute())

        return {
            "tasks_folder": text(self.tasks),
            "gnn_folder": text(self.gnn),
            "policies_folder": text(self.policies),
            "device": self.device,
        }

    def names(self, beside: Path | None = None) -> dict[str, str]:
        """Absolute folders with their names in reports: as the user typed them, or only the last part of an absolute
        path. A report may be read elsewhere and should not show the folders of this machine. `beside` is the folder
        of the definition, which may have models.
        """
        given = (path for path in (self.tasks, self.gnn, self.policies, beside) if path is not None)
        return {
            str(path.absolute()): path.name if path.is_absolute() else str(path) for path in given
        }


def named(text: str, names: Mapping[str, str]) -> str:
    """A text with the names of folders instead of their paths; longer paths are replaced first."""
    for folder in sorted(names, key=len, reverse=True):
        parts = re.split(re.escape(folder) + r"(?![\w.-])", text)
        text = names[folder].join(parts)
    return text


NOWHERE = Sources()

__all__ = ["NOWHERE", "Sources", "named"]
