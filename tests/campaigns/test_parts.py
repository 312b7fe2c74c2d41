"""Records that are read in parts, or one alone, are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from misstep.campaigns import parts
from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.campaigns.store import open_store
from misstep.campaigns.tables import Findings
from misstep.campaigns.view import make_view
from misstep.errors import UsageError
from support.made_up import large_campaign


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    folder: Path = tmp_path_factory.mktemp("made-up") / "campaign"
    return open_campaign(large_campaign(folder, 60, tasks=2))


def test_parts_do_not_change_records(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    with campaign.reading_once():  # as one part
        whole = list(campaign.iter_records())
    monkeypatch.setattr(parts, "FIRST", 3)
    monkeypatch.setattr(parts, "LARGEST", 7)
    assert list(campaign.iter_records()) == whole
    assert len(whole) == 60


def test_the_first_record_needs_no_other_part(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "FIRST", 3)
    read: list[int] = []
    between = parts._between

    def noted(own: Findings, first: int, last: int, blamed: set[int]) -> parts.Part:
        read.append(first)
        return between(own, first, last, blamed)

    monkeypatch.setattr(parts, "_between", noted)
    next(campaign.iter_records())
    assert read == [0]


def test_a_record_alone_is_the_one_among_all(campaign: Campaign) -> None:
    for record in campaign.records[:40:7]:
        task, findings = (
            campaign._content.task(record.task),
            campaign._content.findings(record.task),
        )
        assert make_view(task, findings).alone(record.number) == record


def test_a_record_that_is_asked_for_is_read_alone(campaign: Campaign) -> None:
    known = {record.id: record for record in campaign.iter_records()}
    assert campaign.folder is not None
    with open_campaign(campaign.folder) as again:
        for handle in list(known)[::11]:
            assert again.record(handle) == known[handle]
        assert "records" not in again.__dict__
        for handle in ("nothing:0", "0", f"{next(iter(known))}0000", "-1", "task:", "p:٣", "p:01"):
            with pytest.raises(UsageError, match="no record"):
                again.record(handle)


def test_brief_records_leave_out_words_alone(campaign: Campaign) -> None:
    for brief, whole in zip(
        campaign.iter_records(brief=True), campaign.iter_records(), strict=True
    ):
        assert brief.facts == brief.run.names == ()
        assert (brief.id, brief.verdict, brief.kind, brief.family, brief.run.operators) == (
            whole.id,
            whole.verdict,
            whole.kind,
            whole.family,
            whole.run.operators,
        )


def test_what_all_parts_share_is_read_once(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    marked = Findings.marked

    def noted(own: Findings, stage: str) -> set[int]:
        asked.append(own.name)
        return marked(own, stage)

    monkeypatch.setattr(Findings, "marked", noted)
    monkeypatch.setattr(parts, "FIRST", 3)
    monkeypatch.setattr(parts, "LARGEST", 7)
    names = {record.task for record in campaign.iter_records()}
    assert sorted(asked) == sorted(names)


def test_what_is_written_meanwhile_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "FIRST", 3)
    monkeypatch.setattr(parts, "LARGEST", 3)
    with open_campaign(large_campaign(tmp_path / "campaign", 12, tasks=1)) as read:
        findings = read._content.findings(read._content.task_names()[0])
        read_parts = parts.read_parts(findings)
        first = next(read_parts)
        with open_store(tmp_path / "campaign") as store:
            Findings(store, findings.task, findings.name).mark_done("blamed", "1000", 0.0, 0)
        assert 1000 not in first.blamed
        assert 1000 in next(read_parts).blamed
