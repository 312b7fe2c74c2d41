"""Workers of a cluster are killed while campaigns of both worlds run: see `support.storm_cluster`."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cluster import needs_dask
from support.storm import CAMPAIGNS

pytestmark = [pytest.mark.soundness, needs_dask]


def test_killed_workers_change_nothing(tmp_path: Path) -> None:
    from support.storm_cluster import storm

    total = storm(60, 3, 7, [*CAMPAIGNS], tmp_path)
    assert total.differences == []
    assert total.kills >= 5
    assert total.campaigns >= 2
