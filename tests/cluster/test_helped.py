"""Shards whose threads help each other, as they do on executors of several cores."""

from __future__ import annotations

import pytest

from ivm.engine import part
from ivm.trace.helpers import Helpers
from tests.cluster.histories import play
from tests.engine.threads import helped
from tests.more import with_more


@pytest.mark.parametrize("seeds", with_more([range(3)], [range(100)]), ids=["few", "many"])
def test_short_histories_over_shards_that_are_helped(seeds, monkeypatch):
    begun = 0
    for seed in seeds:
        shared = Helpers(3)
        monkeypatch.setattr(part, "Helpers", lambda threads, shared=shared: shared)  # of who is given none
        with helped():
            play(seed, 2)
        begun += shared._begun
    assert begun, "somebody helped"
