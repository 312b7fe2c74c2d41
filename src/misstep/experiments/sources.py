"""Where a run finds what is not part of Misstep: files of the competitions, networks, and a device for these."""

from __future__ import annotations

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


NOWHERE = Sources()

__all__ = ["NOWHERE", "Sources"]
