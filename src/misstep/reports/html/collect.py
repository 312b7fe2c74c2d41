"""One campaign for the page, read once from its first record to its last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.metrics.timeline import known_at
from misstep.campaigns.records import Record
from misstep.reports.html import overview, sentences
from misstep.reports.html.chunks import Chunks
from misstep.reports.html.columns import Columns
from misstep.reports.html.details import Details
from misstep.reports.html.families import add_families
from misstep.reports.html.pictures import Album
from misstep.reports.html.shrunk import add_shrunk
from misstep.reports.html.tasks import TaskBook, digest_of

Progress = Callable[[str, int, int], None]


class Collected:
    """What the page needs of a campaign, and what a comparison needs."""

    def __init__(self, campaign: Campaign, label: str, number: int) -> None:
        self.campaign = campaign
        self.label = label
        self.prefix = f"c{number}"
        self.summary = campaign.summary
        self.columns = Columns()
        self.books = {task.name: TaskBook(task) for task in campaign.tasks}
        self.times: dict[str, list[float]] = {}  # when each oracle proved its bugs
        self.found: list[float] = []  # when the first oracle proved each bug
        self.expansions = self.evaluations = 0

    def add_to(self, chunks: Chunks, album: Album, progress: Progress | None) -> dict[str, Any]:
        """Read everything, write the pieces; returns what the page shows first."""
        details = Details(chunks, self.prefix)
        read, total = 0, max(1, self.summary.tested)
        for number, (name, book) in enumerate(self.books.items()):
            verdicts = self._verdicts_of_model(name, book)
            for record in self.campaign.iter_records(name):
                self._count(record)
                details.add(record, number, book, verdicts)
                album.consider(self.prefix, len(self.columns) - 1, record, book)
                read += 1
                if progress is not None and read % 500 == 0:
                    progress("reading records", min(read, total), total)
        details.flush()
        if progress is not None:
            progress("grouping bugs and writing", 0, 1)
        for number, book in enumerate(self.books.values()):
            chunks.add_json(f"late.{self.prefix}.task{number}", book.content())
        return self._described(chunks, details)

    def _count(self, record: Record) -> None:
        self.columns.add(record)
        self.expansions += record.effort.expansions
        self.evaluations += record.effort.evaluations
        if record.is_bug:
            self.found.append(known_at(record))
        for own in record.verdicts:
            if own.is_bug:
                self.times.setdefault(own.oracle, []).append(own.at)

    def _verdicts_of_model(self, name: str, book: TaskBook) -> dict[Any, str]:
        """What is known of the states of a model, which runs pass again and again."""
        if not book.is_model:
            return {}
        records = self.campaign.iter_records(name, brief=True)
        return {record.state: record.verdict for record in records}

    def _described(self, chunks: Chunks, details: Details) -> dict[str, Any]:
        summary, campaign = self.summary, self.campaign
        settings, folder = campaign.settings, campaign.folder
        identity = campaign.policy
        return {
            "label": self.label,
            "prefix": self.prefix,
            "folder": None if folder is None else str(folder),
            "world": summary.world,
            "policy": summary.policy,
            "digest": None if identity is None else identity.digest[:16],
            "oracles": summary.oracles,
            "finished": summary.finished,
            "sentence": sentences.verdict(summary),
            "notes": sentences.notes(summary),
            "counts": {
                **{name: getattr(summary, name) for name in ("states", "tested", "solved", "runs")},
                **{name: getattr(summary, name) for name in ("optimal", "unsolvable", "unknown")},
                "flaky": summary.flaky,
                "contradictions": summary.contradictions,
                "bugs": summary.bugs["total"],
                "faults": summary.faults,
            },
            "worst": summary.worst,
            "kinds": {kind: n for kind, n in summary.bugs.items() if n and kind != "total"},
            "severity": overview.severity(self.columns),
            "times": {oracle: overview.curve(own) for oracle, own in self.times.items()},
            "found": overview.curve(self.found),
            "effort": overview.effort(summary, self.expansions, self.evaluations),
            "tested": overview.tested(self.columns, self.books, summary),
            "commands": overview.commands(folder, settings, self.books),
            "settings": flat(settings.as_dict()),
            "radius": None if settings.model is None else settings.model.radius,
            "tasks": [[name, digest_of(book.task)] for name, book in self.books.items()],
            "rows": len(self.columns),
            "columns": self.columns.add_to(chunks, self.prefix),
            "families": add_families(chunks, self.prefix, campaign, self.columns),
            "shrunk": add_shrunk(chunks, self.prefix, campaign),
            "blocks": details.blocks,
        }


def flat(tree: dict[str, Any], before: str = "") -> dict[str, str]:
    """The settings as names with dots and texts."""
    found: dict[str, str] = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            found |= flat(value, f"{before}{name}.")
        else:
            found[before + name] = str(value)
    return found


__all__ = ["Collected", "Progress", "flat"]
