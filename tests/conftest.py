"""Fixtures and data shared by all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests neither read nor fill the user's cache of translations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MISSTEP_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of benchmarks and papers that may lie beside the repository."""
    if not SHARED.is_dir():
        pytest.skip("the folder ../shared is not there")
    return SHARED
