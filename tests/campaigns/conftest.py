"""A campaign to read, to damage and to resume."""

from __future__ import annotations

from pathlib import Path

import pytest

from misstep.campaigns.store import create_store
from support.campaigns import CONFIG, fill


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """A campaign that ended well."""
    folder = tmp_path / "campaign"
    with create_store(folder, CONFIG) as store:
        fill(store)
    return folder
