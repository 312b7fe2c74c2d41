"""Does a campaign with default settings find bugs of the policies in the zoo, and none where there is none?"""

from __future__ import annotations

import importlib.util

import pytest

from misstep.campaigns.testing import test as run_test
from misstep.policies.zoo.index import Entry, entries

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.soundness) for seed in range(1, 5))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("own", entries().values(), ids=lambda own: own.name)
def test_known_bugs_are_found(own: Entry, seed: int) -> None:
    if own.extra == "neural" and importlib.util.find_spec("torch") is None:
        pytest.skip("needs misstep[neural]")
    with run_test(own.task(), f"zoo:{own.name}", seed=seed) as found:
        kinds = {bug.kind for bug in found.bugs}
        assert kinds <= set(own.bugs)
        assert bool(kinds) == bool(own.bugs)
        if not own.of_model:
            assert len(found.bugs) <= sum(own.bugs.values())
